import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.merge import MergeSegmenter

class DropoutSegmenter(MergeSegmenter):
    """Joins the adjacent pair of the lowest rank, the leftmost of several, that is not dropped, until all are."""

    def __init__(
        self,
        merges: NDArray[np.int32],
        byte_ids: NDArray[np.int32],
        joined: NDArray[np.uint8],
        dropout: float,
        seed: int = 0,
        placed: bool = False,
    ) -> None: ...
