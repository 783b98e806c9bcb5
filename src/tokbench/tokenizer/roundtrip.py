"""Comparison of a text with its decoded ids, and conversion of bytes for other libraries."""

from tokbench.tokenizer.encoder import as_bytes

WINDOW = 64
"""Maximum number of bytes after a difference within which two texts must agree again."""
ANCHOR = 8
"""Number of bytes that must be equal for them to agree again; fewer for near places."""


def readable(text: bytes | str) -> str:
    """Return a text as ``str`` for other libraries; bytes that are not UTF-8 become U+FFFD."""
    return as_bytes(text).decode("utf-8", "replace")


def bytes_lost(text: bytes, decoded: bytes) -> int:
    """Return an upper bound on the bytes of a text that are not found, in order, in its decoded ids.

    Both are read in parallel. After a difference they agree again at the nearest place within :data:`WINDOW` bytes at
    which some bytes, up to :data:`ANCHOR`, are equal. The bytes of the text before that place are lost; without such a
    place one byte is.
    """
    i = j = lost = 0
    while i < len(text):
        same = common_bytes(text, i, decoded, j)
        i, j = i + same, j + same
        if i == len(text):
            break
        if j == len(decoded):
            return lost + len(text) - i
        step = _steps_to_agreement(text, i, decoded, j)
        lost += step[0]
        i, j = i + step[0], j + step[1]
    return lost


def common_bytes(text: bytes, i: int, decoded: bytes, j: int) -> int:
    """Return the number of equal bytes from two places on; long stretches are compared at once."""
    same, stretch = 0, 1 << 12
    while stretch:
        a = text[i + same : i + same + stretch]
        if len(a) == stretch and a == decoded[j + same : j + same + stretch]:
            same += stretch
        else:
            stretch //= 2
    return same


def _steps_to_agreement(text: bytes, i: int, decoded: bytes, j: int) -> tuple[int, int]:
    """Return the steps in both texts until they agree again, with the smallest sum; (1, 1) if they do not."""
    for total in range(1, 2 * WINDOW):
        equal = max(2, min(ANCHOR, (total + 1) // 2))
        for ahead in range(max(0, total - WINDOW), min(total, WINDOW) + 1):
            a, b = i + ahead, j + total - ahead
            anchor = text[a : a + equal]
            if anchor == decoded[b : b + equal] and (len(anchor) == equal or a + len(anchor) == len(text)):
                return ahead, total - ahead
    return 1, 1
