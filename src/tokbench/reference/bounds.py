"""Lower bounds on the token count of a text: the linear relaxation, its dual ascent, and exchanges of tokens.

- ``ascend``: dual ascent on prices of edges.
- ``ascend_byte_prices``: dual ascent on prices of bytes only.
- ``solved``: primal-dual steps on the shares of tokens in the relaxation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import floor, inf, ldexp, sqrt

import numpy as np

Words = Sequence[tuple[bytes, int]]
Edge = tuple[int, int, int]
"""End of a token in a word, its start, and its index."""


@dataclass
class Pace:
    """Best bound so far, and a step size that adapts to the progress."""

    best: float = -inf
    size: float = 0.5
    gained: int = 0
    stalled: int = 0

    def gains(self, bound: float) -> bool:
        """Record a bound and return whether it is the best so far."""
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
        """Return whether a bound is so far below the best that the ascent restarts from the best."""
        return bound < self.best - 0.3 * (upper - self.best)


def ascend(
    words: Words, tokens: Sequence[bytes], limit: int, steps: int, upper: float, lowered: int
) -> tuple[float, list[list[float]]]:
    """Return the best bound after some steps, with the cost of the bytes before each node of each word.

    >>> bound, _ = ascend([(b'banana', 1)], [b'an', b'na', b'ana'], 1, 20, 6, 100)
    >>> round(bound, 2)
    3.31
    """
    edges = [edges_of(word, tokens) for word, _ in words]
    before = [[0.0] + [count * (1 + 0.2 * k) for k in range(len(word))] for word, count in words]
    prices = [needed(word_edges, at, count) for word_edges, at, (_, count) in zip(edges, before, words, strict=True)]
    moves = [[0.0] * len(word_edges) for word_edges in edges]
    # Subgradient ascent with momentum; after a fall it continues from the best prices.
    pace = Pace()
    best_potentials: list[list[float]] = []
    for step in range(steps):
        bound, before, paths, shares = _evaluate(
            words, edges, prices, len(tokens), limit, step < lowered and step % 10 == 0
        )
        if pace.gains(bound):
            best_potentials = before
        elif pace.falls(bound, upper):
            prices = [
                needed(word_edges, at, count)
                for word_edges, at, (_, count) in zip(edges, best_potentials, words, strict=True)
            ]
            bound, _, paths, shares = _evaluate(words, edges, prices, len(tokens), limit, False)
            pace.size, moves = pace.size * 0.8, [[0.0] * len(word_edges) for word_edges in edges]
        # Direction: where a path uses an edge of a token that is not selected, its price rises.
        norm = 0.0
        for w, (_, count) in enumerate(words):
            squares = 0.0
            for i, (_, _, token) in enumerate(edges[w]):
                move = 0.8 * moves[w][i] + 0.2 * ((i in paths[w]) - shares[token])
                move = 0.0 if prices[w][i] <= 0 and move < 0 else move
                moves[w][i] = float(np.float32(move))
                squares += move * move
            norm += squares * sqrt(count)
        for w, (_, count) in enumerate(words):
            if norm:
                far = pace.size * (upper - bound) / norm * sqrt(count)
                prices[w] = [max(0.0, price + far * move) for price, move in zip(prices[w], moves[w], strict=True)]
    return pace.best, best_potentials


def edges_of(word: bytes, tokens: Sequence[bytes]) -> list[Edge]:
    """Return (end, start, token) of every match of a token, by end, then in order of the tokens."""
    return [
        (end, end - len(token), number)
        for end in range(1, len(word) + 1)
        for number, token in enumerate(tokens)
        if word.endswith(token, 0, end)
    ]


def needed(edges: list[Edge], at: list[float], count: int) -> list[float]:
    """Return the excess of the distance between an edge's nodes over the cost of one token, for each edge."""
    return [max(0.0, at[end] - at[start] - count) for end, start, _ in edges]


