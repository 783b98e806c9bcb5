"""Comparison of a text with its decoded ids, and conversion of bytes for other libraries."""

import numpy as np

from tokbench.tokenizer.encoder import as_bytes

WINDOW = 64
"""Maximum number of bytes after a difference within which two texts must agree again."""
ANCHOR = 8
"""Number of bytes that must be equal for them to agree again; fewer for near places."""
END = 256
"""Value after the last byte of a text."""
_AHEAD, _BEHIND = np.indices((WINDOW + 1, WINDOW + 1))
_TOTAL = _AHEAD + _BEHIND
_NEEDED = np.clip((_TOTAL + 1) // 2, 2, ANCHOR)
"""Equal bytes that places need, by the steps to them in both texts."""
_NEAREST = np.lexsort((_AHEAD.ravel(), _TOTAL.ravel()))[1:-1]
"""Pairs of steps from the smallest sum, without none and the largest."""


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
    """Return the steps in both texts until they agree again, with the smallest sum; (1, 1) if they do not.

    All pairs of steps are compared at once, because a text that is spelled otherwise has a difference in every word.
    """
    first, second = _window(text, i), _window(decoded, j)
    same = first[:, None] == second
    same[len(text) - i + 1 :] = False  # No place is after the end of the text.
    places = WINDOW + 1
    running = same[:places, :places].copy()
    equal = running.astype(np.int64)
    for further in range(1, ANCHOR):
        running &= first[further : places + further, None] == second[further : places + further]
        equal += running
    agreed = (equal >= _NEEDED).ravel()[_NEAREST]
    if not agreed.any():
        return 1, 1
    nearest = _NEAREST[int(agreed.argmax())]
    return int(nearest) // places, int(nearest) % places


def _window(text: bytes, start: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the bytes within the window of a place, and :data:`END` after the last byte of the text."""
    window = np.full(WINDOW + ANCHOR, END, dtype=np.int64)
    part = text[start : start + len(window)]
    window[: len(part)] = np.frombuffer(part, np.uint8)
    return window
