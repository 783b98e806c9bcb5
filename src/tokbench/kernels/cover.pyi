import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.trie import Trie

class CoverSegmenter(PretokenSegmenter):
    """Applies the tokens of two bytes and more in the order of their ids."""

    def __init__(
        self,
        trie: Trie,
        lengths: NDArray[np.int32],  # [tokens]
    ) -> None: ...
