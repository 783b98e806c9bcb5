"""Files of text from outside: plain, gzip or zstd, read in bounded memory."""

import gzip
import io
import itertools
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokbench.allowance import Largest
from tokbench.errors import TokbenchError
from tokbench.inputs.regular import check_regular

GZIP, ZSTD = (".gz",), (".zst", ".zstd")
MOST = 1 << 31
"""Bytes that one line, or one file that is read whole, may have once it is decompressed: a few kilobytes can be made to
yield any number of them. Files that are not compressed are as large as they look, and have no such limit."""
PIECE = 1 << 20


def is_packed(path: Path) -> bool:
    """Whether a file is decompressed while it is read, by its name."""
    return path.suffix in GZIP + ZSTD


def open_bytes(path: Path, suffix: str | None = None) -> io.BufferedIOBase:
    """Open a file for reading bytes, through gzip or zstd where its name ends so; a truncated file is an error.

    Args:
        path: the file.
        suffix: the end of its name, where another than its own counts.

    Raises:
        TokbenchError: The path is a pipe, a socket or a device.
    """
    check_regular(path)
    suffix = path.suffix if suffix is None else suffix
    if suffix in GZIP:
        return gzip.open(path, "rb")
    if suffix in ZSTD:
        import pyarrow as pa

        return io.BufferedReader(pa.input_stream(path, compression="zstd"))
    return path.open("rb")


@contextmanager
def opened(path: Path, remedy: str, suffix: str | None = None) -> Iterator[io.BufferedIOBase]:
    """A file open for reading bytes, see :func:`open_bytes`; what goes wrong within the block is told in one line.

    Raises:
        TokbenchError: the file cannot be read, or its compressed data are damaged or cut short.
    """
    try:
        with open_bytes(path, suffix) as file:
            yield file
    except _failures() as error:
        raise TokbenchError(f"{path}: cannot be read ({first_line(error)}); {remedy}") from None


def size_of(path: Path, remedy: str) -> int:
    """Bytes of a file once it is decompressed, for which a compressed one is read through.

    Raises:
        TokbenchError: the file cannot be read, or its compressed data are damaged or cut short.
    """
    with opened(path, remedy) as file:
        if is_packed(path):
            return sum(map(len, iter(lambda: file.read(PIECE), b"")))
        return file.seek(0, os.SEEK_END)


def _failures() -> tuple[type[Exception], ...]:
    """What reading raises; Arrow's own where Arrow has been imported, to read zstd."""
    arrow = sys.modules.get("pyarrow")
    return (OSError, EOFError, zlib.error, *([arrow.ArrowException] if arrow else []))


def read_lines(path: Path, remedy: str, largest: Largest | None = None) -> Iterator[bytes]:
    """The lines of a file with their ends, one at a time; none is kept while the caller has it.

    Args:
        path: the file.
        remedy: what to do where it cannot be read.
        largest: the longest line that is taken; any where left out.

    Raises:
        TokbenchError: see :func:`opened`, or a line is longer than ``largest``, or than :data:`MOST` in a compressed
            file.
    """
    with opened(path, remedy) as file:
        packed = is_packed(path)
        if not packed and (largest is None or os.fstat(file.fileno()).st_size <= largest.size):
            yield from file
            return
        most = min(MOST if packed else sys.maxsize - 1, largest.size if largest else MOST)
        numbers = itertools.count(1)

        def line() -> bytes:
            number, data = next(numbers), file.readline(most + 1)
            if len(data) > most:
                if largest is not None:
                    largest.check(f"{path}:{number}", len(data), more=not data.endswith(b"\n"))
                raise TokbenchError(f"{path}:{number}: a line of more than {MOST:,} bytes once decompressed; {remedy}")
            return data

        yield from iter(line, b"")


def read_whole(path: Path, remedy: str, suffix: str | None = None, largest: Largest | None = None) -> bytes:
    """All bytes of a file.

    Args:
        path: the file.
        remedy: what to do where it cannot be read.
        suffix: see :func:`open_bytes`.
        largest: the longest text that is taken; any where left out.

    Raises:
        TokbenchError: see :func:`opened`, or the file has more bytes than ``largest``, or, compressed, than
            :data:`MOST`.
    """
    with opened(path, remedy, suffix) as file:
        if (path.suffix if suffix is None else suffix) not in GZIP + ZSTD:
            if largest is not None:
                largest.check(str(path), os.fstat(file.fileno()).st_size)
            return file.read()
        whole = io.BytesIO()
        while piece := file.read(PIECE):
            whole.write(piece)
            if largest is not None:
                largest.check(str(path), whole.tell(), more=True)
            if whole.tell() > MOST:
                raise TokbenchError(f"{path}: more than {MOST:,} bytes once decompressed; decompress it first")
        return whole.getvalue()  # It hands on the bytes that it holds.


def first_line(error: BaseException) -> str:
    """What an error says, in one line that a terminal can show."""
    lines = str(error).splitlines() or [type(error).__name__]
    return "".join(letter if letter.isprintable() else "?" for letter in lines[0])
