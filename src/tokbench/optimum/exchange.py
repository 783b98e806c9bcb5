"""Local improvement: tokens that save little make room for substrings that would save more."""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exchange import exchanges
from tokbench.optimum.graph import Graph


def tokens_of(graph: Graph, chosen: NDArray[np.bool_]) -> int:
    """Tokens of the text by shortest paths under a vocabulary; bool [tokens] says which substrings it holds."""
    total: int = _exchanges(graph, chosen, False)[0]
    return total


def improved(graph: Graph, chosen: NDArray[np.bool_], trials: int) -> tuple[int, NDArray[np.bool_]]:
    """Exchange tokens as long as the text gets shorter by it.

    What a token saves is told by itself, and the best are exchanged for the worst, many at a time; where many change
    the same words the sum is not what was told, and fewer are tried.

    Args:
        graph: the text.
        chosen: bool [tokens], the vocabulary to begin with.
        trials: exchanges tried at most.

    Returns:
        Tokens of the text, and the vocabulary that gives them.
    """
    total, worth = _exchanges(graph, chosen, True)
    batch = graph.limit
    for _ in range(trials):
        least, most = _pairs(worth, chosen, batch)
        if len(least) == 0:
            break
        trial = chosen.copy()
        trial[least], trial[most] = False, True
        found, told = _exchanges(graph, trial, True)
        if found < total:
            total, worth, chosen = found, told, trial
            batch = 2 * len(least)
        elif len(least) == 1:
            break
        else:
            batch = len(least) // 4 or 1
    return total, chosen


def _pairs(worth: NDArray[np.int64], chosen: NDArray[np.bool_], batch: int) -> tuple[NDArray[np.int64], ...]:
    """Tokens to leave out and tokens to take instead, at most ``batch`` pairs, the most rewarding first."""
    inside, outside = np.flatnonzero(chosen), np.flatnonzero(~chosen & (worth > 0))
    least = inside[np.argsort(worth[inside], kind="stable")[:batch]]
    most = outside[np.argsort(-worth[outside], kind="stable")[:batch]]
    pairs = min(len(least), len(most))
    least, most = least[:pairs], most[:pairs]
    rewarding = worth[most] > worth[least]
    return least[rewarding], most[rewarding]


def _exchanges(graph: Graph, chosen: NDArray[np.bool_], worth: bool) -> tuple[int, NDArray[np.int64]]:
    found: tuple[int, NDArray[np.int64]] = exchanges(
        graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens, chosen.astype(np.uint8), worth
    )
    return found
