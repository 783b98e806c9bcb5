"""Messages of protocol buffers, field by field, as far as a SentencePiece model needs them.

Source: the wire format in the documentation of protocol buffers.
"""

from collections.abc import Iterator
from typing import NamedTuple

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


class Field(NamedTuple):
    """A field of a message.

    Attributes:
        number: which field it is.
        kind: how it is written.
        start: where its content starts in the message.
        end: where that ends.
        value: the number of a varint, else 0.
    """

    number: int
    kind: int
    start: int
    end: int
    value: int


def fields(message: bytes, start: int = 0, end: int | None = None) -> Iterator[Field]:
    """The fields of a message, or of the part of one.

    Raises:
        ValueError: it is cut short, or no message.
    """
    end = len(message) if end is None else end
    while start < end:
        key, start = _varint(message, start, end)
        number, kind = key >> 3, key & 7
        value, length = 0, 0
        if kind == VARINT:
            value, after = _varint(message, start, end)
            length = after - start
        elif kind == BYTES:
            length, start = _varint(message, start, end)
        elif kind in (FIXED64, FIXED32):
            length = 8 if kind == FIXED64 else 4
        else:
            raise ValueError(f"a field of kind {kind}")
        if not number or start + length > end:
            raise ValueError("a field that goes beyond the end")
        yield Field(number, kind, start, start + length, value)
        start += length


def _varint(message: bytes, start: int, end: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if start >= end:
            break
        byte = message[start]
        start += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, start
    raise ValueError("a number that is cut short")
