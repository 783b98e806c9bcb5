import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.trie import Trie

class LikelihoodSegmenter(PretokenSegmenter):
    """Cuts into the tokens with the greatest sum of scores."""

    def __init__(
        self,
        suffixes: Trie,
        scores: NDArray[np.float64],  # [tokens]
    ) -> None: ...
