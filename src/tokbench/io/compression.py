"""Compressed files, detected by their first bytes and decompressed as a stream.

gzip, zstd, bzip2 and xz are supported. Archives and other compressions are detected and rejected.

Also the file endings of each compression, and the check that a path is a regular file: pipes, sockets
and devices are rejected before they are opened, since reading them may never end.
"""

import bz2
import gzip
import io
import lzma
import os
import re
import stat
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from tokbench.errors import TokbenchError

HEAD = 512
"""First bytes of a file, used to detect its format."""
BLOCK = 1 << 16
"""Bytes that are read or decompressed at a time."""
XZ_MEMORY = (1 << 27) + (1 << 20)
"""Maximum memory of an xz decoder in bytes: a dictionary of 128 MiB, as the window of zstd without ``--long``."""
MAGIC = {
    "gzip": rb"\x1f\x8b",
    "zstd": rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18",
    "bzip2": rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)",
    "xz": rb"\xfd7zXZ\x00",
}
"""First bytes of each supported compression."""
OTHER_FORMATS = {
    "a zip archive": rb"PK(?:\x03\x04|\x05\x06|\x07\x08)",
    "a tar archive": rb"[^\x00].{256}ustar",
    "a 7z archive": rb"7z\xbc\xaf\x27\x1c",
    "compressed by lz4": rb"\x04\x22\x4d\x18",
    "compressed by 'compress'": rb"\x1f\x9d",
    "a Parquet file": rb"PAR1\x15",
}
"""First bytes of files that are not a stream of text."""
_read = {name: re.compile(magic, re.DOTALL) for name, magic in MAGIC.items()}
_rejected = {name: re.compile(magic, re.DOTALL) for name, magic in OTHER_FORMATS.items()}
Decoder = bz2.BZ2Decompressor | lzma.LZMADecompressor
COMPRESSIONS: dict[str, tuple[str, ...]] = {
    "gzip": (".gz", ".gzip"),
    "zstd": (".zst", ".zstd"),
    "bzip2": (".bz2",),
    "xz": (".xz",),
}
"""Endings of each supported compression."""
COMPRESSED = tuple(ending for endings in COMPRESSIONS.values() for ending in endings)
"""All endings of compressed files."""
REGULAR_KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a disk"}
DESCRIPTORS = re.compile(r"/proc/\d+(/task/\d+)?/fd|/dev/fd")
"""Folders whose entries are the open files of a process."""
DEEPEST = 40
"""Maximum number of links to follow, the limit of Linux."""


def compression_of(head: bytes) -> str | None:
    """Return the compression of a file with these first bytes; None if it is not compressed."""
    return next((name for name, magic in _read.items() if magic.match(head)), None)


def reject_archive(head: bytes, place: str, outer: str | None = None) -> None:
    """Reject content that is not a stream of text.

    Args:
        head: first bytes of the content.
        place: the file, for messages.
        outer: compression of the file that contains it, if any.

    Raises:
        TokbenchError: it is an archive, Parquet, compressed by an unsupported method, or compressed twice.
    """
    kind = next((name for name, magic in _rejected.items() if magic.match(head)), None)
    if outer and (inner := compression_of(head)):
        kind = f"compressed by {inner}"
    if kind is None:
        return
    remedy = "rename it to .parquet" if kind == "a Parquet file" else "unpack it first"
    within = f"{kind} within {outer}; decompress it once" if outer else f"{kind}; {remedy}"
    raise TokbenchError(f"{place}: {within}")


