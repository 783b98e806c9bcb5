"""N-grams: the most frequent byte strings within pre-tokens.

The initial vocabulary of PathPiece and SaGe in "Tokenization Is More Than Compression", section 3.2 and appendix A.2.1:
the most frequent byte n-grams, always including the single bytes.

Reference: :mod:`tokbench.reference.ngram`.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.construction import construction
from tokbench.kernels.ngram import MAX_WIDTH, best_ngrams, pair_positions
from tokbench.kernels.order import ascending
from tokbench.kernels.slices import cut
from tokbench.kernels.threads import parallel_map
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

PART_POSITIONS = 1 << 16
"""Smallest number of positions per part."""
FEW_PARTS, FEW_POSITIONS, MOST_PARTS = 8, 1 << 21, 32
"""Limits on the number of parts. Each part reads the full text, so there are only a few, unless their positions need
too much memory."""


class NgramOptions(Options):
    max_token_bytes: int = Field(16, ge=2, le=MAX_WIDTH)
    """Longest n-gram, in bytes."""


@construction("ngram", options=NgramOptions, segmentation="greedy", gives_initial=True, cites=("schmidt2024",))
def build(counts: PretokenCounts, size: int, options: NgramOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Return the 256 bytes, then the most frequent n-grams of two or more bytes, until there are ``size`` tokens.

    Ties are in byte order. Fewer tokens are returned if the pre-tokens contain fewer distinct n-grams.
    """
    tokens, _ = top_ngrams(counts, size - len(BYTES), options.max_token_bytes, threads=threads)
    return Vocabulary(BYTES + tuple(tokens))


def top_ngrams(
    counts: PretokenCounts, limit: int, max_bytes: int = MAX_WIDTH, *, threads: int = 1
) -> tuple[list[bytes], NDArray[np.int64]]:
    """Return the ``limit`` most frequent n-grams of 2 to ``max_bytes`` bytes, including overlapping occurrences.

    An occurrence lies within one pre-token and counts as often as the pre-token does.

    Returns:
        The n-grams, by descending count, then bytes, and int64 [n], their counts.
    """
    if limit < 1 or not len(counts):
        return [], np.empty(0, np.int64)
    positions = pair_positions(counts.data, counts.offsets)

    def best(part: tuple[int, int]) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
        first, last = part
        position_count = int(positions[first:last].sum())
        return best_ngrams(counts.data, counts.offsets, counts.counts, first, last, position_count, max_bytes, limit)

    parts = list(parallel_map(best, _parts(positions), threads))
    totals = np.concatenate([part_counts for *_, part_counts in parts])
    least = np.partition(totals, -limit)[-limit] if len(totals) > limit else 0
    hopeful = [
        (words[part_counts >= least], widths[part_counts >= least], part_counts[part_counts >= least])
        for words, widths, part_counts in parts
    ]
    del parts
    words, widths, totals = (np.concatenate(arrays) for arrays in zip(*hopeful, strict=True))
    order = ascending(-totals, np.zeros_like(totals))[:limit]  # Parts and their n-grams are already in byte order.
    starts = MAX_WIDTH * np.arange(len(order))
    return cut(words[order].astype(">u8").view(np.uint8).reshape(-1), starts, starts + widths[order]), totals[order]


def _parts(positions: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Split the 65,536 byte pairs into ranges of similar work. The ranges depend on the text, not on the threads."""
    position_count = int(positions.sum())
    share = max(PART_POSITIONS, min(FEW_POSITIONS, position_count // FEW_PARTS), position_count // MOST_PARTS)
    edges = np.flatnonzero(np.diff(np.cumsum(positions) // share)) + 1
    bounds = [0, *edges.tolist(), len(positions)]
    return list(pairwise(bounds))
