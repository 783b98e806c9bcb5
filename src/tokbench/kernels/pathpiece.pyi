import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.trie import Trie

MAX_WIDTH: int

MAX_BYTES: int
"""Longest pre-token: the tokens of two ways through it are counted in 32 bits."""

def omission_costs(
    trie: Trie,
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [n + 1]
    counts: NDArray[np.int64],  # [n]
    first: int,
    last: int,
    increases: NDArray[np.int64],  # [tokens]
    occurrences: NDArray[np.int64],  # [tokens]
    key: int | None = None,
) -> int:
    """Segment pre-tokens ``first`` to ``last`` by shortest paths and add up what omitting each token would cost."""

def choose_drops(
    trie: Trie,
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [tokens + 1]
    order: NDArray[np.int64],  # [m]
    limit: int,
) -> NDArray[np.int64]:
    """The first tokens in ``order`` that are no substring of one already chosen."""
