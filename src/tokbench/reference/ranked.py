"""Plain-Python reference of segmentation by the rank of the joined token."""

from collections.abc import Mapping
from itertools import pairwise


def ranked(text: bytes, ids: Mapping[bytes, int]) -> list[int]:
    """Take a text that is a token whole; else join the leftmost neighbours that make the token of the lowest id."""
    if text in ids:
        return [ids[text]]
    tokens = [bytes([byte]) for byte in text]
    while found := [(ids[left + right], i) for i, (left, right) in enumerate(pairwise(tokens)) if left + right in ids]:
        _, i = min(found)
        tokens[i : i + 2] = [tokens[i] + tokens[i + 1]]
    return [ids[token] for token in tokens]
