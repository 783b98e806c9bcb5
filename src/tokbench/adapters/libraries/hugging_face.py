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
from tokenizers.pre_tokenizers import Digits, Punctuation, Split

BY_TOKEN = frozenset(("ByteLevel", "ByteFallback", "Metaspace", "Replace", "Fuse", "Strip"))
"""Steps of decoders that are known here; the last two are for the whole of a text."""
BYTE = re.compile("<0x[0-9A-F]{2}>")


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

    def decode(self, ids: list[int]) -> bytes:
        for one in dict.fromkeys(ids):
            if self.tokenizer.id_to_token(one) is None:
                raise KeyError(one)
        return str(self.tokenizer.decode(ids, skip_special_tokens=False)).encode()

    def name(self, one: int) -> bytes:
        return str(self.tokenizer.id_to_token(one) or "").encode()

    def bytes_of(self, one: int) -> bytes:
        spelt = self.tokenizer.id_to_token(one)
        if spelt is None:
            raise KeyError(one)
        if self._added.get(one) is not None:
            return str(spelt).encode()
        if not all(map(_known, self._steps)):
            return self.decode([one])
        for step in self._steps:
            if step["type"] == "ByteLevel" and set(spelt) <= BYTE_OF.keys():
                return bytes(map(BYTE_OF.__getitem__, spelt))
            if step["type"] == "ByteFallback" and BYTE.fullmatch(spelt):
                return bytes([int(spelt[1:-1], 16)])
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
        decoder = self.tokenizer.decoder
        if decoder is None:
            return []
        values = json.loads(decoder.__getstate__())
        return list(values["decoders"]) if values["type"] == "Sequence" else [values]

    def normalized(self, text: str) -> str:
        normalizer = self.tokenizer.normalizer
        return text if normalizer is None else str(normalizer.normalize_str(text))


def _known(step: Mapping[str, Any]) -> bool:
    return step["type"] in BY_TOKEN and (step["type"] != "Replace" or "String" in step["pattern"])


def open(content: bytes, special: bool = False, unknown: int | None = None) -> HuggingFace:
    """The tokenizer of a file; an error of the library where it is none."""
    return HuggingFace(tokenizers.Tokenizer.from_str(content.decode()), special, unknown)


def unmatched(pattern: str, text: str) -> str:
    """Return the characters of a text that are not in a match of a pattern."""
    removed = Split(tokenizers.Regex(pattern), "removed")
    return "".join(piece for piece, _ in removed.pre_tokenize_str(text))


def isolated(step: str, text: str) -> set[str]:
    """Return the characters of a text that ``Digits`` or ``Punctuation`` cuts out.

    Each character is given twice, so that all others are in longer pieces.
    """
    cut = Digits(individual_digits=True) if step == "Digits" else Punctuation("isolated")
    pieces = cut.pre_tokenize_str("".join(character * 2 for character in text))
    return {piece for piece, _ in pieces if len(piece) == 1}


def scores_as_read(model: Mapping[str, Any]) -> list[float]:
    """Scores of a Unigram model as the library has them once it has read them.

    Its reader of JSON may miss the nearest double by one, and what ties between segmentations are broken by is how
    their sums are rounded.
    """
    content = json.dumps({"model": {"type": "Unigram", "unk_id": model.get("unk_id"), "vocab": model["vocab"]}})
    read = json.loads(tokenizers.Tokenizer.from_str(content).to_str())
    return [score for _, score in read["model"]["vocab"]]
