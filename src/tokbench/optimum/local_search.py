"""Rounding of shares of tokens to vocabularies, and local search by exchanges of tokens."""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.elementary import logs_of
from tokbench.kernels.exchange import exchanges
from tokbench.optimum.graph import SubstringGraph

CountedVocabulary = tuple[NDArray[np.bool_], int]
"""A vocabulary, bool [tokens], and the token count of the text."""
FULL_SHARE = 0.999
"""Smallest share that counts as 1."""


def round_shares(graph: SubstringGraph, shares: NDArray[np.float64], rounding: str, seed: int) -> NDArray[np.int64]:
    """Round shares of tokens to a vocabulary.

    Args:
        graph: the text.
        shares: float64 [tokens], from 0 to 1.
        rounding: ``det``, ``bias``, ``int`` or ``prob``.
        seed: seed of ``prob``, which samples with Gumbel noise.

    Returns:
        int64 [at most K], in descending order of share; ties go to the longer token, then to the lesser bytes. If fewer
        than K tokens have a share, others are added by their possible savings, except with ``int``.
    """
    lengths = (graph.places[:, 1] - graph.places[:, 0]).astype(np.int64)
    positive = shares > 0
    keys = shares
    if rounding == "bias":
        keys = shares / lengths
    elif rounding == "prob":
        # NumPy's logarithms and its Gumbel noise are not the same on all processors.
        noise = -logs_of(-logs_of(1 - np.random.default_rng(seed).random(len(shares))))
        keys = np.full(len(shares), -np.inf)
        keys[positive] = logs_of(shares[positive]) + noise[positive]
    order = np.lexsort((-lengths, -keys, -positive.astype(np.int8)))
    if rounding == "int":
        return order[shares[order] > FULL_SHARE][: graph.limit]
    positives = order[: int(positive.sum())][: graph.limit]
    others = np.flatnonzero(~positive)
    others = others[np.lexsort((-lengths[others], -graph.possible_savings[others]))]
    return np.concatenate([positives, others[: graph.limit - len(positives)]])


def count_tokens(graph: SubstringGraph, vocabulary: NDArray[np.bool_], threads: int = 1) -> int:
    """Count tokens of the text by shortest paths; ``vocabulary``, bool [tokens], marks the vocabulary."""
    total: int = _exchanges(graph, vocabulary, False, threads)[0]
    return total


def improve(
    graph: SubstringGraph, vocabulary: NDArray[np.bool_], trials: int, threads: int = 1
) -> tuple[int, NDArray[np.bool_]]:
    """Exchange tokens as long as this reduces the token count.

    Savings are computed for each token separately. The best candidates replace the worst tokens, many at a time. If
    exchanges affect the same words, savings do not add up, and smaller batches are tried.

    Args:
        graph: the text.
        vocabulary: bool [tokens], initial vocabulary.
        trials: largest number of batches tried.
        threads: number of threads (default: 1); results do not depend on it.

    Returns:
        Tokens of the text, and the vocabulary.
    """
    total, worth = _exchanges(graph, vocabulary, True, threads)
    batch = graph.limit
    for _ in range(trials):
        least, most = _pairs(worth, vocabulary, batch)
        if len(least) == 0:
            break
        trial = vocabulary.copy()
        trial[least], trial[most] = False, True
        tokens, savings = _exchanges(graph, trial, True, threads)
        if tokens < total:
            total, worth, vocabulary = tokens, savings, trial
            batch = 2 * len(least)
        elif len(least) == 1:
            break
        else:
            batch = len(least) // 4 or 1
    return total, vocabulary


def _pairs(worth: NDArray[np.int64], vocabulary: NDArray[np.bool_], batch: int) -> tuple[NDArray[np.int64], ...]:
    """Return tokens to remove and tokens to add, at most ``batch`` pairs, those with the largest gain first."""
    inside = np.flatnonzero(vocabulary)
    outside = np.flatnonzero(~vocabulary & (worth > worth[inside].min(initial=worth.max(initial=0))))
    least, most = inside[_least(worth[inside], batch)], outside[_least(-worth[outside], batch)]
    pairs = min(len(least), len(most))
    least, most = least[:pairs], most[:pairs]
    rewarding = worth[most] > worth[least]
    return least[rewarding], most[rewarding]


def _least(values: NDArray[np.int64], number: int) -> NDArray[np.int64]:
    """Return indices of the least values in ascending order; ties are in order of index."""
    places = np.arange(len(values))
    if number < len(values):
        places = np.flatnonzero(values <= np.partition(values, number)[number])
    return places[np.argsort(values[places], kind="stable")[:number]]


def _exchanges(
    graph: SubstringGraph, vocabulary: NDArray[np.bool_], worth: bool, threads: int
) -> tuple[int, NDArray[np.int64]]:
    arrays = graph.bounds, graph.counts.counts, graph.first, graph.starts, graph.tokens
    tokens_and_worth: tuple[int, NDArray[np.int64]] = exchanges(*arrays, vocabulary.astype(np.uint8), worth, threads)
    return tokens_and_worth


def take_highest(graph: SubstringGraph, scores: NDArray[np.float64], threads: int) -> CountedVocabulary:
    """Return the vocabulary of the highest scores (none is negative; ties in byte order) and its token count."""
    vocabulary = np.zeros(len(scores), np.bool_)
    if len(scores) <= graph.limit:
        vocabulary[:] = True
    elif graph.limit:
        positive = scores[scores > 0]  # np.partition is slow with many equal values
        least = np.partition(positive, -graph.limit)[-graph.limit] if len(positive) >= graph.limit else 0.0
        vocabulary[scores > least] = True
        vocabulary[np.flatnonzero(scores == least)[: graph.limit - int(vocabulary.sum())]] = True
    return vocabulary, count_tokens(graph, vocabulary, threads)
