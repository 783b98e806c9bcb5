"""Lists of merges of two or more parts, and texts of their letters."""

from hypothesis import strategies as st

from tokbench.candidates.merge_lists import Parts
from tokbench.vocabulary import BYTES, Vocabulary

texts = st.one_of(st.text("ab", min_size=1, max_size=14), st.text("abc é", min_size=1, max_size=9)).map(str.encode)
places = st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=4), max_size=8)
"""Merges of two to four parts, as places among a, b, c and the results of earlier merges."""


def merges_of(rows: list[list[int]]) -> list[Parts]:
    symbols = [b"a", b"b", b"c"]
    merges: list[Parts] = []
    for row in rows:
        parts = tuple(symbols[place % len(symbols)] for place in row)
        token = b"".join(parts)
        if len(token) < 40 and token not in symbols:
            merges.append(parts)
            symbols.append(token)
    return merges


def vocabulary_of(merges: list[Parts]) -> Vocabulary:
    tokens = tuple(b"".join(parts) for parts in merges)
    return Vocabulary(BYTES + tokens, tuples=tuple(merges))
