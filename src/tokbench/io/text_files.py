"""Reader of text files, plain or compressed, in bounded memory."""

import io
import itertools
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.io.compression import (
    HEAD,
    check_regular,
    compression_named,
    compression_of,
    decompressed,
    has_ending,
    reject_archive,
)

MOST = 1 << 31
"""Maximum bytes of a line, or of a file that is read at once, after decompression. A few kilobytes can decompress to
any number of bytes. Files that are not compressed have no such limit."""
PIECE = 1 << 20
Convert = Callable[[io.BufferedReader], io.BufferedReader]
"""Function that converts an open file, see :func:`tokbench.io.encodings.as_utf8`."""


def bytes_of(file: io.BufferedReader) -> io.BufferedReader:
    """Return a file unchanged."""
    return file


def is_packed(file: io.BufferedReader) -> bool:
    """Return whether an open file is decompressed while it is read."""
    return not isinstance(file.raw, io.FileIO)


@contextmanager
def opened(path: Path, remedy: str) -> Iterator[io.BufferedReader]:
    """Return a context with a file open for reading bytes, decompressed if its first bytes are those of a compression.

    Raises:
        TokbenchError: the file cannot be read or is an archive; its compressed data are damaged, cut off, compressed
            twice or need too much memory; or its name implies a compression that it does not have.
    """
    with failures(path, remedy), ExitStack() as stack:
        check_regular(path)
        file = stack.enter_context(path.open("rb"))
        head = file.peek(HEAD)[:HEAD]
        compression, named = compression_of(head), compression_named(path.name)
        if compression is None:
            if named:
                why = f"{named} by its name, but not by its first bytes"
                raise TokbenchError(f"{path}: cannot be read ({why}); rename it, or {remedy}")
            reject_archive(head, str(path))
        else:
            file = stack.enter_context(decompressed(file, compression))
            reject_archive(file.peek(HEAD)[:HEAD], str(path), compression)
        yield file


@contextmanager
def failures(place: Path | str, remedy: str) -> Iterator[None]:
    """Convert errors of reading within the block to one line.

    Raises:
        TokbenchError: a file cannot be read.
    """
    try:
        yield
    except _failures() as error:
        raise TokbenchError(f"{place}: cannot be read ({first_line(error)}); {remedy}") from None


def is_parquet(path: Path | str) -> bool:
    """Return whether a file is Parquet, by its ending (in any case) or by its first bytes."""
    if has_ending(Path(path).name, (".parquet",)):
        return True
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # The reader reports the error.


def size_of(path: Path, remedy: str) -> int:
    """Return the bytes of a file after decompression. A compressed file is read completely.

    Raises:
        TokbenchError: the file cannot be read, or its compressed data are damaged or cut off.
    """
    with opened(path, remedy) as file:
        if is_packed(file):
            return sum(map(len, iter(lambda: file.read(PIECE), b"")))
        return file.seek(0, os.SEEK_END)


def _failures() -> tuple[type[Exception], ...]:
    """Return the exceptions of reading, including those of Arrow if it was imported to read zstd."""
    arrow = sys.modules.get("pyarrow")
    return (OSError, EOFError, zlib.error, lzma.LZMAError, *([arrow.ArrowException] if arrow else []))


def read_lines(path: Path, remedy: str, text: Convert = bytes_of) -> Iterator[bytes]:
    """Yield the lines of a file with their ends. No reference to a line is kept.

    Args:
        path: the file.
        remedy: remedy in messages if the file cannot be read.
        text: function that converts the open file to UTF-8 (default: no conversion).

    Raises:
        TokbenchError: see :func:`opened`; or a line is longer than 2 GiB in a compressed file.
    """
    with opened(path, remedy) as file:
        packed, lines = is_packed(file), text(file)
        if not packed:
            yield from lines
            return
        numbers = itertools.count(1)

        def line() -> bytes:
            number, data = next(numbers), lines.readline(MOST + 1)
            if len(data) > MOST:
                raise TokbenchError(f"{path}:{number}: a line of more than {MOST:,} bytes once decompressed; {remedy}")
            return data

        yield from iter(line, b"")


def read_bytes(path: Path, remedy: str, text: Convert = bytes_of) -> bytes:
    """Read all bytes of a file.

    Args:
        path: the file.
        remedy: remedy in messages if the file cannot be read.
        text: function that converts the open file to UTF-8 (default: no conversion).

    Raises:
        TokbenchError: see :func:`opened`; or the file has more than 2 GiB after decompression.
    """
    with opened(path, remedy) as file:
        packed, source = is_packed(file), text(file)
        if source is file and not packed:
            return file.read()
        whole = io.BytesIO()
        while piece := source.read(PIECE):
            whole.write(piece)
            if packed and whole.tell() > MOST:
                raise TokbenchError(f"{path}: more than {MOST:,} bytes once decompressed; decompress it first")
        return whole.getvalue()  # BytesIO shares its buffer, so this is not a copy.


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, with unprintable characters replaced by ``?``."""
    lines = str(error).splitlines() or [type(error).__name__]
    return "".join(letter if letter.isprintable() else "?" for letter in lines[0])
