"""The relaxation of the fewest tokens, its prices raised step by step, and what exchanges of tokens would save."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf, sqrt

import numpy as np

Words = Sequence[tuple[bytes, int]]
Edge = tuple[int, int, int]
"""Where a token ends in a word, where it starts there, and its number."""


@dataclass
class Pace:
    """The best bound, and how far steps go, by what they gained."""

    best: float = -inf
    size: float = 0.5
    gained: int = 0
    stalled: int = 0

    def gains(self, bound: float) -> bool:
        """Whether a bound is the best so far."""
        if bound > self.best:
            self.best, self.stalled, self.gained = bound, 0, self.gained + 1
            if self.gained == 4:
                self.size, self.gained = min(1.5, self.size * 1.05), 0
            return True
        self.gained, self.stalled = 0, self.stalled + 1
        if self.stalled == 20:
            self.size, self.stalled = self.size * 0.8, 0
        return False

    def falls(self, bound: float, upper: float) -> bool:
        """Whether one is so far below the best that the next step begins from there."""
        return bound < self.best - 0.3 * (upper - self.best)


def ascend(
    words: Words, tokens: Sequence[bytes], limit: int, steps: int, upper: float, lowered: int
) -> tuple[float, list[list[float]]]:
    """The best bound after some steps, and the cost of the bytes before each node of each word that gave it."""
    edges = [edges_of(word, tokens) for word, _ in words]
    before = [[0.0] + [count * (1 + 0.2 * k) for k in range(len(word))] for word, count in words]
    prices = [needed(own, at, count) for own, at, (_, count) in zip(edges, before, words, strict=True)]
    moves = [[0.0] * len(own) for own in edges]
    pace = Pace()
    kept: list[list[float]] = []
    for step in range(steps):
        bound, before, taken, held = _evaluate(
            words, edges, prices, len(tokens), limit, step < lowered and step % 10 == 0
        )
        if pace.gains(bound):
            kept = before
        elif pace.falls(bound, upper):
            prices = [needed(own, at, count) for own, at, (_, count) in zip(edges, kept, words, strict=True)]
            bound, _, taken, held = _evaluate(words, edges, prices, len(tokens), limit, False)
            pace.size, moves = pace.size * 0.8, [[0.0] * len(own) for own in edges]
        norm = 0.0
        for w, (_, count) in enumerate(words):
            squares = 0.0
            for i, (_, _, token) in enumerate(edges[w]):
                move = 0.8 * moves[w][i] + 0.2 * ((i in taken[w]) - held[token])
                move = 0.0 if prices[w][i] <= 0 and move < 0 else move
                moves[w][i] = float(np.float32(move))
                squares += move * move
            norm += squares * sqrt(count)
        for w, (_, count) in enumerate(words):
            if norm:
                far = pace.size * (upper - bound) / norm * sqrt(count)
                prices[w] = [max(0.0, price + far * move) for price, move in zip(prices[w], moves[w], strict=True)]
    return pace.best, kept


def edges_of(word: bytes, tokens: Sequence[bytes]) -> list[Edge]:
    """(end, start, token) of every place where a token fits, by end, then in order of the tokens."""
    return [
        (end, end - len(token), number)
        for end in range(1, len(word) + 1)
        for number, token in enumerate(tokens)
        if word.endswith(token, 0, end)
    ]


def needed(edges: list[Edge], at: list[float], count: int) -> list[float]:
    """What the distance between an edge's nodes exceeds a token by."""
    return [max(0.0, at[end] - at[start] - count) for end, start, _ in edges]


def _evaluate(
    words: Words,
    edges: list[list[Edge]],
    prices: list[list[float]],
    kinds: int,
    limit: int,
    lower: bool,
) -> tuple[float, list[list[float]], list[set[int]], list[float]]:
    """The bound, the distances, the edges on shortest paths, and the share of each token in the vocabulary."""
    sums, paths, distances, taken = [0.0] * kinds, 0.0, [], []
    for w, (word, count) in enumerate(words):
        before, last = [0.0], [-1]
        for node in range(1, len(word) + 1):
            ways = [(before[node - 1] + count, -1)]
            ways += [
                (before[start] + count + price, i)
                for i, ((end, start, _), price) in enumerate(zip(edges[w], prices[w], strict=True))
                if end == node
            ]
            length, who = min(ways)
            before.append(length)
            last.append(who)
        length = before[-1]
        if lower:
            after = [inf] * len(word) + [0.0]
            for node in range(len(word), 0, -1):
                after[node - 1] = min(after[node - 1], after[node] + count)
                for (end, start, _), price in zip(edges[w], prices[w], strict=True):
                    if end == node:
                        after[start] = min(after[start], after[node] + count + price)
            before = [0.5 * (one + (length - other)) for one, other in zip(before, after, strict=True)]
            prices[w] = needed(edges[w], before, count)
        for (_, _, token), price in zip(edges[w], prices[w], strict=True):
            sums[token] += price
        path, node = set(), len(word)
        while node:
            path |= {last[node]} - {-1}
            node = node - 1 if last[node] < 0 else edges[w][last[node]][1]
        paths += length
        distances.append(before)
        taken.append(path)
    top, held = weighed(sums, limit)
    return paths - top[0] - top[1], distances, taken, held


def weighed(sums: Sequence[float], limit: int) -> tuple[tuple[float, float], list[float]]:
    """What tokens that are let in are worth, those above the last and those like it, and the share of each token."""
    positive = sorted((price for price in sums if price > 0), reverse=True)
    least = positive[limit - 1] if len(positive) > limit > 0 else 0.0
    above = [limit > 0 and price > least for price in sums]
    equal = [limit > 0 and price == least > 0 for price in sums]
    left = limit - sum(above)
    share = left / sum(equal) if any(equal) else 0.0
    top = 0.0
    for price, inside in zip(sums, above, strict=True):
        top += price if inside else 0.0
    held = [1.0 if inside else share if tied else 0.0 for inside, tied in zip(above, equal, strict=True)]
    return (top, least * left if any(equal) else 0.0), held


def fewest(words: Words, vocabulary: set[bytes]) -> int:
    """Tokens of the text by shortest paths; single bytes are always there."""
    total = 0
    for word, count in words:
        least = [0]
        for end in range(1, len(word) + 1):
            ways = (least[start] for start in range(end) if end - start == 1 or word[start:end] in vocabulary)
            least.append(1 + min(ways))
        total += count * least[-1]
    return total


def relief(words: Words, prices: Sequence[Sequence[int]], scale: int) -> dict[bytes, int]:
    """What each substring saves of prices of bytes, over all its places."""
    saved: dict[bytes, int] = {}
    for (word, count), own in zip(words, prices, strict=True):
        for start in range(len(word)):
            for end in range(start + 2, len(word) + 1):
                saving = sum(own[start:end]) - count * scale
                if saving > 0:
                    saved[word[start:end]] = saved.get(word[start:end], 0) + saving
    return saved
