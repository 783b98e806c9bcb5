"""How a vocabulary is used on a text: the one input of every intrinsic metric.

Each unique pre-token is segmented once and weighted by its count, so no metric encodes text again.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

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
    """

    vocabulary: Vocabulary
    counts: PretokenCounts
    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    frequencies: NDArray[np.int64]
    nominal_size: int

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


def usage_of(tokenizer: CountSegmenter, counts: PretokenCounts, nominal_size: int | None = None) -> Usage:
    """Segment the pre-tokens of a text once and count the tokens.

    Args:
        tokenizer: what segments.
        counts: the pre-tokens of the text, cut by the tokenizer's own pre-tokenization.
        nominal_size: the vocabulary size that was asked for; the number of tokens when None.

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
