"""Files of token ids: decimal numbers between whitespace, or a NumPy array; read and written a piece at a time."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.arrays import MAGIC, read_header
from tokbench.kernels.ids import decimals, from_decimals

PIECE = 1 << 18
"""Maximum number of ids of an array, or bytes of decimal numbers, in memory at a time."""
LONGEST = 20
"""Maximum number of bytes of a decimal number."""


def read_ids(file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """Yield the ids of a file, a piece at a time.

    Raises:
        TokbenchError: the file contains neither decimal numbers nor an integer array.
    """
    try:
        head = file.read(len(MAGIC))
        yield from _array(file) if head == MAGIC else _decimals(head, file)
    except (ValueError, KeyError, OSError):
        raise TokbenchError(f"{file.name}: not a list of ids; make one with 'tokbench encode'") from None


def _array(file: BinaryIO) -> Iterator[NDArray[np.integer]]:
    """Yield pieces of a NumPy array, one in memory at a time; nothing is ever unpickled."""
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
    """Yield pieces of a list of numbers that starts with ``rest``; a piece never ends within a number."""
    while block := file.read(PIECE):
        text = rest + block
        cut = max(map(text.rfind, (b" ", b"\n", b"\r", b"\t"))) + 1
        yield from_decimals(text[:cut])
        rest = text[cut:]
        if len(rest) > LONGEST:
            raise ValueError("no number is so long")
    yield from_decimals(rest)


def write_decimals(encoded: "Iterable[NDArray[np.int32]]", target: BinaryIO) -> None:
    """Write ids as decimal numbers separated by spaces."""
    between = b""
    for ids in encoded:
        for first in range(0, len(ids), PIECE):
            target.write(between)
            target.write(decimals(ids[first : first + PIECE]))
            between = b" "
    target.write(b"\n")


def write_array(encoded: "Iterable[NDArray[np.int32]]", target: BinaryIO) -> None:
    """Write ids in the format of ``numpy.save``; the header's length does not depend on the number of ids."""
    header = {"shape": (0,), "fortran_order": False, "descr": "<i4"}
    np.lib.format.write_array_header_1_0(target, header)
    written = 0
    for ids in encoded:
        target.write(ids.astype("<i4", copy=False).data)
        written += len(ids)
    target.seek(0)
    np.lib.format.write_array_header_1_0(target, header | {"shape": (written,)})
