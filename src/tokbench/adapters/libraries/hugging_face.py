"""Hugging Face's ``tokenizers``: any ``tokenizer.json``."""

import json
import os
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

from tokbench.byte_level import BYTE_OF

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # Its threads do not outlive a fork.

import tokenizers

from tokbench.adapters.added_tokens import AddedTokens
from tokbench.adapters.libraries.changed import characters_changed, solid
from tokbench.adapters.libraries.growth import check_growth

BY_TOKEN = frozenset(("ByteLevel", "ByteFallback", "Metaspace", "Replace", "Fuse", "Strip"))
"""Steps of decoders that are known here; the last two are for the whole of a text."""
BYTE = re.compile("<0x[0-9A-F]{2}>")
WORD = tokenizers.Regex(r"\S+")
"""The parts by which a text is compared with its normalised form."""


class HuggingFace:
    """A ``tokenizer.json``, without truncation, padding and what frames a text.

    Args:
        tokenizer: the library's.
        special: whether special tokens in a text become their ids.
        unknown: the id of what the vocabulary cannot spell.
    """

    def __init__(self, tokenizer: tokenizers.Tokenizer, special: bool, unknown: int | None) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = not special
        self.tokenizer = tokenizer
        self.unknown = unknown

    def encode(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def spans(self, text: str) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return spans

    def decode(self, ids: list[int], names: Mapping[int, bytes]) -> bytes:
        for one in dict.fromkeys(ids):
            if self.tokenizer.id_to_token(one) is None:
                raise KeyError(one)
        return str(self.tokenizer.decode(ids, skip_special_tokens=False)).encode()

    def name(self, one: int) -> bytes:
        return str(self.tokenizer.id_to_token(one) or "").encode()

    def id_of(self, name: str) -> int | None:
        number: int | None = self.tokenizer.token_to_id(name)
        return number

    def bytes_of(self, one: int) -> bytes:
        spelt = self.tokenizer.id_to_token(one)
        if spelt is None:
            raise KeyError(one)
        if BYTE.fullmatch(spelt) and any(step["type"] == "ByteFallback" for step in self._steps):
            return bytes([int(spelt[3:-1], 16)])
        if self._added.get(one) is not None:
            return str(spelt).encode()
        if not all(map(_known, self._steps)):
            return self.decode([one], {})
        for step in self._steps:
            if step["type"] == "ByteLevel" and set(spelt) <= BYTE_OF.keys():
                return bytes(map(BYTE_OF.__getitem__, spelt))
            if step["type"] == "Metaspace":
                spelt = spelt.replace(step["replacement"], " ")
            elif step["type"] == "Replace":
                spelt = spelt.replace(step["pattern"]["String"], step["content"])
        return str(spelt).encode()

    @cached_property
    def _added(self) -> Mapping[int, Any]:
        return dict(self.tokenizer.get_added_tokens_decoder())

    @cached_property
    def _steps(self) -> list[dict[str, Any]]:
        """What the decoder does, one after another; it is asked for once, since it is told as JSON."""
        values = _written(self.tokenizer.decoder)
        if values is None:
            return []
        return list(values["decoders"]) if values["type"] == "Sequence" else [values]

    def normalized(self, text: str) -> str:
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))

    def changed(self, text: str) -> int:
        """See :meth:`Library.changed`. As in the library, added tokens that are looked for first are not normalised."""
        if self.tokenizer.normalizer is None:
            return 0
        first = AddedTokens.of({one: token for one, token in self._added.items() if not token.normalized})
        parts = first.split(text, special=not self.tokenizer.encode_special_tokens)
        return sum(self._changed(text[part.start : part.end]) for part in parts if part.id is None)

    def _changed(self, text: str) -> int:
        normalised = tokenizers.NormalizedString(text)
        self._normalise(normalised)
        if solid(normalised.normalized) == solid(text):
            return 0
        whole = tokenizers.PreTokenizedString(text)
        whole.normalize(self._normalise)
        whole.split(lambda _, normalised: normalised.split(WORD, "isolated"))
        return characters_changed(text, ((part, *span) for part, span, _ in whole.get_splits("original", "char")))

    def _normalise(self, text: tokenizers.NormalizedString) -> None:
        """Normalise a text, and let the decoder replace its marks."""
        self.tokenizer.normalizer.normalize(text)
        for step in self._steps:
            if step["type"] == "Metaspace":
                text.replace(step["replacement"], " ")
            elif step["type"] == "Replace":
                [(kind, pattern)] = step["pattern"].items()
                text.replace(pattern if kind == "String" else tokenizers.Regex(pattern), step["content"])


def _known(step: Mapping[str, Any]) -> bool:
    return step["type"] in BY_TOKEN and (step["type"] != "Replace" or "String" in step["pattern"])


def open(content: bytes, special: bool = False, unknown: int | None = None) -> HuggingFace:
    """The tokenizer of a file; an error of the library where it is none.

    Raises:
        TokbenchError: it may make texts too long, see :mod:`tokbench.adapters.libraries.growth`.
    """
    tokenizer = tokenizers.Tokenizer.from_str(content.decode())
    check_growth(*map(_written, (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)))
    return HuggingFace(tokenizer, special, unknown)


def _written(part: Any) -> Any:
    """A part of a tokenizer as the library writes it in JSON, with all types named."""
    return None if part is None else json.loads(part.__getstate__())


def scores_as_read(model: Mapping[str, Any]) -> list[float]:
    """Scores of a Unigram model as the library has them once it has read them.

    Its reader of JSON may miss the nearest double by one, and what ties between segmentations are broken by is how
    their sums are rounded.
    """
    content = json.dumps({"model": {"type": "Unigram", "unk_id": model.get("unk_id"), "vocab": model["vocab"]}})
    read = json.loads(tokenizers.Tokenizer.from_str(content).to_str())
    return [score for _, score in read["model"]["vocab"]]
