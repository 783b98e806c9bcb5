"""Usage of a vocabulary on a text, the input of every intrinsic metric, and texts encoded by other libraries.

Each unique pre-token is segmented once and weighted by its count, so metrics never encode text again.

Other libraries encode documents with their own pre-tokens, and their tokens need not be bytes of the text. Token
frequencies are known nevertheless, and byte counts are those of the original text.
"""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.languages import by_tag
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import Vocabulary


class CountSegmenter(Protocol):
    """Required methods of a tokenizer: its vocabulary, and segmentation of unique pre-tokens."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return concatenated token ids, int32 [tokens], and the start of each pre-token's ids, int64 [n + 1]."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Segmented pre-tokens of a text.

    Attributes:
        vocabulary: the tokens.
        counts: the n unique pre-tokens of the text and their counts.
        ids: int32 [tokens], concatenated segmentations of the unique pre-tokens.
        bounds: int64 [n + 1], start of each pre-token's ids.
        frequencies: int64 [len(vocabulary)], occurrences of each token in the text.
        nominal_size: requested vocabulary size; a vocabulary may have fewer tokens.
        reference: pre-tokens of another text, whose words are looked up in the vocabulary (default: None).
    """

    vocabulary: Vocabulary
    counts: PretokenCounts
    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    nominal_size: int
    reference: PretokenCounts | None = None

    @property
    def tokens_per_pretoken(self) -> NDArray[np.int64]:
        """Tokens of each unique pre-token, int64 [n]."""
        return np.diff(self.bounds)

    @property
    def total_bytes(self) -> int:
        """Bytes of the text."""
        return self.counts.total_bytes

    @property
    def total(self) -> int:
        """Tokens of the text."""
        return int(self.frequencies.sum())


def usage_of(
    tokenizer: CountSegmenter,
    counts: PretokenCounts,
    nominal_size: int | None = None,
    reference: PretokenCounts | None = None,
) -> Usage:
    """Segment the pre-tokens of a text once and count the tokens.

    Args:
        tokenizer: tokenizer or any other segmenter of pre-tokens.
        counts: pre-tokens of the text from the tokenizer's pre-tokenizer.
        nominal_size: requested vocabulary size (default: None, the number of tokens).
        reference: pre-tokens of another text, for metrics that look up its words (default: None).

    Raises:
        TokbenchError: the segmentation does not match the counts.
    """
    ids, bounds = tokenizer.segment(counts)
    if len(bounds) != len(counts) + 1 or int(bounds[-1]) != len(ids):
        raise TokbenchError(
            f"segmentation of {len(counts)} pre-tokens has {len(bounds)} bounds and {len(ids)} ids; "
            "bounds must have one entry more than there are pre-tokens and end at the number of ids"
        )
    vocabulary = tokenizer.vocabulary
    return Usage(
        vocabulary,
        counts,
        ids,
        bounds,
        token_frequencies(ids, bounds, counts.counts, len(vocabulary)),
        len(vocabulary) if nominal_size is None else nominal_size,
        reference,
    )


def token_frequencies(
    ids: NDArray[np.int32], bounds: NDArray[np.int64], counts: NDArray[np.int64], size: int
) -> NDArray[np.int64]:
    """Count occurrences of each token; every id counts as often as its pre-token occurs.

    Args:
        ids: int32 [tokens], concatenated segmentations.
        bounds: int64 [n + 1], start of each pre-token's ids.
        counts: int64 [n], occurrences of each pre-token.
        size: number of tokens of the vocabulary.

    Returns:
        int64 [size]. Sums are of integers and remain exact beyond 2^53.
    """
    frequencies = np.zeros(size, np.int64)
    np.add.at(frequencies, ids, np.repeat(counts, np.diff(bounds)))
    return frequencies


BREAKS = (b" ", b"\n")
WITHOUT_PHASES = "works through {}, whose pre-tokens and tokens' bytes are not known to us"
"""Reason why a tokenizer that runs through a library has no value."""


class EncodesTexts(Protocol):
    """Required methods of a tokenizer that encodes texts."""

    @property
    def id_limit(self) -> int: ...

    def __len__(self) -> int: ...

    def encode(self, text: bytes) -> NDArray[np.int32]:
        """Return the ids of a text."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class EncodedText:
    """Frequencies of ids in a text.

    Attributes:
        frequencies: int64 [ids], occurrences of each id.
        nominal_size: number of tokens that text can produce.
        total_bytes: bytes of the original text.
        breaks: number of spaces and line feeds in the text.
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


def encoded_by_language(tokenizer: EncodesTexts, documents: Iterable[tuple[str, bytes]]) -> dict[str, EncodedText]:
    """Encode documents one by one and add them by language; languages are in order of their tags."""
    found: dict[str, EncodedText] = {}
    for language, text in documents:
        frequencies = np.bincount(tokenizer.encode(text), minlength=tokenizer.id_limit).astype(np.int64, copy=False)
        one = EncodedText(frequencies, len(tokenizer), len(text), sum(map(text.count, BREAKS)))
        found[language] = found[language] + one if language in found else one
    return dict(sorted(by_tag(found, operator.add).items()))


class OnlyBytes:
    """Tokenizer of the 256 bytes; its measurements list the names and definitions of every metric."""

    vocabulary = Vocabulary(tuple(bytes([byte]) for byte in range(256)))
    pretokenization = "none"

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return every byte as a token."""
        return counts.data.astype(np.int32), np.asarray(counts.offsets, np.int64)


def together(texts: Mapping[str, EncodedText], tokenizer: EncodesTexts) -> EncodedText:
    """Return the texts of all languages as one."""
    none = EncodedText(np.zeros(tokenizer.id_limit, np.int64), len(tokenizer), 0, 0)
    return sum(texts.values(), none)
