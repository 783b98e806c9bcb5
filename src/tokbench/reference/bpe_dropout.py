"""Plain-Python reference of BPE dropout: algorithm 1 of the paper, and the probability of each of its outcomes."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import compress, pairwise, product

Merges = Sequence[tuple[int, int, int]]


def bpe_dropout(text: bytes, merges: Merges, dropout: float, draws: Iterator[int]) -> list[int]:
    """At each step draw for the possible merges, best first, and apply the first that is not dropped."""
    ids = list(text)
    while True:
        kept = (found for found in possible(ids, merges) if next(draws) >> 11 >= dropout * 2**53)
        best = next(kept, None)
        if best is None:
            return ids
        ids = applied(ids, best, merges)


def outcomes(text: bytes, merges: Merges, dropout: float) -> dict[tuple[int, ...], float]:
    """The probability of each segmentation, from the algorithm as printed: all possible merges are drawn for."""

    @cache
    def after(ids: tuple[int, ...]) -> dict[tuple[int, ...], float]:
        total: defaultdict[tuple[int, ...], float] = defaultdict(float)
        found = possible(list(ids), merges)
        for kept in product((False, True), repeat=len(found)):
            probability = (1 - dropout) ** sum(kept) * dropout ** (len(kept) - sum(kept))
            if not any(kept):
                total[ids] += probability
                continue
            best = min(compress(found, kept))
            for end, share in after(tuple(applied(list(ids), best, merges))).items():
                total[end] += probability * share
        return total

    return after(tuple(text))


def possible(ids: list[int], merges: Merges) -> list[tuple[int, int]]:
    """Rank and place of every possible merge, lowest rank first, the leftmost of equal ones first."""
    ranks: dict[tuple[int, int], int] = {}
    for rank, (left, right, _) in enumerate(merges):
        ranks.setdefault((left, right), rank)
    return sorted((ranks[pair], place) for place, pair in enumerate(pairwise(ids)) if pair in ranks)


def applied(ids: list[int], found: tuple[int, int], merges: Merges) -> list[int]:
    """The ids with one merge made."""
    rank, place = found
    return [*ids[:place], merges[rank][2], *ids[place + 2 :]]
