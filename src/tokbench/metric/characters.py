"""Characters of several bytes in UTF-8, and tokens that split them or cross their borders.

Bytes that are not valid UTF-8 are no part of a character of several bytes.
"""

import re

import numpy as np
from numpy.typing import NDArray

TAIL = rb"[\x80-\xbf]"
LONGER = re.compile(
    rb"[\xc2-\xdf]%b|\xe0[\xa0-\xbf]%b|[\xe1-\xec\xee\xef]%b{2}|\xed[\x80-\x9f]%b"
    rb"|\xf0[\x90-\xbf]%b{2}|[\xf1-\xf3]%b{3}|\xf4[\x80-\x8f]%b{2}" % ((TAIL,) * 7)
)
"""A character of several bytes in valid UTF-8 (Unicode, table 3-7)."""
WIDTHS = (2, 3, 4)


def is_utf8(text: bytes) -> bool:
    """Return True if a text is valid UTF-8."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def longer_characters(data: bytes, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return start and end of each character of several bytes within a pre-token, int64 [characters, 2]."""
    if is_utf8(data):
        leads = np.frombuffer(data, np.uint8)
        starts = np.flatnonzero(leads >= 0xC0)
        leads = leads[starts]
        spans = np.stack([starts, starts + 2 + (leads >= 0xE0) + (leads >= 0xF0)], axis=1)
    else:
        places = (place for match in LONGER.finditer(data) for place in match.span())
        spans = np.fromiter(places, np.int64).reshape(-1, 2)
    owner = np.searchsorted(offsets, spans[:, 0], "right")
    return spans[spans[:, 1] <= offsets[np.minimum(owner, len(offsets) - 1)]]


def split_characters(spans: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return True for characters within which a token starts, bool [characters].

    Args:
        spans: int64 [characters, 2], start and end of each character.
        starts: int64 [tokens], start of each token, in order.
    """
    return np.searchsorted(starts, spans[:, 1], "left") > np.searchsorted(starts, spans[:, 0], "right")


def by_width(spans: NDArray[np.int64], split: NDArray[np.bool_], weights: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Return the number of split characters and of all characters, of 2, 3 and 4 bytes.

    Args:
        spans: int64 [characters, 2], start and end of each character.
        split: bool [characters].
        weights: int64 [characters], occurrences of each character.
    """
    widths = spans[:, 1] - spans[:, 0]
    return [(int(weights[split & (widths == width)].sum()), int(weights[widths == width].sum())) for width in WIDTHS]


def crossing_tokens(
    spans: NDArray[np.int64], starts: NDArray[np.int64], ends: NDArray[np.int64], size: int
) -> NDArray[np.bool_]:
    """Return True for tokens of two bytes or more with bytes of two characters, one incomplete, bool [tokens].

    Args:
        spans: int64 [characters, 2], start and end of each character of several bytes.
        starts: int64 [tokens], start of each token.
        ends: int64 [tokens], end of each token.
        size: number of bytes.
    """
    inside = np.zeros(size + 1, np.bool_)  # True for all but the first byte of a character.
    for place in range(1, max(WIDTHS)):
        inside[spans[spans[:, 0] + place < spans[:, 1], 0] + place] = True
    begun = np.cumsum(~inside, dtype=np.int64)
    return (inside[starts] | inside[ends]) & (begun[ends - 1] > begun[starts])
