"""Memory and time that rules request, and digests of input files.

A job that fails is retried with more of both. Memory doubles, because a job that is killed for its memory does not
report its needs. Time grows by the first request: a training continues from its checkpoint, and a longer job waits
longer in the queue. Jobs that read counts request the measured memory for such counts.

The content of the user's files is a parameter of the rules that read them. Snakemake reruns a job when an input is
newer than the output. It would miss a file that was replaced by one with an older date (``mv``, ``cp -p``, ``rsync
-a``).
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from tokbench.io.compression import has_ending
from tokbench.io.paths import literal
from tokbench.runtime.memory_model import measurement_name, peak_bytes, places_of, table

OVERHEAD = 400
"""MB for the two Snakemake processes of a job on a cluster."""
MAX_RUNTIME = 2880
"""Maximum minutes that a job requests: the limit of many partitions."""
STARTUP = 30
"""Minutes for imports, checkpoints and writing the outputs."""
UNKNOWN = 8000
"""MB for a construction whose memory is not known."""
LENGTH = 4
"""Bytes of a pre-token's length in Parquet."""
MARGIN = 80
"""MB added to the measured memory, for small counts and for libraries."""
Request = Callable[[Any, int], int]
"""Function that Snakemake calls with the wildcards and the attempt."""
LARGEST_FILE = 100_000_000
"""Maximum bytes of a file whose content is read; for larger files, size and date are used."""
LARGEST_TOTAL = 1_000_000_000
"""Maximum bytes of all files of a job whose content is read; for further files, size and date are used."""


def memory_on_attempt(mem_mb: int, attempt: int) -> int:
    """Return the MB that an attempt (1, 2, ...) requests if the first requests ``mem_mb``."""
    return mem_mb * 2 ** (attempt - 1)


def runtime_on_attempt(runtime: int, attempt: int) -> int:
    """Return the minutes that an attempt (1, 2, ...) requests if the first requests ``runtime``; two days at most."""
    return min(MAX_RUNTIME, runtime * attempt)


def estimated_runtime(seconds: float, attempt: int) -> int:
    """Return the minutes that an attempt requests for a job estimated at some seconds: 1.5 times these, and startup."""
    return runtime_on_attempt(min(MAX_RUNTIME, STARTUP + round(1.5 * seconds / 60)), attempt)


def double_on_retry(mem_mb: int) -> Request:
    """Return a request of ``mem_mb`` MB at first, doubled on each retry."""
    return lambda wildcards, attempt: memory_on_attempt(mem_mb, attempt)


def extend_on_retry(runtime: int) -> Request:
    """Return a request of ``runtime`` minutes at first and the same number more on each retry."""
    return lambda wildcards, attempt: runtime_on_attempt(runtime, attempt)


def memory_for_counts(
    names: list[str],
    counts: Any,
    attempt: int,
    *,
    unknown: int = UNKNOWN,
    longest: int | None = None,
    max_pretoken_bytes: int | None = None,
) -> int:
    """Return the MB for a job that reads counts: 4/3 of the measured memory, plus the overhead of a job.

    Args:
        names: constructions, or a stage.
        counts: the file of counts, or a list with it. The request is ``unknown`` if it is missing, as during planning,
            or if the construction reads other data.
        attempt: number of the attempt, from 1.
        unknown: MB if the memory is not known (default: 8,000).
        longest: maximum bytes of a substring (default: no limit).
        max_pretoken_bytes: maximum bytes of a pre-token (default: no limit).
    """
    path = counts if isinstance(counts, str) else next(iter(counts or ()), "")
    if not os.path.isfile(path) or not has_ending(path, (".parquet",)):
        return memory_on_attempt(unknown, attempt)
    from pyarrow.parquet import read_metadata

    try:
        metadata = read_metadata(literal(path))
        column = metadata.schema.names.index("pretoken")
        names = [measurement_name(name, "language" in metadata.schema.names) for name in names]
        places = _places(path, os.stat(path).st_mtime_ns, longest, max_pretoken_bytes) if _by_place(names) else 0
    except (OSError, ValueError):  # The job itself reports the error.
        return memory_on_attempt(unknown, attempt)
    groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
    size = sum(group.column(column).total_uncompressed_size for group in groups)
    need = peak_bytes(names, metadata.num_rows, size - LENGTH * metadata.num_rows, places)
    return memory_on_attempt(unknown if need is None else OVERHEAD + MARGIN + round(need * 4 / 3 / 1e6), attempt)


def _by_place(names: Iterable[str]) -> bool:
    return any(table()[name].per_place for name in names if name in table())


@lru_cache(maxsize=64)
def _places(path: str, changed: int, longest: int | None, max_pretoken_bytes: int | None) -> int:
    """Return the number of substrings in the pre-tokens of a file; ``changed`` makes a new file be read again."""
    import pyarrow.compute as pc
    from pyarrow.parquet import ParquetFile

    with ParquetFile(literal(path)) as file:
        batches = file.iter_batches(columns=["pretoken"])
        lengths = (np.asarray(pc.binary_length(batch.column(0)), np.int64) for batch in batches)
        limited = (batch if max_pretoken_bytes is None else batch[batch <= max_pretoken_bytes] for batch in lengths)
        return sum(int(places_of(batch, longest).sum()) for batch in limited)


def content_of(files: Callable[[Any], Iterable[str]]) -> Callable[[Any], str]:
    """Return a parameter function: the SHA-256 of the content of a job's files, or an empty string without files.

    Args:
        files: function that returns the files of a job from its wildcards.
    """

    def content(wildcards: Any) -> str:
        paths = list(files(wildcards))
        return digest(paths) if paths else ""

    return content


def digest(paths: Iterable[str]) -> str:
    """Return the SHA-256, in hexadecimal, of the content of files in their order; a missing file counts as such."""
    content, size = hashlib.sha256(), 0
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:
            content.update(b"missing\n")
            continue
        size += status.st_size
        if os.path.isfile(path) and status.st_size <= LARGEST_FILE and size <= LARGEST_TOTAL:
            content.update(_file_digest(path, status.st_size, status.st_mtime_ns, status.st_ino).encode())
        else:
            content.update(f"{status.st_size} {status.st_mtime_ns}".encode())
        content.update(b"\n")
    return content.hexdigest()


@lru_cache(maxsize=4096)
def _file_digest(path: str, size: int, changed: int, inode: int) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
