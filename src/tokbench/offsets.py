"""Where tokens stand in a text: tokens are its own bytes laid end to end, so that ids and their lengths say it all."""

import numpy as np
from numpy.typing import NDArray

CONTINUES = 0x80
"""The two high bits of a byte that goes on with a character, in UTF-8; any other begins one."""


def character_spans(text: str, borders: NDArray[np.int64]) -> NDArray[np.int64]:
    """From byte borders to characters: int64 [tokens, 2], where each token starts and ends.

    A token that begins or ends inside a character spans that character as a whole, as with the byte-level tokenizers of
    ``tokenizers``; several tokens of one character have the same span.

    Args:
        text: what was encoded.
        borders: int64 [tokens + 1], where each token starts in the text's UTF-8 bytes; the last entry is their number.
    """
    data = np.frombuffer(text.encode("utf-8", "surrogatepass"), np.uint8)
    if len(data) == len(text):
        return np.stack([borders[:-1], borders[1:]], axis=1)
    begun = np.zeros(len(data) + 1, np.int64)
    np.cumsum((data & 0xC0) != CONTINUES, out=begun[1:])
    return np.stack([begun[borders[:-1] + 1] - 1, begun[borders[1:]]], axis=1)


def before(text: bytes, size: int) -> bytes:
    """The first bytes of a text, ``size`` or a few less, so that no character of UTF-8 is cut; all of a shorter one."""
    end = size
    while max(0, size - 3) < end < len(text) and text[end] & 0xC0 == CONTINUES:
        end -= 1
    return text[:size] if size < len(text) and text[end] & 0xC0 == CONTINUES else text[:end]
