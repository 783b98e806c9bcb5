"""Plain-Python reference of the token trie."""

from collections.abc import Sequence


def held(tokens: Sequence[bytes], included: Sequence[bool] | None = None) -> dict[bytes, int]:
    """The tokens that a trie holds, with the lowest id of each."""
    ids: dict[bytes, int] = {}
    for index, token in enumerate(tokens):
        if included is None or included[index]:
            ids.setdefault(token, index)
    return ids


def prefixes(ids: dict[bytes, int], text: bytes) -> list[tuple[int, int]]:
    """The tokens that ``text`` starts with, as (length, id), shortest first."""
    return [(size, ids[text[:size]]) for size in range(1, len(text) + 1) if text[:size] in ids]


def nodes(ids: dict[bytes, int]) -> int:
    """Distinct prefixes of the tokens, the empty one included."""
    return len({token[:size] for token in ids for size in range(len(token) + 1)} | {b""})
