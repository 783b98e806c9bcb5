import numpy as np
from numpy.typing import NDArray

def train(
    text: NDArray[np.int32],  # [n]
    offsets: NDArray[np.int64],  # [words + 1]
    counts: NDArray[np.int64],  # [words]
    ranks: NDArray[np.int64],  # [alphabet]
    size: int,
    min_count: int,
    max_length: int,
) -> NDArray[np.int32]:
    """Merge the pair of the greatest count(ab) / (count(a) count(b)), again and again."""