def _evaluate(
    words: Words,
    edges: list[list[Edge]],
    prices: list[list[float]],
    kinds: int,
    limit: int,
    lower: bool,
) -> tuple[float, list[list[float]], list[set[int]], list[float]]:
    """Return the bound, the distances, the edges on shortest paths, and the share of each token in the vocabulary."""
    sums, paths, distances, used_edges = [0.0] * kinds, 0.0, [], []
    # Shortest path of each word.
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
        # Prices are lowered to the middle of the distances from both ends.
        if lower:
            after = [inf] * len(word) + [0.0]
            for node in range(len(word), 0, -1):
                after[node - 1] = min(after[node - 1], after[node] + count)
                for (end, start, _), price in zip(edges[w], prices[w], strict=True):
                    if end == node:
                        after[start] = min(after[start], after[node] + count + price)
            before = [
                0.5 * (from_start + (length - from_end)) for from_start, from_end in zip(before, after, strict=True)
            ]
            prices[w] = needed(edges[w], before, count)
        for (_, _, token), price in zip(edges[w], prices[w], strict=True):
            sums[token] += price
        # Edges of the path, from its end.
        path, node = set(), len(word)
        while node:
            path |= {last[node]} - {-1}
            node = node - 1 if last[node] < 0 else edges[w][last[node]][1]
        paths += length
        distances.append(before)
        used_edges.append(path)
    top, shares = weighed(sums, limit)
    return paths - top[0] - top[1], distances, used_edges, shares


def weighed(sums: Sequence[float], limit: int) -> tuple[tuple[float, float], list[float]]:
    """Return the total price of the selected tokens, in two parts, and the share of each token in the vocabulary.

    The first part is the sum of prices above the lowest selected price, the second that of prices equal to it.
    """
    positive = sorted((price for price in sums if price > 0), reverse=True)
    least = positive[limit - 1] if len(positive) > limit > 0 else 0.0
    above = [limit > 0 and price > least for price in sums]
    equal = [limit > 0 and price == least > 0 for price in sums]
    free = limit - sum(above)
    share = free / sum(equal) if any(equal) else 0.0
    top = 0.0
    for price, inside in zip(sums, above, strict=True):
        top += price if inside else 0.0
    shares = [1.0 if inside else share if tied else 0.0 for inside, tied in zip(above, equal, strict=True)]
    return (top, least * free if any(equal) else 0.0), shares


def fewest(words: Words, vocabulary: set[bytes]) -> int:
    """Return the fewest tokens of the text, by shortest paths. Single bytes are always in the vocabulary."""
    total = 0
    for word, count in words:
        least = [0]
        for end in range(1, len(word) + 1):
            ways = (least[start] for start in range(end) if end - start == 1 or word[start:end] in vocabulary)
            least.append(1 + min(ways))
        total += count * least[-1]
    return total


def relief(words: Words, prices: Sequence[Sequence[int]], scale: int) -> dict[bytes, int]:
    """Return the saving of each substring at given prices of bytes, summed over its positions."""
    saved: dict[bytes, int] = {}
    for (word, count), word_prices in zip(words, prices, strict=True):
        for start in range(len(word)):
            for end in range(start + 2, len(word) + 1):
                saving = sum(word_prices[start:end]) - count * scale
                if saving > 0:
                    saved[word[start:end]] = saved.get(word[start:end], 0) + saving
    return saved


PRICE_STEP, FLOW_STEP, SHARP, LEAST = 1.0, 0.5, 8.0, 1e-9
BINARY, NATURAL, TINY, SHIFT = 1.4426950408889634, 0.6931471805599453, 2.0**-64, 64


def decayed(by: float) -> float:
    """Return e**-by, from a power of two and a polynomial."""
    if by > 700:
        return 0.0
    by *= BINARY
    whole = floor(by)
    rest = (whole - by) * NATURAL
    rest = 1 + rest * (1 + rest * (0.5 + rest * (1 / 6 + rest * (1 / 24 + rest * (1 / 120 + rest / 720)))))
    return ldexp(rest, -whole)