def decompressed(file: io.BufferedReader, compression: str) -> io.BufferedReader:
    """Return a stream of the decompressed bytes of an open file.

    Reading zstd or xz raises an error if that needs a window or a dictionary of more than 128 MiB.

    Args:
        file: the file, positioned at its beginning.
        compression: a key of :data:`MAGIC`.
    """
    if compression == "zstd":
        import pyarrow as pa

        return io.BufferedReader(pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd"), BLOCK)
    if compression == "gzip":
        return io.BufferedReader(gzip.GzipFile(fileobj=file), BLOCK)
    if compression == "bzip2":
        return io.BufferedReader(_Streams(file, bz2.BZ2Decompressor), BLOCK)
    return io.BufferedReader(_Streams(file, partial(lzma.LZMADecompressor, memlimit=XZ_MEMORY)), BLOCK)


class _Streams(io.RawIOBase):
    """Decompressed bytes of consecutive compressed streams, until the end of the file.

    The file objects of the standard library silently ignore invalid data after the first stream.
    """

    def __init__(self, file: BinaryIO, make: Callable[[], Decoder]) -> None:
        self._file = file
        self._make = make
        self._decoder = make()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while True:
            if self._decoder.eof:
                data = self._decoder.unused_data.lstrip(b"\0") or self._file.read(BLOCK).lstrip(b"\0")
                if not data and not self._file.peek(1):  # type: ignore[attr-defined]
                    return 0
                if not data:
                    continue
                self._decoder = self._make()
            else:
                data = self._file.read(BLOCK) if self._decoder.needs_input else b""
                if self._decoder.needs_input and not data:
                    raise EOFError("compressed data end before their end is marked")
            block = self._decoder.decompress(data, len(buffer))
            if block:
                buffer[: len(block)] = block
                return len(block)


@dataclass(frozen=True)
class Fields:
    """Options for reading texts; None for an option that is not given.

    Attributes:
        text: key or column of the text (default: ``text``).
        language: key or column of the language (default: ``language``, if it exists).
        encoding: encoding of files that have no encoding of their own, such as text (default: ``utf-8``).
        bad_lines: ``reject`` or ``skip`` bad records, such as rows without text (default: ``reject``).
    """

    text: str | None = None
    language: str | None = None
    encoding: str | None = None
    bad_lines: str | None = None

    @property
    def flags(self) -> str:
        """Options that were given, for messages; empty if there are none."""
        options = {
            "--text-field": self.text,
            "--language-field": self.language,
            "--encoding": self.encoding,
            "--bad-lines": self.bad_lines,
        }
        return ", ".join(flag for flag, value in options.items() if value is not None)


AS_USUAL = Fields()


def compression_named(name: str) -> str | None:
    """Return the compression that a file's ending names; None if there is none."""
    folded = name.lower()
    return next((kind for kind, endings in COMPRESSIONS.items() if folded.endswith(endings)), None)


def plain_name(name: str) -> str:
    """Return a file name without the ending of its compression."""
    return name[: name.rfind(".")] if compression_named(name) else name


def has_ending(name: str, endings: tuple[str, ...]) -> bool:
    """Return whether a file name has one of some endings, in any case, ignoring the ending of a compression."""
    return plain_name(name).lower().endswith(endings)


def check_regular(path: Path | str, *, descriptors: bool = False) -> None:
    """Reject a path that exists and is neither a regular file nor a folder.

    Args:
        path: The path; a missing one is accepted, since opening it gives a better error.
        descriptors: Accept an open file of this process, such as ``/dev/stdin``, of any kind (default: no).

    Raises:
        TokbenchError: The path is a pipe, a socket or a device.
    """
    try:
        kind = REGULAR_KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except (OSError, ValueError):
        return
    if kind is not None and not (descriptors and is_descriptor(path)):
        raise TokbenchError(f"{path}: {kind}; write its output to a file, and name that")


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        TokbenchError: The path is a pipe, a socket or a device.
        OSError: The file cannot be read.
    """
    check_regular(path)
    return path.read_bytes()


def is_descriptor(path: Path | str) -> bool:
    """Return whether a path names an open file, as ``/dev/stdout`` does. Such a path cannot be replaced by a new
    file."""
    for _ in range(DEEPEST):
        folder, name = os.path.split(os.fspath(path))
        folder = os.path.realpath(folder)
        if DESCRIPTORS.fullmatch(folder):
            return True
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    return False
