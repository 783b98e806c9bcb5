"""Plain-Python reference of segmentation by a partition cover."""

from collections.abc import Sequence
from itertools import pairwise


def cover(text: bytes, tokens: Sequence[bytes]) -> list[bytes]:
    """Sort all matches by (rank, start) and clear the cuts inside each whose two ends are cut."""
    matches = sorted(
        (rank, start, start + len(token))
        for rank, token in enumerate(tokens)
        for start in range(len(text))
        if text.startswith(token, start)
    )
    cuts = set(range(len(text) + 1))
    for _, start, end in matches:
        if {start, end} <= cuts:
            cuts -= set(range(start + 1, end))
    return [text[start:end] for start, end in pairwise(sorted(cuts))]
