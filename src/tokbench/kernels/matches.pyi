import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.trie import Trie

def count_matches(
    trie: Trie,
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [n + 1]
    counts: NDArray[np.int64],  # [n]
    first: int,
    last: int,
    tokens: int,
) -> NDArray[np.int64]:
    """How often each token stands in the pre-tokens ``first`` to ``last``, at any place, weighted by their counts."""
