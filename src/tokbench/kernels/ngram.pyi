import numpy as np
from numpy.typing import NDArray

MAX_WIDTH: int

def pair_positions(
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [n + 1]
) -> NDArray[np.int64]:
    """Positions by their first two bytes."""

def best_ngrams(
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [n + 1]
    counts: NDArray[np.int64],  # [n]
    first: int,
    last: int,
    positions: int,
    max_width: int,
    limit: int,
) -> tuple[NDArray[np.uint64], NDArray[np.int64], NDArray[np.int64]]:
    """The most frequent n-grams of two bytes or more among those whose first two bytes lie in a range."""
