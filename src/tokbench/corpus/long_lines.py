"""Long lines of JSON: their long strings are decoded a piece at a time, into bytes.

Python's parser holds a line as text, whose letters take one, two or four bytes each by the widest of them, and the
strings in it beside that. A line that holds a book is cut first: what is long in it is decoded by itself, and the
rest, which is short, is parsed as any other line.
"""

import io
import json
import re
import secrets
from collections.abc import Iterable, Iterator
from typing import Any

LONG = 1 << 20
"""Bytes of a line, or of a string in it, that is long."""
PIECE = 1 << 18
"""Bytes of a string that are decoded at a time, about."""
LOOK_BACK = 1 << 12
"""Bytes in which a blank is looked for before a piece's end."""
STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
KEY = re.compile(rb"\s*:")
LETTERS = re.compile(
    rb"(?:\\u[dD][89abAB]..(?:\\u[dD][c-fC-F]..)?+|\\u....|\\.|[\x00-\x5b\x5d-\x7f]|[\x80-\xff][\x80-\xbf]*+){1,%d}+"
    % (PIECE >> 4),
    re.DOTALL,
)
"""Whole letters and escapes, halves of a surrogate pair together; a first half before another stands alone."""


def long_strings(line: bytes) -> tuple[bytes, dict[str, bytes]] | None:
    """A line without its long strings, and these.

    Args:
        line: one value of JSON.

    Returns:
        The line with a name in place of each long string, and the strings' values by these names, encoded as UTF-8
        (halves of surrogate pairs as their three bytes). None where the line is short, or a long string is a key or
        none of JSON.
    """
    if len(line) < LONG:
        return None
    rest: list[bytes] = []
    found: dict[str, bytes] = {}
    start = 0
    for string in STRING.finditer(line):
        first, last = string.span()
        if last - first < LONG:
            continue
        name = secrets.token_hex(16)  # No string of the line is the same.
        if KEY.match(line, last):
            return None
        try:
            found[name] = _decoded(line, first + 1, last - 1)
        except ValueError:
            return None
        rest += line[start:first], b'"', name.encode(), b'"'
        start = last
    rest.append(line[start:])
    return b"".join(rest), found


def decoded(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """The value of a string that comes in blocks, a piece at a time, encoded as UTF-8 as in :func:`long_strings`.

    Args:
        blocks: what stands between its quotes.

    Raises:
        ValueError: it is no string of JSON, or not UTF-8.
    """
    held = b""
    for block in blocks:
        held += block
        *whole, (start, _) = _pieces(held, 0, len(held))
        for first, last in whole:
            yield _value(held[first:last])
        held = held[start:]
    yield _value(held)


def _decoded(line: bytes, start: int, end: int) -> bytes:
    """The value of the string between two places."""
    whole = io.BytesIO()
    for first, last in _pieces(line, start, end):
        whole.write(_value(line[first:last]))
    return whole.getvalue()


def _value(piece: bytes) -> bytes:
    value: Any = json.loads('"' + piece.decode("utf-8", "surrogatepass") + '"')
    spelt: bytes = value.encode("utf-8", "surrogatepass")
    return spelt


def _pieces(line: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Places between which a string may be decoded by itself: no piece begins or ends within an escape or a letter."""
    while end - start > PIECE:
        last = start + PIECE
        blank = max(line.rfind(mark, last - LOOK_BACK, last) + len(mark) for mark in (b" ", rb"\n"))
        if blank <= last - LOOK_BACK:
            letters = LETTERS.match(line, start, end)
            if letters is None:
                raise ValueError("a lone backslash")
            blank = letters.end()
        yield start, blank
        start = blank
    yield start, end
