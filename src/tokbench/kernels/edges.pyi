import numpy as np
from numpy.typing import NDArray

def laid_out(
    offsets: NDArray[np.int64],  # [words + 1]
    counts: NDArray[np.int64],  # [words]
    suffixes: NDArray[np.int32],  # [n]
    threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Where sorted suffixes of words stand among the nodes, and how often."""

def token_edges(
    nodes: NDArray[np.int32],  # [n]
    before: NDArray[np.int64],  # [n + 1]
    suffixes: NDArray[np.int32],  # [n]
    groups: NDArray[np.int32],  # [m, 4]
    words: int,
    least: int,
    threads: int = 1,
) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
    """The substrings that could save enough, and where they fit."""

def savings(
    before: NDArray[np.int64],  # [n + 1]
    groups: NDArray[np.int32],  # [m, 4]
    threads: int = 1,
) -> NDArray[np.int64]:
    """What the longest substring of every group saves at most: its weighted occurrences times its bytes but one."""

def relief(
    offsets: NDArray[np.int64],  # [words + 1]
    counts: NDArray[np.int64],  # [words]
    suffixes: NDArray[np.int32],  # [n]
    groups: NDArray[np.int32],  # [m, 4]
    prices: NDArray[np.int64],  # [n + words]
    scale: int,
    threads: int = 1,
) -> NDArray[np.int64]:
    """What each substring would save of given prices of bytes, in integers: all substrings, none left out."""
