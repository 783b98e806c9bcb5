"""Long strings of JSON: they are decoded a piece at a time, into bytes.

Python's parser keeps a string as text, whose letters need one, two or four bytes each by the widest of them, in
addition to the line. A string that is a book would need several times its size.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

LONG = 1 << 20
"""Bytes of a line, or of a string in it, that is long."""
PIECE = 1 << 18
"""Bytes of a string that are decoded at a time, about."""
LOOK_BACK = 1 << 12
"""Bytes in which a blank is looked for before a piece's end."""
LETTERS = re.compile(
    rb"(?:\\u[dD][89abAB]..(?:\\u[dD][c-fC-F]..)?+|\\u....|\\.|[\x00-\x5b\x5d-\x7f]|[\x80-\xff][\x80-\xbf]*+){1,%d}+"
    % (PIECE >> 4),
    re.DOTALL,
)
"""Whole letters and escapes, halves of a surrogate pair together; a first half before another stands alone."""


def value_of(line: bytes, start: int, end: int) -> bytes:
    """Return the value of a string, encoded as UTF-8 (halves of surrogate pairs as their three bytes).

    Args:
        line: text of JSON in which it is a valid string.
        start: its first byte behind the quote.
        end: its closing quote.
    """
    if line.find(b"\\", start, end) < 0:
        return line[start:end]
    if end - start <= PIECE:
        return _value(line[start:end])
    whole = io.BytesIO()
    for first, last in _pieces(line, start, end):
        whole.write(_value(line[first:last]))
    return whole.getvalue()


class Decoder:
    """Decodes a string that comes in blocks, a piece at a time, as in :func:`value_of`."""

    def __init__(self) -> None:
        self._held = b""

    def add(self, block: bytes) -> Iterator[bytes]:
        """Return the pieces that are whole with the next block of what is between the quotes.

        Raises:
            ValueError: it is not a string of JSON, or not UTF-8.
        """
        self._held += block
        *whole, (start, _) = _pieces(self._held, 0, len(self._held))
        for first, last in whole:
            yield _value(self._held[first:last])
        self._held = self._held[start:]

    def end(self) -> bytes:
        """Return the last piece.

        Raises:
            ValueError: as for :meth:`add`.
        """
        return _value(self._held)


def decoded(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Decode a string that comes in blocks, see :class:`Decoder`.

    Raises:
        ValueError: it is not a string of JSON, or not UTF-8.
    """
    decoder = Decoder()
    for block in blocks:
        yield from decoder.add(block)
    yield decoder.end()


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
