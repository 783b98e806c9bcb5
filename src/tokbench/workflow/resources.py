"""Memory and time that rules request.

A job that fails is tried again with more of both. Memory doubles, because whoever kills a job for its memory does not
say how much it needs. Time grows by the first request: a training continues from its checkpoint, and a longer job waits
longer in the queue. Jobs that read counts request the memory that was measured for such counts.

Content of the user's files, as a parameter of the rules that read them.

Snakemake reruns a job when an input is newer than the output. A file that was replaced by one with an older date
(``mv``, ``cp -p``, ``rsync -a``) would be missed, so the content counts and the date does not.
"""

import hashlib
import os
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from tokbench.io.compression import has_kind
from tokbench.io.paths import literal
from tokbench.runtime.memory_model import most, of_languages, places_of, table

OVERHEAD = 400
"""MB for the two Snakemake processes of a job on a cluster."""
MAX_RUNTIME = 2880
"""Minutes that a job requests at most: the limit of many partitions."""
STARTUP = 30
"""Minutes for imports, checkpoints and writing the outputs."""
UNKNOWN = 8000
"""MB for a construction whose memory is not known."""
LENGTH = 4
"""Bytes of a pre-token's length in Parquet."""
MARGIN = 80
"""MB added to the measured memory, for small counts and for libraries."""
Request = Callable[[Any, int], int]
"""What Snakemake calls with the wildcards and the attempt."""


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
    """Request ``mem_mb`` MB at first, twice as much on each retry."""
    return lambda wildcards, attempt: memory_on_attempt(mem_mb, attempt)


def extend_on_retry(runtime: int) -> Request:
    """Request ``runtime`` minutes at first, as much again on each retry."""
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
    """Return the MB for a job that reads counts: a third more than was measured, and the overhead of a job.

    Args:
        names: constructions, or a stage.
        counts: the file of counts, or a list with it. It is missing when a plan is made, and some constructions read
            other data than counts: the request is ``unknown`` then.
        attempt: number of the attempt, from 1.
        unknown: MB where the memory is not known.
        longest: maximum bytes of a substring; no limit when None.
        max_pretoken_bytes: maximum bytes of a pre-token; no limit when None.
    """
    path = counts if isinstance(counts, str) else next(iter(counts or ()), "")
    if not os.path.isfile(path) or not has_kind(path, "parquet"):
        return memory_on_attempt(unknown, attempt)
    from pyarrow.parquet import read_metadata

    try:
        metadata = read_metadata(literal(path))
        column = metadata.schema.names.index("pretoken")
        names = [of_languages(name, "language" in metadata.schema.names) for name in names]
        places = _places(path, os.stat(path).st_mtime_ns, longest, max_pretoken_bytes) if _by_place(names) else 0
    except (OSError, ValueError):  # The job itself reports what is wrong with the file.
        return memory_on_attempt(unknown, attempt)
    groups = (metadata.row_group(group) for group in range(metadata.num_row_groups))
    size = sum(group.column(column).total_uncompressed_size for group in groups)
    need = most(names, metadata.num_rows, size - LENGTH * metadata.num_rows, places)
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
        limited = (some if max_pretoken_bytes is None else some[some <= max_pretoken_bytes] for some in lengths)
        return sum(int(places_of(some, longest).sum()) for some in limited)


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
