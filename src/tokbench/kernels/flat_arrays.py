"""Slices of bytes, laid end to end and put in order by several threads."""

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
    """Lay slices of ``data`` end to end; int64 [slices + 1] offsets say where each starts."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    laid = np.empty(offsets[-1], np.uint8)
    over_ranges(lambda first, last: lay(data, starts, offsets, first, last, laid), len(starts), threads)
    return laid, offsets


def repeat_ranges(values: NDArray[np.int32], offsets: NDArray[np.int64], threads: int = 1) -> NDArray[np.int32]:
    """Int32 [offsets[-1]], for every byte the value of its slice; int64 [slices + 1] offsets say where each starts."""
    said = np.empty(offsets[-1], np.int32)
    over_ranges(lambda first, last: repeat(values, offsets, first, last, said), len(values), threads)
    return said


def argsort_bytes(data: NDArray[np.uint8], offsets: NDArray[np.int64], threads: int = 1) -> NDArray[np.int64]:
    """Places of strings in byte order, int64 [strings], the same ones as they stand.

    Strings that share their first two bytes are put in order by one thread.
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
