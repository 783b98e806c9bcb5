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

def inner_tokens(
    trie: Trie,
    data: NDArray[np.uint8],  # [bytes]
    offsets: NDArray[np.int64],  # [tokens + 1]
    held: NDArray[np.uint8],  # [tokens]
    order: NDArray[np.int64],  # [m]
    first: int,
    last: int,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """The other tokens that are substrings of those at ``first`` to ``last`` of an order, and are not held back yet."""

def choose_drops(
    order: NDArray[np.int64],  # [m]
    first: int,
    inner: NDArray[np.int32],  # [n]
    bounds: NDArray[np.int64],  # [places + 1]
    held: NDArray[np.uint8],  # [tokens]
    limit: int,
) -> NDArray[np.int64]:
    """Choose tokens in their order, each of which holds back the others that are substrings of it."""
