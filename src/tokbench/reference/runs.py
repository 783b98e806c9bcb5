"""Counting in little memory: sorted runs of what a table holds, merged by bytes, and sorted again by count."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby, islice, pairwise

from tokbench.reference import scan

Pair = tuple[bytes, int]


def count(documents: Iterable[bytes], pattern: str | None, most: int) -> list[Pair]:
    """The pairs of :func:`tokbench.reference.count.count`, with no more than ``most`` of them in a table or a sort."""
    cut = (text[start:end] for text in documents for start, end in pairwise(scan.boundaries(pattern, text)))
    return merged(spilled(((pretoken, 1) for pretoken in cut), most), most)


def spilled(pairs: Iterable[Pair], most: int) -> Iterator[list[Pair]]:
    """Runs sorted by bytes, each of at most ``most`` pre-tokens."""
    table: Counter[bytes] = Counter()
    for pretoken, times in pairs:
        if pretoken not in table and len(table) == most:
            yield sorted(table.items())
            table.clear()
        table[pretoken] += times
    yield sorted(table.items())


def merged(runs: Iterable[list[Pair]], most: int) -> list[Pair]:
    """The pairs of all runs in canonical order: added up in order of bytes, sorted again in runs by count, merged."""
    by_bytes = heapq.merge(*runs)
    added = (
        (pretoken, sum(times for _, times in group)) for pretoken, group in groupby(by_bytes, lambda pair: pair[0])
    )
    order: Callable[[Pair], tuple[int, bytes]] = lambda pair: (-pair[1], pair[0])  # noqa: E731
    by_count = []
    while taken := list(islice(added, most)):
        by_count.append(sorted(taken, key=order))
    return list(heapq.merge(*by_count, key=order))
