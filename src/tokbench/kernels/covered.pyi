import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.trie import Trie

def covered_pairs(
    trie: Trie,
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [n + 1]
    counts: NDArray[np.int64],  # [n]
) -> int:
    """How many pairs of adjacent bytes the tokens cover, weighted by the pre-tokens' counts."""
