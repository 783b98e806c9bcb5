import numpy as np
from numpy.typing import NDArray

def lay(
    data: NDArray[np.uint8],  # [bytes]
    starts: NDArray[np.int64],  # [slices]
    offsets: NDArray[np.int64],  # [slices + 1]
    first: int,
    last: int,
    laid: NDArray[np.uint8],  # [offsets[-1]]
) -> None:
    """Copy the slices ``first`` to ``last`` to their places."""

def repeat(
    values: NDArray[np.int32],  # [slices]
    offsets: NDArray[np.int64],  # [slices + 1]
    first: int,
    last: int,
    repeated: NDArray[np.int32],  # [offsets[-1]]
) -> None:
    """Say the values ``first`` to ``last`` for every byte of their slices."""

def cut(
    data: NDArray[np.uint8],  # [bytes]
    starts: NDArray[np.int64],  # [slices]
    ends: NDArray[np.int64],  # [slices]
) -> list[bytes]:
    """The slices ``data[start:end]``, each as bytes of its own."""
