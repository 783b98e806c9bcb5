import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.trie import Trie

UNITS: int
"""A loss of one nat."""

def ablation_losses(
    trie: Trie,
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [lines + 1]
    ids: NDArray[np.int32],  # [n]
    bounds: NDArray[np.int64],  # [lines + 1]
    lengths: NDArray[np.int32],  # [tokens]
    embeddings: NDArray[np.float32],  # [tokens, columns]
    first: int,
    last: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Loss of each token of two bytes or more over lines ``first`` to ``last``, and how often it occurs there."""
