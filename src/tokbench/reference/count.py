"""Counts of pre-tokens by dictionary, in canonical order: count descending, bytes ascending."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from tokbench.reference import scan


def count(documents: Iterable[bytes], pattern: str | Sequence[str] | None) -> list[tuple[bytes, int]]:
    counts = Counter(text[start:end] for text in documents for start, end in pairwise(scan.boundaries(pattern, text)))
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
