import numpy as np
from numpy.typing import NDArray

def chosen(
    state: object,
    data: NDArray[np.uint8],  # [n]
    offsets: NDArray[np.int64],  # [words + 1]
    counts: NDArray[np.int64],  # [words]
    suffixes: NDArray[np.int32],  # [n]
    groups: NDArray[np.int32],  # [m, 4]
    limit: int,
    threads: int = 1,
    enough: int = 1024,
) -> NDArray[np.int64]:
    """Take the substring that joins the most bytes, applied to all words, again and again."""
