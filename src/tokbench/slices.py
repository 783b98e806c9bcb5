"""Slices of bytes, laid end to end by several threads."""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.slices import lay
from tokbench.parallel import over_ranges


def gather(
    data: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64], threads: int = 1
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Lay slices of ``data`` end to end; int64 [slices + 1] offsets say where each starts."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    laid = np.empty(offsets[-1], np.uint8)
    over_ranges(lambda first, last: lay(data, starts, offsets, first, last, laid), len(starts), threads)
    return laid, offsets
