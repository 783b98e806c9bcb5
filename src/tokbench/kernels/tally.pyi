import numpy as np
from numpy.typing import NDArray

def tally_high(
    values: NDArray[np.float32],  # [n]
    tally: NDArray[np.int64],  # [65536]
) -> None:
    """Count numbers by their high sixteen bits."""

def tally_low(
    high: int,
    values: NDArray[np.float32],  # [n]
    tally: NDArray[np.int64],  # [65536]
) -> None:
    """Count the numbers that have certain high bits by their low sixteen bits."""