class _Word:
    """Word with the edges into each of its nodes: their starts and tokens."""

    def __init__(self, word: bytes, count: int, tokens: Sequence[bytes], potentials: Sequence[float]) -> None:
        self.count, self.size = float(count), len(word)
        self.into = [
            [(end - len(token), number) for number, token in enumerate(tokens) if word.endswith(token, 0, end)]
            for end in range(len(word) + 1)
        ]
        self.bytes: list[float] = [0.0]
        self.prices: list[list[float]] = [[]]
        self.chances: list[list[float]] = [[]]
        for end in range(1, len(word) + 1):
            first = decayed(SHARP * max(0.0, 1 - (potentials[end] - potentials[end - 1]) / self.count))
            between = [(potentials[end] - potentials[start]) / self.count - 1 for start, _ in self.into[end]]
            chances = [single(decayed(SHARP * max(0.0, -excess))) for excess in between]
            total = first
            for chance in chances:
                total += chance
            self.prices.append([single(max(0.0, excess)) for excess in between])
            self.bytes.append(single(max(LEAST, single(first) / total)))
            self.chances.append([single(max(LEAST, chance / total)) for chance in chances])
        self.flow()

    def flow(self) -> None:
        """Compute the flow through each node."""
        self.through = [0.0] * self.size + [1.0]
        for node in range(self.size, 0, -1):
            self.through[node - 1] += self.through[node] * self.bytes[node]
            for (start, _), chance in zip(self.into[node], self.chances[node], strict=True):
                self.through[start] += self.through[node] * chance

    def move(self, shares: Sequence[float], sums: list[float]) -> None:
        """Update prices, then flows."""
        ahead, level = [1.0], [0.0]
        for node in range(1, self.size + 1):
            lengths = []
            for at, (start, token) in enumerate(self.into[node]):
                old = self.prices[node][at]
                price = max(0.0, old + PRICE_STEP * (self.through[node] * self.chances[node][at] - shares[token]))
                self.prices[node][at] = single(price)
                sums[token] += self.count * (2 * price - old)
                lengths.append(level[start] - FLOW_STEP * (1 + (2 * price - old)))
            by_byte = level[node - 1] - FLOW_STEP
            highest = max([by_byte, *lengths])
            total = self.bytes[node] * decayed(highest - by_byte) * ahead[node - 1]
            first, weights = single(total), []
            for at, (start, _) in enumerate(self.into[node]):
                weights.append(self.chances[node][at] * decayed(highest - lengths[at]) * ahead[start])
                total += weights[-1]
            self.bytes[node] = single(max(LEAST, first / total))
            self.chances[node] = [single(max(LEAST, weight / total)) for weight in weights]
            if total < TINY:
                total, highest = ldexp(total, SHIFT), highest - SHIFT * NATURAL
            ahead.append(total)
            level.append(highest)

    def fitted(self, units: Sequence[int], scale: int) -> int:
        """Return the token count if no edge carries more than its token's units, in units of 1 / scale."""
        room, spent = [0] * self.size + [scale], 0
        for node in range(self.size, 0, -1):
            left = room[node]
            spent += left
            for (start, token), chance in zip(self.into[node], self.chances[node], strict=True):
                flow = min(int(room[node] * chance), units[token], left)
                left -= flow
                room[start] += flow
            room[node - 1] += left
        return spent


def solved(
    words: Words,
    tokens: Sequence[bytes],
    shares: Sequence[float],
    potentials: Sequence[Sequence[float]],
    limit: int,
    steps: int,
    scale: int,
) -> tuple[list[float], int]:
    """Return the shares after some steps, and the token count in units of 1 / scale.

    >>> potentials = [[float(place) for place in range(7)]]
    >>> shares, units = solved([(b'banana', 1)], [b'an', b'na'], [0.5, 0.5], potentials, 1, 50, 1000)
    >>> [round(share, 2) for share in shares], units / 1000
    ([0.41, 0.59], 4.002)
    """
    text = [
        _Word(word, count, tokens, word_potentials)
        for (word, count), word_potentials in zip(words, potentials, strict=True)
    ]
    weights = [0.0] * len(tokens)
    for word in text:
        for edges in word.into:
            for _, token in edges:
                weights[token] += word.count
    current, threshold = list(shares), 0.0
    for _ in range(steps):
        sums = [0.0] * len(tokens)
        for word in text:
            word.move(current, sums)
            word.flow()
        sums = [term + share * weight / FLOW_STEP for term, share, weight in zip(sums, current, weights, strict=True)]
        threshold = _threshold(sums, weights, limit, threshold)
        current = [_share(term, weight, threshold) for term, weight in zip(sums, weights, strict=True)]
    units = [floor(share * scale) for share in current]
    over = sum(units) - limit * scale
    for token in range(len(units)):
        less = min(max(over, 0), units[token])
        units[token], over = units[token] - less, over - less
    return current, sum(count * word.fitted(units, scale) for (_, count), word in zip(words, text, strict=True))


def _share(total: float, weight: float, threshold: float) -> float:
    return min(1.0, max(0.0, (total - threshold) * FLOW_STEP / weight))


def _threshold(sums: Sequence[float], weights: Sequence[float], limit: int, start: float) -> float:
    """Return the threshold at which the shares add up to ``limit``, by Newton steps with bisection as fallback."""
    low, high = 0.0, max([0.0, *sums])
    middle = min(start, high)
    for _ in range(60):
        total = slope = 0.0
        for value, weight in zip(sums, weights, strict=True):
            share = (value - middle) * FLOW_STEP / weight
            total += min(1.0, max(0.0, share))
            slope += FLOW_STEP / weight if 0 < share < 1 else 0.0
        if total > limit:
            low = middle
        else:
            high = middle
            if middle == 0:
                break
        if abs(total - limit) <= 1e-9 * limit:
            break
        if slope > 0 and low < middle + (total - limit) / slope < high:
            middle += (total - limit) / slope
        else:
            middle = 0.5 * (low + high) if high > 1e-9 else 0.0
    return middle


