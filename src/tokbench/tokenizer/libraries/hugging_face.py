"""Hugging Face's ``tokenizers``: any ``tokenizer.json``, with a limit on the growth of texts."""

import json
import os
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import tokenizers
from tokenizers.pre_tokenizers import Digits, Punctuation, Split

from tokbench.tokenizer.added_tokens import AddedTokens
from tokbench.tokenizer.hugging_face import spelled_bytes
from tokbench.tokenizer.libraries import characters_changed, solid
from tokbench.tokenizer.libraries.growth import check_growth

BY_TOKEN = frozenset(("ByteLevel", "ByteFallback", "Metaspace", "Replace", "Fuse", "Strip"))
"""Supported steps of decoders; the last two apply to a complete text."""
BYTE = re.compile("<0x[0-9A-F]{2}>")
WORD = tokenizers.Regex(r"\S+")
"""Parts in which a text is compared with its normalised form."""

os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")  # Its threads do not survive a fork.


class HuggingFace:
    """A ``tokenizer.json``, without truncation, padding and framing ids.

    Args:
        tokenizer: the library's object.
        special: whether special tokens in a text become their ids.
        unknown: id of the unknown token, None if there is none.
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
        for token_id in dict.fromkeys(ids):
            if self.tokenizer.id_to_token(token_id) is None:
                raise KeyError(token_id)
        return str(self.tokenizer.decode(ids, skip_special_tokens=False)).encode()

    def name(self, token_id: int) -> bytes:
        return str(self.tokenizer.id_to_token(token_id) or "").encode()

    def id_of(self, name: str) -> int | None:
        number: int | None = self.tokenizer.token_to_id(name)
        return number

    def bytes_of(self, token_id: int) -> bytes:
        spelt = self.tokenizer.id_to_token(token_id)
        if spelt is None:
            raise KeyError(token_id)
        if BYTE.fullmatch(spelt) and any(step["type"] == "ByteFallback" for step in self._steps):
            return bytes([int(spelt[3:-1], 16)])
        if self._added.get(token_id) is not None:
            return str(spelt).encode()
        return self._decoded(spelt) if all(map(_known, self._steps)) else self.decode([token_id], {})

    def form(self, token_id: int) -> tuple[bytes, bool] | None:
        """See :meth:`Library.form`. None for models that mark the ends of words, and for decoders of unknown steps."""
        spelt = self.tokenizer.id_to_token(token_id)
        if spelt is None:
            return b"", False
        if self._added.get(token_id) is not None:
            return str(spelt).encode(), False
        model = self.tokenizer.model
        prefix = str(getattr(model, "continuing_subword_prefix", None) or "")
        if getattr(model, "end_of_word_suffix", None):
            return None
        inside = bool(prefix) and spelt.startswith(prefix)
        spelt = str(spelt).removeprefix(prefix) if inside else str(spelt)
        if [step["type"] for step in self._steps] == ["WordPiece"]:
            return spelt.encode(), inside
        if BYTE.fullmatch(spelt):
            return self.bytes_of(token_id), inside
        return (self._decoded(spelt), inside) if all(map(_known, self._steps)) else None

    def _decoded(self, spelt: str) -> bytes:
        """Return the bytes of a token's spelling after the decoder's steps."""
        for step in self._steps:
            if step["type"] == "ByteLevel" and (token := spelled_bytes(spelt)) is not None:
                return token
            if step["type"] == "Metaspace":
                spelt = spelt.replace(step["replacement"], " ")
            elif step["type"] == "Replace":
                spelt = spelt.replace(step["pattern"]["String"], step["content"])
        return str(spelt).encode()

    @cached_property
    def _added(self) -> Mapping[int, Any]:
        return dict(self.tokenizer.get_added_tokens_decoder())

    @cached_property
    def _searched_first(self) -> AddedTokens:
        """Added tokens that are not normalised; cached, as there may be thousands."""
        return AddedTokens.of({token_id: token for token_id, token in self._added.items() if not token.normalized})

    @cached_property
    def _steps(self) -> list[dict[str, Any]]:
        """Steps of the decoder, in order; cached, as the library returns them as JSON."""
        values = _written(self.tokenizer.decoder)
        if values is None:
            return []
        return list(values["decoders"]) if values["type"] == "Sequence" else [values]

    def normalized(self, text: str) -> str:
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))

    def changed(self, text: str) -> int:
        """See :meth:`Library.changed`. As in the library, added tokens that are searched first are not normalised."""
        if self.tokenizer.normalizer is None:
            return 0
        parts = self._searched_first.split(text, special=not self.tokenizer.encode_special_tokens)
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
        """Normalise a text, and replace marks as the decoder does."""
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
    """Open the tokenizer of a file; an invalid file raises an exception of the library.

    Raises:
        TokbenchError: it may make texts too long, see :func:`check_growth`.
    """
    tokenizer = tokenizers.Tokenizer.from_str(content.decode())
    check_growth(*map(_written, (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder)))
    return HuggingFace(tokenizer, special, unknown)


def _written(part: Any) -> Any:
    """Return a part of a tokenizer in the library's JSON, with all types named."""
    return None if part is None else json.loads(part.__getstate__())


def unmatched(pattern: str, text: str) -> str:
    """Return the characters of a text that are not in a match of a pattern."""
    removed = Split(tokenizers.Regex(pattern), "removed")
    return "".join(piece for piece, _ in removed.pre_tokenize_str(text))


def isolated(step: str, text: str) -> set[str]:
    """Return the characters of a text that ``Digits`` or ``Punctuation`` isolates.

    Each character is doubled, so that all others are in longer pieces.
    """
    cut = Digits(individual_digits=True) if step == "Digits" else Punctuation("isolated")
    pieces = cut.pre_tokenize_str("".join(character * 2 for character in text))
    return {piece for piece, _ in pieces if len(piece) == 1}


def scores_as_read(model: Mapping[str, Any]) -> list[float]:
    """Return the scores of a Unigram model as the library reads them.

    Its JSON reader may miss the nearest double by one unit, and the rounding of sums decides ties between
    segmentations.
    """
    content = json.dumps({"model": {"type": "Unigram", "unk_id": model.get("unk_id"), "vocab": model["vocab"]}})
    read = json.loads(tokenizers.Tokenizer.from_str(content).to_str())
    return [score for _, score in read["model"]["vocab"]]
