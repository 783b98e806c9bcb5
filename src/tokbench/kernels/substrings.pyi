import numpy as np
from numpy.typing import NDArray

def distinct_substrings(
    data: NDArray[np.uint8],  # [n]
    offsets: NDArray[np.int64],  # [words + 1]
    longest: int,
    threads: int = 1,
    enough: int = 524288,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Every distinct substring of 2 to ``longest`` bytes within words."""

def occurrences_of(
    data: NDArray[np.uint8],  # [n]
    offsets: NDArray[np.int64],  # [words + 1]
    suffixes: NDArray[np.int32],  # [n]
    tokens: NDArray[np.uint8],  # [bytes]
    token_offsets: NDArray[np.int64],  # [tokens + 1]
) -> NDArray[np.int32]:
    """Where given substrings stand among the sorted suffixes of :func:`distinct_substrings`, by binary search."""
