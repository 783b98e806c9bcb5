"""Ids in files: decimal numbers between blanks or a NumPy array, read and written a piece at a time."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.inputs.arrays import MAGIC, read_header
from tokbench.kernels.ids import decimals, from_decimals

PIECE = 1 << 18
"""Ids of an array, or bytes of decimal numbers, that are held at once."""
LONGEST = 20
"""Bytes of a number."""


def read_ids(file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """The ids of a file, a piece at a time.

    Raises:
        TokbenchError: the file is neither decimal numbers nor an array of whole numbers.
    """
    try:
        head = file.read(len(MAGIC))
        yield from _array(file) if head == MAGIC else _decimals(head, file)
    except (ValueError, KeyError, OSError):
        raise TokbenchError(f"{file.name}: not a list of ids; make one with 'tokbench encode'") from None


def _array(file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """Pieces of a NumPy array, from its version on; nothing is ever unpickled, and no more is held than a piece."""
    length, kind = read_header(file)
    for start in range(0, length, PIECE):
        size = min(PIECE, length - start)
        piece = np.frombuffer(file.read(size * kind.itemsize), kind)
        if len(piece) < size:
            raise ValueError("truncated")
        if start + size == length and file.read(1):
            raise ValueError("longer than it says")
        yield piece


def _decimals(rest: bytes, file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """Pieces of a list of numbers that starts with ``rest``; they end where a number does."""
    while block := file.read(PIECE):
        text = rest + block
        cut = max(map(text.rfind, (b" ", b"\n", b"\r", b"\t"))) + 1
        yield from_decimals(text[:cut])
        rest = text[cut:]
        if len(rest) > LONGEST:
            raise ValueError("no number is so long")
    yield from_decimals(rest)


def write_decimals(encoded: Iterable[NDArray[np.int32]], target: BinaryIO) -> None:
    between = b""
    for ids in encoded:
        for first in range(0, len(ids), PIECE):
            target.write(between)
            target.write(decimals(ids[first : first + PIECE]))
            between = b" "
    target.write(b"\n")


def write_array(encoded: Iterable[NDArray[np.int32]], target: BinaryIO) -> None:
    """The file of ``numpy.save``; its header is of the same length whatever the number of ids."""
    header = {"shape": (0,), "fortran_order": False, "descr": "<i4"}
    np.lib.format.write_array_header_1_0(target, header)
    written = 0
    for ids in encoded:
        target.write(ids.astype("<i4", copy=False).data)
        written += len(ids)
    target.seek(0)
    np.lib.format.write_array_header_1_0(target, header | {"shape": (written,)})
