"""Segmentation by a history of merges and removals, and by its merges alone with the removals afterwards."""

from collections.abc import Collection, Sequence
from itertools import pairwise

from tokbench.reference.greedy import greedy

Event = tuple[bool, tuple[bytes, ...]]


def cut_by(alphabet: Collection[bytes], text: bytes) -> list[bytes]:
    """The symbols of a text, the longest from the left each time."""
    ids = {token: index for index, token in enumerate(alphabet)}
    tokens = list(alphabet)
    return [tokens[index] for index in greedy(text, ids, ids)]


def replace(cut: list[bytes], old: tuple[bytes, ...], new: tuple[bytes, ...]) -> list[bytes]:
    """Put ``new`` wherever ``old`` stands, from left to right."""
    done: list[bytes] = []
    while cut:
        found = tuple(cut[: len(old)]) == old
        done += new if found else cut[:1]
        cut = cut[len(old) if found else 1 :]
    return done


def by_events(
    text: bytes, tokens: Collection[bytes], alphabet: Collection[bytes], events: Sequence[Event]
) -> list[bytes]:
    """Do every event in its order wherever it applies."""
    if text in tokens:
        return [text]
    cut = cut_by(alphabet, text)
    for split, parts in events:
        whole = (b"".join(parts),)
        cut = replace(cut, whole, parts) if split else replace(cut, parts, whole)
    return cut


def post_removal(
    text: bytes, tokens: Collection[bytes], alphabet: Collection[bytes], events: Sequence[Event]
) -> list[bytes]:
    """Join the leftmost pair of the earliest merge until none is left, then split by the last removals."""
    cut = cut_by(alphabet, text)
    ranks: dict[tuple[bytes, ...], int] = {}
    for rank, (split, parts) in enumerate(events):
        if not split:
            ranks.setdefault(parts, rank)
    while found := [(ranks[pair], i) for i, pair in enumerate(pairwise(cut)) if pair in ranks]:
        i = min(found)[1]
        cut[i : i + 2] = [cut[i] + cut[i + 1]]
    removals = {b"".join(parts): parts for split, parts in events if split}
    while removed := [i for i, token in enumerate(cut) if token not in tokens]:
        cut[removed[0] : removed[0] + 1] = removals[cut[removed[0]]]
    return cut
