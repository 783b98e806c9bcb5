"""Plain-Python reference of merging in which a token is taken whole."""

from collections.abc import Mapping, Sequence

from tokbench.reference.merge import merge


def whole_or_merge(text: bytes, ids: Mapping[bytes, int], merges: Sequence[tuple[int, int, int]]) -> list[int]:
    """Take a text that is a token whole, and merge any other."""
    return [ids[text]] if text in ids else merge(text, merges)
