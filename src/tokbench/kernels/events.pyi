import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.trie import Trie

class EventSegmenter(PretokenSegmenter):
    """Does every event in its order, wherever it applies, from left to right."""

    def __init__(
        self,
        whole: Trie,
        byte_ids: NDArray[np.int32],  # [256]
        tokens: NDArray[np.int32],  # [e]
        removes: NDArray[np.uint8],  # [e]
        bounds: NDArray[np.int64],  # [e + 1]
        parts: NDArray[np.int32],
        lengths: NDArray[np.int32],
        joined: NDArray[np.uint8],  # [65536]
    ) -> None: ...
