import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.trie import Trie

def pairs_of(
    tokens: Trie,
    backwards: Trie,
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [n + 1]
) -> NDArray[np.int32]:
    """Every pair of tokens that, joined, is a token."""
