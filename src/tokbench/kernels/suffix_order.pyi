import numpy as np
from numpy.typing import NDArray

DEEP: int
"""Bytes by which suffixes are sorted one after the other."""

def order_suffixes(
    data: NDArray[np.uint8],  # [n]
    offsets: NDArray[np.int64],  # [words + 1]
    longest: int,
    deep: int = 64,
    threads: int = 1,
    enough: int = 524288,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The suffixes of words, each to the end of its word, ordered by their first ``longest`` bytes."""
