"""Heads of Parquet's pages: what one says of its page's length is held against the file before Arrow believes it.

Arrow takes memory for a page as soon as it has read the head, up to 2 GiB, and finds only then that the file has less.
Heads are structs of Thrift's compact protocol (parquet-format, ``PageHeader``), whose field 3 is the bytes of the page
as it lies in the file.
"""

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

HEAD = 1 << 12
"""Bytes that are read of a head; one of longer statistics is left to Arrow."""
COMPRESSED = 3
"""Number of the field with the bytes of the page as it lies in the file."""
NUMBERS = (4, 5, 6)
"""Kinds of field that hold a whole number."""
DEEPEST = 8


class Head(NamedTuple):
    """A page's head.

    Attributes:
        length: bytes of the head itself.
        page: bytes of the page after it.
    """

    length: int
    page: int


def page_head(data: bytes) -> Head | None:
    """The head that some bytes begin with; None where they begin with none, or hold it in part."""
    try:
        length, numbers = _struct(data, 0, 0)
    except (IndexError, ValueError):
        return None
    page = numbers.get(COMPRESSED, -1)
    return Head(length, page) if page >= 0 else None


def ends_of_pages(file: BinaryIO, start: int, end: int) -> Iterator[int]:
    """Where each page of a column ends by its head; ends early at a head that cannot be read.

    Args:
        file: opened for reading.
        start: of the column's first page.
        end: of the column.
    """
    while start < end:
        file.seek(start)
        head = page_head(file.read(HEAD))
        if head is None:
            return
        start += head.length + head.page
        yield start


def _struct(data: bytes, at: int, depth: int) -> tuple[int, dict[int, int]]:
    """Where a struct ends, and those of its fields that are numbers."""
    if depth > DEEPEST:
        raise ValueError
    numbers: dict[int, int] = {}
    field = 0
    while kind := data[at] & 15:
        field, at = (field + (data[at] >> 4), at + 1) if data[at] >> 4 else _number(data, at + 1)
        if kind in NUMBERS:
            numbers[field], at = _number(data, at)
        elif kind > 2:  # A truth value is told by the kind.
            at = _after(data, at, kind, depth)
    return at + 1, numbers


def _after(data: bytes, at: int, kind: int, depth: int) -> int:
    """Where a value ends that is neither a number nor a truth value."""
    match kind:
        case 3:
            return at + 1
        case 7:
            return at + 8
        case 8:
            length, at = _varint(data, at)
            return at + length
        case 12:
            return _struct(data, at, depth + 1)[0]
    raise ValueError  # Lists and maps: no head has any.


def _number(data: bytes, at: int) -> tuple[int, int]:
    value, at = _varint(data, at)
    return (value >> 1) ^ -(value & 1), at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 128 and shift < 63:
        value |= (data[at] & 127) << shift
        at, shift = at + 1, shift + 7
    return value | (data[at] & 127) << shift, at + 1
