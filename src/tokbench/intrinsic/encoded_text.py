"""A text as the ids of a tokenizer that works through another library: what can be measured without pre-tokens.

Such a library takes documents, whatever its own pre-tokens are, and its tokens need not be bytes of the text. How often
each token occurs is known all the same, and bytes are those of the text as it was given.
"""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.languages import by_tag
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import Vocabulary

BREAKS = (b" ", b"\n")
WITHOUT_PHASES = "works through {}, whose pre-tokens and tokens' bytes are not known to us"
"""Why a tokenizer that works through a library lacks a value."""


class TextEncoder(Protocol):
    """What is asked of such a tokenizer."""

    @property
    def id_limit(self) -> int: ...

    def __len__(self) -> int: ...

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """Ids of a text."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """A text as ids.

    Attributes:
        frequencies: int64 [ids], occurrences of each id.
        nominal_size: tokens that a text can give.
        total_bytes: of the text as it was given.
        breaks: spaces and line feeds of the text.
    """

    frequencies: NDArray[np.int64]
    nominal_size: int
    total_bytes: int
    breaks: int

    @property
    def total(self) -> int:
        """Tokens of the text."""
        return int(self.frequencies.sum())

    def __add__(self, other: "EncodedText") -> "EncodedText":
        return EncodedText(
            self.frequencies + other.frequencies,
            self.nominal_size,
            self.total_bytes + other.total_bytes,
            self.breaks + other.breaks,
        )


def encoded_by_language(tokenizer: TextEncoder, documents: Iterable[tuple[str, bytes]]) -> dict[str, EncodedText]:
    """Documents, each with its language, encoded one by one; the languages in order of their tags."""
    found: dict[str, EncodedText] = {}
    for language, text in documents:
        frequencies = np.bincount(tokenizer.encode(text), minlength=tokenizer.id_limit).astype(np.int64, copy=False)
        one = EncodedText(frequencies, len(tokenizer), len(text), sum(map(text.count, BREAKS)))
        found[language] = found[language] + one if language in found else one
    return dict(sorted(by_tag(found, operator.add).items()))


class OnlyBytes:
    """A tokenizer of the 256 bytes, whose measurements tell what every metric is called and by which definition."""

    vocabulary = Vocabulary(tuple(bytes([byte]) for byte in range(256)))
    pretokenization = "none"

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Every byte by itself."""
        return counts.data.astype(np.int32), np.asarray(counts.offsets, np.int64)


def together(texts: Mapping[str, EncodedText], tokenizer: TextEncoder) -> EncodedText:
    """The texts of all languages as one."""
    none = EncodedText(np.zeros(tokenizer.id_limit, np.int64), len(tokenizer), 0, 0)
    return sum(texts.values(), none)