def single(value: float) -> float:
    """Round a number to 32 bits."""
    return float(np.float32(value))


def ascend_byte_prices(
    words: Words, tokens: Sequence[bytes], potentials: Sequence[Sequence[float]], limit: int, steps: int, upper: float
) -> tuple[float, list[list[float]]]:
    """Return the best bound after some steps, with the cost of the bytes before each node of each word.

    >>> potentials = [[0.5 * place for place in range(7)]]
    >>> bound, _ = ascend_byte_prices([(b'banana', 1)], [b'an', b'na', b'ana'], potentials, 1, 20, 6)
    >>> round(bound, 2)
    2.76
    """
    edges = [edges_of(word, tokens) for word, _ in words]
    best_potentials = [list(gradient_norm) for gradient_norm in potentials]
    prices = _prices(words, best_potentials)
    moves = [[0.0] * len(word) for word, _ in words]
    squares = [[1.0] * len(word) for word, _ in words]
    # Subgradient ascent with momentum and a step for each byte, as in RMSProp.
    pace = Pace()
    for _ in range(steps):
        bound, before, shares = _evaluate_byte_prices(words, edges, prices, len(tokens), limit)
        if pace.gains(bound):
            best_potentials = before
        elif pace.falls(bound, upper):
            prices, pace.size, moves = (
                _prices(words, best_potentials),
                pace.size * 0.8,
                [[0.0] * len(word) for word, _ in words],
            )
            bound, before, shares = _evaluate_byte_prices(words, edges, prices, len(tokens), limit)
        norm = 0.0
        for w, (word, count) in enumerate(words):
            gradient_norm = 0.0
            for k, cover in enumerate(_covers(len(word), edges[w], before[w], count, shares)):
                squares[w][k] = 0.9 * squares[w][k] + 0.1 * ((1 - cover) * (1 - cover))
                move = 0.8 * moves[w][k] + 0.2 * (1 - cover)
                moves[w][k] = 0.0 if prices[w][k] >= count and move > 0 else move
                gradient_norm += moves[w][k] * moves[w][k] * (count / sqrt(squares[w][k] + 0.01))
            norm += gradient_norm
        if norm:
            stride = pace.size * (upper - bound) / norm
            prices = [
                [
                    min(count, price + stride * (count / sqrt(square + 0.01)) * move)
                    for price, square, move in zip(prices[w], squares[w], moves[w], strict=True)
                ]
                for w, (_, count) in enumerate(words)
            ]
    return pace.best, best_potentials


def _prices(words: Words, potentials: list[list[float]]) -> list[list[float]]:
    """Return the price of each byte, at most the count of its word."""
    return [
        [min(count, behind - at) for at, behind in pairwise(nodes)]
        for nodes, (_, count) in zip(potentials, words, strict=True)
    ]


def _evaluate_byte_prices(
    words: Words, edges: list[list[Edge]], prices: list[list[float]], kinds: int, limit: int
) -> tuple[float, list[list[float]], list[float]]:
    """Return the bound, the cost of the bytes before each node, and the share of each token in the vocabulary."""
    sums, paths, potentials = [0.0] * kinds, 0.0, []
    for w, (_, count) in enumerate(words):
        before = [0.0]
        for price in prices[w]:
            before.append(before[-1] + price)
        for (_, _, token), price in zip(edges[w], needed(edges[w], before, count), strict=True):
            sums[token] += price
        paths += before[-1]
        potentials.append(before)
    top, shares = weighed(sums, limit)
    return paths - top[0] - top[1], potentials, shares


def _covers(size: int, edges: list[Edge], before: list[float], count: int, shares: list[float]) -> list[float]:
    """Return the number of tokens over each byte of a word, counting a token by its share where it would be used."""
    more = [0.0] * (size + 1)
    for (end, start, token), price in zip(edges, needed(edges, before, count), strict=True):
        if price > 0:
            more[start] += shares[token]
            more[end] -= shares[token]
    covers, cover = [], 0.0
    for each in more[:size]:
        cover += each
        covers.append(cover)
    return covers
