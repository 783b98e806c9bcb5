"""Bytes of a text that are not found, in order, in its decoded ids, place by place."""

WINDOW = 64
"""Maximum number of bytes after a difference within which two texts must agree again."""
ANCHOR = 8
"""Number of bytes that must be equal for them to agree again; fewer for near places."""


def bytes_lost(text: bytes, decoded: bytes) -> int:
    """Return an upper bound on the bytes of a text that are not found, in order, in its decoded ids.

    Both are read in parallel. After a difference they agree again at the nearest place within :data:`WINDOW` bytes at
    which some bytes, up to :data:`ANCHOR`, are equal. The bytes of the text before that place are lost; without such a
    place one byte is.

    >>> bytes_lost(b'The Cat', b'the cat')
    2
    """
    i = j = lost = 0
    while i < len(text):
        if j >= len(decoded):
            return lost + len(text) - i
        if text[i] == decoded[j]:
            i, j = i + 1, j + 1
            continue
        ahead, behind = steps_to_agreement(text[i:], decoded[j:])
        lost += ahead
        i, j = i + ahead, j + behind
    return lost


def steps_to_agreement(text: bytes, decoded: bytes) -> tuple[int, int]:
    """Return the steps in both texts until they agree again, with the smallest sum; (1, 1) if they do not."""
    for total in range(1, 2 * WINDOW):
        equal = max(2, min(ANCHOR, (total + 1) // 2))
        for ahead in range(max(0, total - WINDOW), min(total, WINDOW) + 1):
            behind = total - ahead
            anchor = text[ahead : ahead + equal]
            # Fewer bytes are enough at the end of both.
            ends = len(anchor) == equal or ahead + len(anchor) == len(text)
            if behind <= len(decoded) and ends and anchor == decoded[behind : behind + equal]:
                return ahead, behind
    return 1, 1
