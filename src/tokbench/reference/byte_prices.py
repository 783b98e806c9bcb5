"""The bound on the fewest tokens by prices of bytes alone, raised step by step."""

from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

from tokbench.reference.relaxation import Edge, Pace, Words, edges_of, needed, weighed


def ascend(
    words: Words, tokens: Sequence[bytes], potentials: Sequence[Sequence[float]], limit: int, steps: int, upper: float
) -> tuple[float, list[list[float]]]:
    """The best bound after some steps, and the cost of the bytes before each node of each word that gave it."""
    edges = [edges_of(word, tokens) for word, _ in words]
    kept = [list(own) for own in potentials]
    prices = _prices(words, kept)
    moves = [[0.0] * len(word) for word, _ in words]
    squares = [[1.0] * len(word) for word, _ in words]
    pace = Pace()
    for _ in range(steps):
        bound, before, held = _evaluate(words, edges, prices, len(tokens), limit)
        if pace.gains(bound):
            kept = before
        elif pace.falls(bound, upper):
            prices, pace.size, moves = _prices(words, kept), pace.size * 0.8, [[0.0] * len(word) for word, _ in words]
            bound, before, held = _evaluate(words, edges, prices, len(tokens), limit)
        norm = 0.0
        for w, (word, count) in enumerate(words):
            own = 0.0
            for k, cover in enumerate(_covers(len(word), edges[w], before[w], count, held)):
                squares[w][k] = 0.9 * squares[w][k] + 0.1 * ((1 - cover) * (1 - cover))
                move = 0.8 * moves[w][k] + 0.2 * (1 - cover)
                moves[w][k] = 0.0 if prices[w][k] >= count and move > 0 else move
                own += moves[w][k] * moves[w][k] * (count / sqrt(squares[w][k] + 0.01))
            norm += own
        if norm:
            stride = pace.size * (upper - bound) / norm
            prices = [
                [
                    min(count, price + stride * (count / sqrt(square + 0.01)) * move)
                    for price, square, move in zip(prices[w], squares[w], moves[w], strict=True)
                ]
                for w, (_, count) in enumerate(words)
            ]
    return pace.best, kept


def _prices(words: Words, potentials: list[list[float]]) -> list[list[float]]:
    """Of each byte, at most what it costs by itself."""
    return [
        [min(count, behind - at) for at, behind in pairwise(own)]
        for own, (_, count) in zip(potentials, words, strict=True)
    ]


def _evaluate(
    words: Words, edges: list[list[Edge]], prices: list[list[float]], kinds: int, limit: int
) -> tuple[float, list[list[float]], list[float]]:
    """The bound, the cost of the bytes before each node, and the share of each token in the vocabulary."""
    sums, paths, potentials = [0.0] * kinds, 0.0, []
    for w, (_, count) in enumerate(words):
        before = [0.0]
        for price in prices[w]:
            before.append(before[-1] + price)
        for (_, _, token), price in zip(edges[w], needed(edges[w], before, count), strict=True):
            sums[token] += price
        paths += before[-1]
        potentials.append(before)
    top, held = weighed(sums, limit)
    return paths - top[0] - top[1], potentials, held


def _covers(size: int, edges: list[Edge], before: list[float], count: int, held: list[float]) -> list[float]:
    """How many tokens of the vocabulary lie over each byte of a word where they would be used, shares of tokens too."""
    more = [0.0] * (size + 1)
    for (end, start, token), price in zip(edges, needed(edges, before, count), strict=True):
        if price > 0:
            more[start] += held[token]
            more[end] -= held[token]
    covers, cover = [], 0.0
    for each in more[:size]:
        cover += each
        covers.append(cover)
    return covers
