import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.trie import Trie

class PostRemovalSegmenter(PretokenSegmenter):
    """Cuts with another segmenter, then puts other tokens in the place of some."""

    def __init__(
        self,
        merger: PretokenSegmenter,
        whole: Trie | None,
        present: int,
        bounds: NDArray[np.int64],  # [removed + 1]
        parts: NDArray[np.int32],
    ) -> None: ...
