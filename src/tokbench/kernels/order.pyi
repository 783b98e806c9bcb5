import numpy as np
from numpy.typing import NDArray

def descending(
    values: NDArray[np.float64],  # [n]
) -> NDArray[np.int64]:  # [n]
    """Places of numbers from the greatest down, equal ones as they stand."""

def ascending(
    first: NDArray[np.int64],  # [n]
    second: NDArray[np.int64],  # [n]
) -> NDArray[np.int64]:  # [n]
    """Places of pairs of numbers from the least up, by ``first``, then by ``second``, equal ones as they stand."""

def by_bytes(
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [strings + 1]
    places: NDArray[np.int64],  # [n]
) -> NDArray[np.int64]:  # [n]
    """Bring strings in byte order, the same ones as they stand; best where all are short."""
