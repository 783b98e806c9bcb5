"""Shares of tokens in the relaxation of the fewest tokens, moved against prices."""

from collections.abc import Sequence
from math import floor, ldexp

import numpy as np

Words = Sequence[tuple[bytes, int]]
PRICE_STEP, FLOW_STEP, SHARP, LEAST = 1.0, 0.5, 8.0, 1e-9
BINARY, NATURAL, TINY, SHIFT = 1.4426950408889634, 0.6931471805599453, 2.0**-64, 64


def decayed(by: float) -> float:
    """e**-by by halvings and a polynomial."""
    if by > 700:
        return 0.0
    by *= BINARY
    whole = floor(by)
    rest = (whole - by) * NATURAL
    rest = 1 + rest * (1 + rest * (0.5 + rest * (1 / 6 + rest * (1 / 24 + rest * (1 / 120 + rest / 720)))))
    return ldexp(rest, -whole)


class _Word:
    """A word with the edges into each of its nodes: where they start, and their tokens."""

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
            chances = [single(decayed(SHARP * max(0.0, -one))) for one in between]
            total = first
            for chance in chances:
                total += chance
            self.prices.append([single(max(0.0, one)) for one in between])
            self.bytes.append(single(max(LEAST, single(first) / total)))
            self.chances.append([single(max(LEAST, chance / total)) for chance in chances])
        self.flow()

    def flow(self) -> None:
        """What flows through each node."""
        self.through = [0.0] * self.size + [1.0]
        for node in range(self.size, 0, -1):
            self.through[node - 1] += self.through[node] * self.bytes[node]
            for (start, _), chance in zip(self.into[node], self.chances[node], strict=True):
                self.through[start] += self.through[node] * chance

    def move(self, shares: Sequence[float], sums: list[float]) -> None:
        """Move prices, then flows."""
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
        """What it takes where no edge flows by more than its token's units."""
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
    """The shares after some steps, and the tokens in units of 1 / scale."""
    text = [_Word(word, count, tokens, own) for (word, count), own in zip(words, potentials, strict=True)]
    weights = [0.0] * len(tokens)
    for word in text:
        for edges in word.into:
            for _, token in edges:
                weights[token] += word.count
    found, threshold = list(shares), 0.0
    for _ in range(steps):
        sums = [0.0] * len(tokens)
        for word in text:
            word.move(found, sums)
            word.flow()
        sums = [one + share * weight / FLOW_STEP for one, share, weight in zip(sums, found, weights, strict=True)]
        threshold = _threshold(sums, weights, limit, threshold)
        found = [_share(one, weight, threshold) for one, weight in zip(sums, weights, strict=True)]
    units = [floor(share * scale) for share in found]
    over = sum(units) - limit * scale
    for token in range(len(units)):
        less = min(max(over, 0), units[token])
        units[token], over = units[token] - less, over - less
    return found, sum(count * word.fitted(units, scale) for (_, count), word in zip(words, text, strict=True))


def _share(one: float, weight: float, threshold: float) -> float:
    return min(1.0, max(0.0, (one - threshold) * FLOW_STEP / weight))


def _threshold(sums: Sequence[float], weights: Sequence[float], limit: int, start: float) -> float:
    """What leaves K shares, by Newton's steps, halving where these leave the bracket."""
    low, high = 0.0, max([0.0, *sums])
    middle = min(start, high)
    for _ in range(60):
        total = slope = 0.0
        for one, weight in zip(sums, weights, strict=True):
            share = (one - middle) * FLOW_STEP / weight
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
    """A number as 32 bits hold it."""
    return float(np.float32(value))
