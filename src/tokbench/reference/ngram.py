"""n-gram counts, n-gram models and pre-token counts, from their formulas.

- ``top_ngrams``: most frequent byte n-grams.
- ``score``: interpolated byte n-gram model.
- ``bits``: token n-gram models with interpolated modified Kneser-Ney smoothing. Chen and Goodman, "An Empirical Study
  of Smoothing Techniques for Language Modeling" (1998), section 3.
- ``count``: pre-token counts in limited memory, by sorted runs merged by bytes and sorted again by count.
- ``count_all``: pre-token counts by dictionary, in canonical order: count descending, bytes ascending.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, pairwise
from math import log, log2

from tokbench.reference import segmentation


def top_ngrams(pretokens: Iterable[tuple[bytes, int]], limit: int, max_bytes: int) -> list[tuple[bytes, int]]:
    """Return the most frequent n-grams of 2 to ``max_bytes`` bytes with their counts: count descending, then bytes.

    >>> top_ngrams([(b'banana', 1)], 2, 3)
    [(b'an', 2), (b'ana', 2)]
    """
    totals: Counter[bytes] = Counter()
    for pretoken, count in pretokens:
        for start in range(len(pretoken)):
            for end in range(start + 2, min(start + max_bytes, len(pretoken)) + 1):
                totals[pretoken[start:end]] += count
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:limit]


def followers(documents: list[bytes], order: int) -> dict[bytes, Counter[int]]:
    """Count each byte after each context of up to ``order - 1`` bytes."""
    counts: dict[bytes, Counter[int]] = defaultdict(Counter)
    for text in documents:
        for i, byte in enumerate(text):
            for width in range(min(i, order - 1) + 1):
                counts[text[i - width : i]][byte] += 1
    return counts


def distribution(counts: dict[bytes, Counter[int]], context: bytes) -> list[float]:
    """Return p(byte | context) for the 256 bytes."""
    shorter = [1 / 256] * 256 if not context else distribution(counts, context[1:])
    if context not in counts:
        return shorter
    next_bytes = counts[context]
    total, different = sum(next_bytes.values()), len(next_bytes)
    return [(next_bytes[byte] + different * shorter[byte]) / (total + different) for byte in range(256)]


def score(documents: list[bytes], order: int, text: bytes) -> tuple[list[float], list[float]]:
    """Return surprisal and entropy of each byte, in nats.

    >>> surprisals, entropies = score([b'abab'], 2, b'ab')
    >>> [round(value, 2) for value in surprisals]
    [1.09, 0.25]
    """
    counts = dict(followers(documents, order))
    distributions = [distribution(counts, text[max(0, i - order + 1) : i]) for i in range(len(text))]
    return [-log(p[byte]) for p, byte in zip(distributions, text, strict=True)], [
        -sum(q * log(q) for q in p) for p in distributions
    ]


Document = Sequence[int]
Gram = tuple[int, ...]
BOS, EOS = -1, -2


@dataclass(frozen=True)
class Level:
    """One order of a model: gram counts, by the context before the last token, and discounts."""

    followers: dict[Gram, dict[int, int]]
    discounts: tuple[float, float, float]

    def probability(self, context: Gram, token: int, below: float) -> float:
        """Return p(token | context); ``below`` is the probability of the next lower order."""
        counts = self.followers.get(context)
        if counts is None:
            return below
        discounts = [self.discounts[min(count, 3) - 1] for count in counts.values()]
        count = counts.get(token, 0)
        discounted = count - self.discounts[min(count, 3) - 1] if count else 0.0
        return (discounted + sum(discounts) * below) / sum(counts.values())


def grams(document: Document, order: int) -> list[Gram]:
    """Return the ``order`` tokens up to each predicted position: every token, and the end."""
    padded = (BOS,) * (order - 1) + tuple(document) + (EOS,)
    return [padded[place : place + order] for place in range(len(document) + 1)]


def level(counts: Counter[Gram]) -> Level:
    """Return an order from the counts of its grams."""
    followers: dict[Gram, dict[int, int]] = defaultdict(dict)
    for gram, count in counts.items():
        followers[gram[:-1]][gram[-1]] = count
    once, twice, thrice, four = (sum(count == times for count in counts.values()) for times in (1, 2, 3, 4))
    if not once * twice * thrice * four:
        return Level(followers, (0.75, 0.75, 0.75))
    y = once / (once + 2 * twice)
    exact = (1 - 2 * y * twice / once, 2 - 3 * y * thrice / twice, 3 - 4 * y * four / thrice)
    first, second, third = (max(0.1, min(i - 0.01, discount)) for i, discount in enumerate(exact, 1))
    return Level(followers, (first, second, third))


def train(documents: Sequence[Document], order: int) -> list[Level]:
    """Return the orders of a model from the lowest. Lower orders use continuation counts, the highest plain counts."""
    levels = []
    for lower in range(1, order):
        types = {gram for document in documents for gram in grams(document, lower + 1)}
        levels.append(level(Counter(gram[1:] for gram in types)))
    return [*levels, level(Counter(gram for document in documents for gram in grams(document, order)))]


def probability(levels: Sequence[Level], gram: Gram, vocabulary: int) -> float:
    """Return p(last token | others). The lowest level is uniform over ``vocabulary`` tokens and the end."""
    p = 1 / (vocabulary + 1)
    for order, level in enumerate(levels, 1):
        p = level.probability(gram[len(gram) - order : -1], gram[-1], p)
    return p


def bits(training: Sequence[Document], documents: Sequence[Document], vocabulary: int, order: int) -> list[float]:
    """Return the bits of each document, including its end.

    >>> [round(value, 2) for value in bits([[0, 1, 0, 1]], [[0, 1]], 2, 2)]
    [2.83]
    """
    levels = train(training, order)
    return [
        -sum(log2(probability(levels, gram, vocabulary)) for gram in grams(document, order)) for document in documents
    ]


Pair = tuple[bytes, int]


def count(documents: Iterable[bytes], pattern: str | None, most: int) -> list[Pair]:
    """Return the pairs of :func:`count_all`, with at most ``most`` pairs per table or sort."""
    cut = (text[start:end] for text in documents for start, end in pairwise(segmentation.boundaries(pattern, text)))
    return merged(spilled(((pretoken, 1) for pretoken in cut), most), most)


def spilled(pairs: Iterable[Pair], most: int) -> Iterator[list[Pair]]:
    """Yield runs sorted by bytes, each of at most ``most`` pre-tokens.

    >>> list(spilled([(b'b', 1), (b'a', 1), (b'b', 1), (b'c', 1)], 2))
    [[(b'a', 1), (b'b', 2)], [(b'c', 1)]]
    """
    table: Counter[bytes] = Counter()
    for pretoken, times in pairs:
        if pretoken not in table and len(table) == most:
            yield sorted(table.items())
            table.clear()
        table[pretoken] += times
    yield sorted(table.items())


def merged(runs: Iterable[list[Pair]], most: int) -> list[Pair]:
    """Return the pairs of all runs in canonical order: added up by bytes, sorted in runs by count, merged."""
    by_bytes = heapq.merge(*runs)
    added = (
        (pretoken, sum(times for _, times in group)) for pretoken, group in groupby(by_bytes, lambda pair: pair[0])
    )
    order: Callable[[Pair], tuple[int, bytes]] = lambda pair: (-pair[1], pair[0])  # noqa: E731
    by_count = []
    while batch := list(islice(added, most)):
        by_count.append(sorted(batch, key=order))
    return list(heapq.merge(*by_count, key=order))


def count_all(documents: Iterable[bytes], pattern: str | Sequence[str] | None) -> list[tuple[bytes, int]]:
    """Return the pre-tokens with their counts: count descending, then bytes.

    >>> count_all([b'sea sea shell'], ' ?[^ ]+')
    [(b' sea', 1), (b' shell', 1), (b'sea', 1)]
    """
    counts = Counter(
        text[start:end] for text in documents for start, end in pairwise(segmentation.boundaries(pattern, text))
    )
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def shared_bytes(texts: Sequence[bytes], others: Iterable[bytes], length: int) -> list[int]:
    """Return, for each text, the number of bytes inside a run of ``length`` bytes that also occurs in another text.

    >>> shared_bytes([b'a banana'], [b'nana'], 3)
    [5]
    """
    runs = {other[start : start + length] for other in others for start in range(len(other) - length + 1)}
    shared = []
    for text in texts:
        inside = [False] * len(text)
        for start in range(len(text) - length + 1):
            if text[start : start + length] in runs:
                inside[start : start + length] = [True] * length
        shared.append(sum(inside))
    return shared
