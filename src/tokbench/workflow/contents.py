"""Content of the user's files, as a parameter of the rules that read them.

Snakemake reruns a job when an input is newer than the output. A file that was replaced by one with an older date
(``mv``, ``cp -p``, ``rsync -a``) would be missed, so the content counts, whatever the date.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

LARGEST_FILE = 100_000_000
"""Bytes of the largest file that is read; of larger ones the size and the date count."""
LARGEST_TOTAL = 1_000_000_000
"""Bytes of all files of a job that are read; of further ones the size and the date count."""


def content_of(files: Callable[[Any], Iterable[str]]) -> Callable[[Any], str]:
    """Return a parameter function: the SHA-256 of the content of a job's files, or nothing for a job without any.

    Args:
        files: the files of a job, by its wildcards.
    """

    def content(wildcards: Any) -> str:
        paths = list(files(wildcards))
        return digest(paths) if paths else ""

    return content


def digest(paths: Iterable[str]) -> str:
    """Return the SHA-256, in hexadecimal, of the content of files in their order; a missing file counts as such."""
    found, read = hashlib.sha256(), 0
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            found.update(b"missing\n")
            continue
        read += status.st_size
        if os.path.isfile(path) and status.st_size <= LARGEST_FILE and read <= LARGEST_TOTAL:
            found.update(_file_digest(path, status.st_size, status.st_mtime_ns, status.st_ino).encode())
        else:
            found.update(f"{status.st_size} {status.st_mtime_ns}".encode())
        found.update(b"\n")
    return found.hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(path: str, size: int, changed: int, inode: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
