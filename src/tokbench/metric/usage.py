"""How a vocabulary is used on a text: the one input of every intrinsic metric.

Each unique pre-token is segmented once and weighted by its count, so no metric encodes text again.

A text as the ids of a tokenizer that works through another library: what can be measured without pre-tokens.

Such a library takes documents, whatever its own pre-tokens are, and its tokens need not be bytes of the text. How often
each token occurs is known all the same, and bytes are those of the text as it was given.
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
    """What is asked of a tokenizer: its vocabulary, and the segmentation of unique pre-tokens."""

    @property
    def vocabulary(self) -> Vocabulary: ...

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Token ids laid end to end, int32 [tokens], and where each pre-token's start, int64 [n + 1]."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """The segmented pre-tokens of a text.

    Attributes:
        vocabulary: the tokens.
        counts: the n unique pre-tokens of the text and how often each occurs.
        ids: int32 [tokens], the segmentations of the unique pre-tokens, laid end to end.
        bounds: int64 [n + 1], where each pre-token's ids start.
        frequencies: int64 [len(vocabulary)], occurrences of each token in the text.
        nominal_size: the vocabulary size that was asked for; a vocabulary may hold fewer tokens.
        reference: the pre-tokens of another text, whose words are looked up in the vocabulary; may be None.
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
        """int64 [n], tokens of each unique pre-token."""
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
        tokenizer: what segments.
        counts: the pre-tokens of the text, cut by the tokenizer's own pre-tokenization.
        nominal_size: the vocabulary size that was asked for; the number of tokens when None.
        reference: the pre-tokens of another text, for metrics that look up its words.

    Raises:
        TokbenchError: the segmentation does not fit the counts.
    """
    ids, bounds = tokenizer.segment(counts)
    if len(bounds) != len(counts) + 1 or int(bounds[-1]) != len(ids):
        raise TokbenchError(
            f"segmentation of {len(counts)} pre-tokens has {len(bounds)} bounds and {len(ids)} ids; "
            "bounds must hold one entry more than there are pre-tokens and end at the number of ids"
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
    """Occurrences of each token: every id counts as often as its pre-token occurs.

    Args:
        ids: int32 [tokens], segmentations laid end to end.
        bounds: int64 [n + 1], where each pre-token's ids start.
        counts: int64 [n], occurrences of each pre-token.
        size: tokens of the vocabulary.

    Returns:
        int64 [size]. Sums are of integers, so they stay exact beyond 2^53.
    """
    frequencies = np.zeros(size, np.int64)
    np.add.at(frequencies, ids, np.repeat(counts, np.diff(bounds)))
    return frequencies


BREAKS = (b" ", b"\n")
WITHOUT_PHASES = "works through {}, whose pre-tokens and tokens' bytes are not known to us"
"""Why a tokenizer that works through a library lacks a value."""


class EncodesTexts(Protocol):
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


def encoded_by_language(tokenizer: EncodesTexts, documents: Iterable[tuple[str, bytes]]) -> dict[str, EncodedText]:
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


def together(texts: Mapping[str, EncodedText], tokenizer: EncodesTexts) -> EncodedText:
    """The texts of all languages as one."""
    none = EncodedText(np.zeros(tokenizer.id_limit, np.int64), len(tokenizer), 0, 0)
    return sum(texts.values(), none)
