"""Byte strings in flat arrays: gathering, repetition and sorting with several threads."""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.order import by_bytes
from tokbench.kernels.slices import lay, repeat
from tokbench.kernels.threads import over_ranges, parallel_map

PARTS = 16


def gather(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], threads: int = 1
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Concatenate slices of ``data``; return uint8 [bytes] and int64 [slices + 1], the start of each."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    laid = np.empty(offsets[-1], np.uint8)
    over_ranges(lambda first, last: lay(data, starts, offsets, first, last, laid), len(starts), threads)
    return laid, offsets


def repeat_ranges(values: NDArray[np.int32], offsets: NDArray[np.int64], threads: int = 1) -> NDArray[np.int32]:
    """Repeat the value of each slice for each of its bytes, int32 [bytes]; slice i starts at ``offsets[i]``."""
    said = np.empty(offsets[-1], np.int32)
    over_ranges(lambda first, last: repeat(values, offsets, first, last, said), len(values), threads)
    return said


def argsort_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64], threads: int = 1) -> NDArray[np.int64]:
    """Return the indices of strings in byte order, int64 [strings]; stable.

    Strings that share their first two bytes are sorted by one thread.
    """
    lengths = np.diff(offsets)
    pairs = np.zeros(len(lengths), np.uint16)
    for depth in range(2):
        deeper = lengths > depth
        pairs[deeper] |= data[offsets[:-1][deeper] + depth].astype(np.uint16) << np.uint16(8 - 8 * depth)
    dealt = np.argsort(pairs, kind="stable")
    pairs = pairs[dealt]
    cuts = np.searchsorted(pairs, pairs[len(pairs) * np.arange(1, PARTS) // PARTS]) if len(pairs) else ()
    edges = np.unique([0, *cuts, len(pairs)])
    parts = parallel_map(lambda edge: by_bytes(data, offsets, dealt[slice(*edge)]), pairwise(edges.tolist()), threads)
    return np.concatenate([dealt[:0], *parts])
