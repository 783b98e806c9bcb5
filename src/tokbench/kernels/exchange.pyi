import numpy as np
from numpy.typing import NDArray

def exchanges(
    bounds: NDArray[np.int64],  # [words + 1]
    counts: NDArray[np.int64],  # [words]
    first: NDArray[np.int64],  # [nodes + 1]
    starts: NDArray[np.int32],  # [edges]
    tokens: NDArray[np.int32],  # [edges]
    chosen: NDArray[np.uint8],  # [tokens]
    worth: bool,
    threads: int = 1,
    enough: int = 4096,
) -> tuple[int, NDArray[np.int64]]:
    """Tokens of the text by shortest paths, and what single changes of the vocabulary would do to them."""
