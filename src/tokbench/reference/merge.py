"""Plain-Python reference of segmentation by merging."""

from collections.abc import Sequence
from itertools import pairwise


def merge(text: bytes, merges: Sequence[tuple[int, int, int]]) -> list[int]:
    """Join the leftmost pair of the lowest rank until none is left."""
    ranks: dict[tuple[int, int], int] = {}
    for rank, (left, right, _) in enumerate(merges):
        ranks.setdefault((left, right), rank)
    ids = list(text)
    while found := [(ranks[pair], i) for i, pair in enumerate(pairwise(ids)) if pair in ranks]:
        rank, i = min(found)
        ids[i : i + 2] = [merges[rank][2]]
    return ids
