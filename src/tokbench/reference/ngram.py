"""Plain-Python reference of the n-gram counter."""

from collections import Counter
from collections.abc import Iterable


def top_ngrams(pretokens: Iterable[tuple[bytes, int]], limit: int, max_bytes: int) -> list[tuple[bytes, int]]:
    """The most frequent n-grams of 2 to ``max_bytes`` bytes with their counts: count descending, then bytes."""
    totals: Counter[bytes] = Counter()
    for pretoken, count in pretokens:
        for start in range(len(pretoken)):
            for end in range(start + 2, min(start + max_bytes, len(pretoken)) + 1):
                totals[pretoken[start:end]] += count
    return sorted(totals.items(), key=lambda item: (-item[1], item[0]))[:limit]
