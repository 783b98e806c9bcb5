"""Token n-gram models with interpolated modified Kneser-Ney smoothing, straight from their formulas.

Chen and Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling" (1998), section 3.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2

Document = Sequence[int]
Gram = tuple[int, ...]
BOS, EOS = -1, -2


@dataclass(frozen=True)
class Level:
    """One order of a model: the counts of its grams, by the context before the last token, and its discounts."""

    followers: dict[Gram, dict[int, int]]
    discounts: tuple[float, float, float]

    def probability(self, context: Gram, token: int, below: float) -> float:
        """p(token | context), where ``below`` is that one order down."""
        counts = self.followers.get(context)
        if counts is None:
            return below
        taken = [self.discounts[min(count, 3) - 1] for count in counts.values()]
        count = counts.get(token, 0)
        kept = count - self.discounts[min(count, 3) - 1] if count else 0.0
        return (kept + sum(taken) * below) / sum(counts.values())


def grams(document: Document, order: int) -> list[Gram]:
    """The ``order`` tokens up to each place that is predicted: every token, and the end."""
    padded = (BOS,) * (order - 1) + tuple(document) + (EOS,)
    return [padded[place : place + order] for place in range(len(document) + 1)]


def level(counts: Counter[Gram]) -> Level:
    """An order from the counts of its grams."""
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
    """The orders of a model from the lowest: continuation counts below its own, at which grams are counted as such."""
    levels = []
    for lower in range(1, order):
        types = {gram for document in documents for gram in grams(document, lower + 1)}
        levels.append(level(Counter(gram[1:] for gram in types)))
    return [*levels, level(Counter(gram for document in documents for gram in grams(document, order)))]


def probability(levels: Sequence[Level], gram: Gram, vocabulary: int) -> float:
    """p of a gram's last token after those before it; ``vocabulary`` tokens and the end share what is left."""
    p = 1 / (vocabulary + 1)
    for order, one in enumerate(levels, 1):
        p = one.probability(gram[len(gram) - order : -1], gram[-1], p)
    return p


def bits(training: Sequence[Document], documents: Sequence[Document], vocabulary: int, order: int) -> list[float]:
    """Bits of each document, its end included."""
    levels = train(training, order)
    return [
        -sum(log2(probability(levels, gram, vocabulary)) for gram in grams(document, order)) for document in documents
    ]
