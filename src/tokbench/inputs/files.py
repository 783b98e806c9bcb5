"""Files of text from outside: plain, gzip or zstd, read in bounded memory."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokbench.errors import TokbenchError

GZIP, ZSTD = (".gz",), (".zst", ".zstd")
MOST = 1 << 31
"""Bytes that one line, or one file that is read whole, may have once it is decompressed: a few kilobytes can be made to
yield any number of them. Files that are not compressed are as large as they look, and have no such limit."""
PIECE = 1 << 20


def open_bytes(path: Path, suffix: str | None = None) -> io.BufferedIOBase:
    """Open a file for reading bytes, through gzip or zstd where its name ends so; a truncated file is an error.

    Args:
        path: the file.
        suffix: the end of its name, where another than its own counts.
    """
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


def _failures() -> tuple[type[Exception], ...]:
    """What reading raises; Arrow's own where Arrow has been imported, to read zstd."""
    arrow = sys.modules.get("pyarrow")
    return (OSError, EOFError, zlib.error, *([arrow.ArrowException] if arrow else []))


def read_lines(path: Path, remedy: str) -> Iterator[bytes]:
    """The lines of a file with their ends, one at a time.

    Raises:
        TokbenchError: see :func:`opened`, or a line of a compressed file is longer than :data:`MOST`.
    """
    with opened(path, remedy) as file:
        if path.suffix not in GZIP + ZSTD:
            yield from file
            return
        for number, line in enumerate(iter(lambda: file.readline(MOST + 1), b""), 1):
            if len(line) > MOST:
                raise TokbenchError(f"{path}:{number}: a line of more than {MOST:,} bytes once decompressed; {remedy}")
            yield line


def read_whole(path: Path, remedy: str, suffix: str | None = None) -> bytes:
    """All bytes of a file.

    Raises:
        TokbenchError: see :func:`opened`, or a compressed file has more than :data:`MOST` bytes.
    """
    with opened(path, remedy, suffix) as file:
        if (path.suffix if suffix is None else suffix) not in GZIP + ZSTD:
            return file.read()
        pieces, size = [], 0
        while piece := file.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > MOST:
                raise TokbenchError(f"{path}: more than {MOST:,} bytes once decompressed; decompress it first")
        return b"".join(pieces)


def first_line(error: BaseException) -> str:
    """What an error says, in one line that a terminal can show."""
    lines = str(error).splitlines() or [type(error).__name__]
    return "".join(letter if letter.isprintable() else "?" for letter in lines[0])
