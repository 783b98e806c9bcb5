import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.trie import Trie

def expect(
    trie: Trie,
    probabilities: NDArray[np.float64],  # [tokens]
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [pre-tokens + 1]
    counts: NDArray[np.int64],  # [pre-tokens]
    first: int,
    last: int,
    expected: NDArray[np.float64],  # [tokens]
) -> float:
    """Add to ``expected`` how often each token occurs in the segmentations of pre-tokens ``first`` to ``last``."""

def count_best(
    trie: Trie,
    scores: NDArray[np.float64],
    data: NDArray[np.uint8],
    offsets: NDArray[np.int64],
    counts: NDArray[np.int64],
    first: int,
    last: int,
    occurrences: NDArray[np.int64],
) -> None:
    """Add to ``occurrences`` how often each token occurs in the best segmentations of pre-tokens ``first`` to
    ``last``.
    """

def losses(
    trie: Trie,
    scores: NDArray[np.float64],  # [tokens]
    occurrences: NDArray[np.int64],  # [tokens]
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [tokens + 1]
    first: int,
    last: int,
    tokens: int,
    growth: int,
    loss: NDArray[np.float64],  # [tokens]
) -> None:
    """What the text would lose, in nats per token, without each of the tokens ``first`` to ``last``."""
