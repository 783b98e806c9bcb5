"""Comparison of a text with its decoded ids, and conversion of bytes for other libraries."""

from tokbench.tokenizer.encoder import as_bytes


def readable(text: bytes | str) -> str:
    """Return a text as ``str`` for other libraries; bytes that are not UTF-8 become U+FFFD."""
    return as_bytes(text).decode("utf-8", "replace")


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
