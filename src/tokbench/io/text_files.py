"""Files of text from outside: plain or compressed, opened by one function and read in bounded memory."""

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
    has_kind,
    reject_archive,
)
from tokbench.runtime.memory_limit import DocumentLimit

MOST = 1 << 31
"""Bytes that one line, or one file that is read whole, may have once it is decompressed: a few kilobytes can be made to
yield any number of them. Files that are not compressed are as large as they look, and have no such limit."""
PIECE = 1 << 20
Convert = Callable[[io.BufferedReader], io.BufferedReader]
"""Converts an open file, see :func:`tokbench.io.encodings.as_utf8`."""


def bytes_of(file: io.BufferedReader) -> io.BufferedReader:
    """Return a file as it is."""
    return file


def is_packed(file: io.BufferedReader) -> bool:
    """Return whether an open file is decompressed while it is read."""
    return not isinstance(file.raw, io.FileIO)


@contextmanager
def opened(path: Path, remedy: str) -> Iterator[io.BufferedReader]:
    """A file open for reading bytes, decompressed where its first bytes are those of a compression.

    Raises:
        TokbenchError: the file cannot be read; its compressed data are damaged, cut short, compressed twice or need too
            much memory; its name means a compression that its bytes do not have; or it is an archive.
    """
    with failures(path, remedy), ExitStack() as stack:
        check_regular(path)
        file = stack.enter_context(path.open("rb"))
        head = file.peek(HEAD)[:HEAD]
        compression, named = compression_of(head), compression_named(path.name)
        if compression is None:
            if named:
                why = f"{named} by its name, and not by its first bytes"
                raise TokbenchError(f"{path}: cannot be read ({why}); rename it, or {remedy}")
            reject_archive(head, str(path))
        else:
            file = stack.enter_context(decompressed(file, compression, head, str(path)))
            reject_archive(file.peek(HEAD)[:HEAD], str(path), compression)
        yield file


@contextmanager
def failures(place: Path | str, remedy: str) -> Iterator[None]:
    """Report in one line what goes wrong with reading within the block.

    Raises:
        TokbenchError: a file cannot be read.
    """
    try:
        yield
    except _failures() as error:
        raise TokbenchError(f"{place}: cannot be read ({first_line(error)}); {remedy}") from None


def is_parquet(path: Path | str) -> bool:
    """Return whether a file is Parquet: by its ending, in any case of letters, or by its first bytes."""
    if has_kind(Path(path).name, "parquet"):
        return True
    try:
        with Path(path).open("rb") as file:
            return file.read(4) == b"PAR1"
    except OSError:
        return False  # What reads it says what is wrong.


def size_of(path: Path, remedy: str) -> int:
    """Bytes of a file once it is decompressed, for which a compressed one is read through.

    Raises:
        TokbenchError: the file cannot be read, or its compressed data are damaged or cut short.
    """
    with opened(path, remedy) as file:
        if is_packed(file):
            return sum(map(len, iter(lambda: file.read(PIECE), b"")))
        return file.seek(0, os.SEEK_END)


def _failures() -> tuple[type[Exception], ...]:
    """What reading raises; Arrow's own where Arrow has been imported, to read zstd."""
    arrow = sys.modules.get("pyarrow")
    return (OSError, EOFError, zlib.error, lzma.LZMAError, *([arrow.ArrowException] if arrow else []))


def read_lines(
    path: Path, remedy: str, largest: DocumentLimit | None = None, text: Convert = bytes_of
) -> Iterator[bytes]:
    """The lines of a file with their ends, one at a time; none is kept while the caller has it.

    Args:
        path: the file.
        remedy: what to do where it cannot be read.
        largest: the longest line that is taken; any where left out.
        text: converts the open file to UTF-8; without it the bytes stay as they are.

    Raises:
        TokbenchError: see :func:`opened`, or a line is longer than ``largest``, or than :data:`MOST` in a compressed
            file.
    """
    with opened(path, remedy) as file:
        packed, lines = is_packed(file), text(file)
        if not packed and (largest is None or os.fstat(file.fileno()).st_size <= largest.size):
            yield from lines
            return
        most = min(MOST if packed else sys.maxsize - 1, largest.size if largest else MOST)
        numbers = itertools.count(1)

        def line() -> bytes:
            number, data = next(numbers), lines.readline(most + 1)
            if len(data) > most:
                if largest is not None:
                    largest.check(f"{path}:{number}", len(data), more=not data.endswith(b"\n"))
                raise TokbenchError(f"{path}:{number}: a line of more than {MOST:,} bytes once decompressed; {remedy}")
            return data

        yield from iter(line, b"")


def read_whole(path: Path, remedy: str, largest: DocumentLimit | None = None, text: Convert = bytes_of) -> bytes:
    """All bytes of a file.

    Args:
        path: the file.
        remedy: what to do where it cannot be read.
        largest: the longest text that is taken; any where left out.
        text: as in :func:`read_lines`.

    Raises:
        TokbenchError: see :func:`opened`, or the file has more bytes than ``largest``, or, compressed, than
            :data:`MOST`.
    """
    with opened(path, remedy) as file:
        packed, source = is_packed(file), text(file)
        if not packed and largest is not None:
            largest.check(str(path), os.fstat(file.fileno()).st_size)
        if source is file and not packed:
            return file.read()
        whole = io.BytesIO()
        while piece := source.read(PIECE):
            whole.write(piece)
            if largest is not None:
                largest.check(str(path), whole.tell(), more=True)
            if packed and whole.tell() > MOST:
                raise TokbenchError(f"{path}: more than {MOST:,} bytes once decompressed; decompress it first")
        return whole.getvalue()  # It hands on the bytes that it holds.


def first_line(error: BaseException) -> str:
    """What an error says, in one line that a terminal can show."""
    lines = str(error).splitlines() or [type(error).__name__]
    return "".join(letter if letter.isprintable() else "?" for letter in lines[0])
