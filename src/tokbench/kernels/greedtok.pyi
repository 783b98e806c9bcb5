import numpy as np
from numpy.typing import NDArray

def choose(
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    suffixes: NDArray[np.int32],
    groups: NDArray[np.int32],
    limit: int,
    threads: int = 1,
    enough: int = 1024,
) -> NDArray[np.int64]:
    """What GreedTok chooses; see :func:`tokbench.kernels.choice.chosen`."""
