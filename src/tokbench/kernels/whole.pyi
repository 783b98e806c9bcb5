import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.merge import MergeSegmenter
from tokbench.kernels.trie import Trie

class WholeSegmenter(MergeSegmenter):
    """Takes a pre-token that is a token whole, and merges all others."""

    @property
    def tokens(self) -> Trie: ...
    def __init__(
        self,
        merges: NDArray[np.int32],  # [m, 3]
        byte_ids: NDArray[np.int32],  # [256]
        joined: NDArray[np.uint8],  # [65536]
        tokens: Trie,
        by_result: bool = False,
    ) -> None: ...
