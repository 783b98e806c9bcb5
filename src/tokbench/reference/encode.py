"""Plain-Python reference of the encoder: cut a text by its pre-tokenization, then each pre-token by itself."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from tokbench.reference import scan


def encode(pattern: str | Sequence[str] | None, text: bytes, cut: Callable[[bytes], list[int]]) -> list[int]:
    """The ids of each pre-token in turn."""
    return [index for start, end in pairwise(scan.boundaries(pattern, text)) for index in cut(text[start:end])]
