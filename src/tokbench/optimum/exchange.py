"""Local improvement: tokens that save little make room for substrings that would save more."""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exchange import exchanges
from tokbench.optimum.graph import Graph


def tokens_of(graph: Graph, chosen: NDArray[np.bool_], threads: int = 1) -> int:
    """Tokens of the text by shortest paths under a vocabulary; bool [tokens] says which substrings it holds."""
    total: int = _exchanges(graph, chosen, False, threads)[0]
    return total


def improved(graph: Graph, chosen: NDArray[np.bool_], trials: int, threads: int = 1) -> tuple[int, NDArray[np.bool_]]:
    """Exchange tokens as long as the text gets shorter by it.

    What a token saves is told by itself, and the best are exchanged for the worst, many at a time; where many change
    the same words the sum is not what was told, and fewer are tried.

    Args:
        graph: the text.
        chosen: bool [tokens], the vocabulary to begin with.
        trials: exchanges tried at most.
        threads: threads to use; they do not show.

    Returns:
        Tokens of the text, and the vocabulary that gives them.
    """
    total, worth = _exchanges(graph, chosen, True, threads)
    batch = graph.limit
    for _ in range(trials):
        least, most = _pairs(worth, chosen, batch)
        if len(least) == 0:
            break
        trial = chosen.copy()
        trial[least], trial[most] = False, True
        found, told = _exchanges(graph, trial, True, threads)
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
    inside = np.flatnonzero(chosen)
    outside = np.flatnonzero(~chosen & (worth > worth[inside].min(initial=worth.max(initial=0))))
    least, most = inside[_least(worth[inside], batch)], outside[_least(-worth[outside], batch)]
    pairs = min(len(least), len(most))
    least, most = least[:pairs], most[:pairs]
    rewarding = worth[most] > worth[least]
    return least[rewarding], most[rewarding]


def _least(values: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Places of the least values, in order; of those that are equal the first come first."""
    places = np.arange(len(values))
    if number < len(values):
        places = np.flatnonzero(values <= np.partition(values, number)[number])
    return places[np.argsort(values[places], kind="stable")[:number]]


def _exchanges(graph: Graph, chosen: NDArray[np.bool_], worth: bool, threads: int) -> tuple[int, NDArray[np.int64]]:
    arrays = graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens
    found: tuple[int, NDArray[np.int64]] = exchanges(*arrays, chosen.astype(np.uint8), worth, threads)
    return found
