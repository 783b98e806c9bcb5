"""What jobs that read counts ask for: memory by what was measured of them, once the counts are there."""

import os
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from tokbench.inputs.endings import has_kind
from tokbench.inputs.paths import literal
from tokbench.needs import most, of_languages, places_of, table
from tokbench.workflow.attempts import BESIDE, more_memory

UNKNOWN = 8000
"""MB for a construction of which nothing can be told."""
LENGTH = 4
"""Bytes in which Parquet tells a pre-token's length."""
MARGIN = 80
"""MB beyond what was measured: of small counts, and of what libraries keep."""


def counts_memory(
    names: list[str],
    counts: Any,
    attempt: int,
    *,
    unknown: int = UNKNOWN,
    longest: int | None = None,
    max_pretoken_bytes: int | None = None,
) -> int:
    """MB that what reads counts takes by what was measured of it, a third more, and what a job takes beside.

    Args:
        names: constructions, or a stage.
        counts: the file of counts, or a list of it. It is not there when a plan is made, and some constructions read
            more than counts: ``unknown`` then.
        attempt: which it is, 1 at first.
        unknown: MB where nothing can be told.
        longest: bytes of the longest substring that is looked at; no limit when None.
        max_pretoken_bytes: longest pre-token that takes part; no limit when None.
    """
    path = counts if isinstance(counts, str) else next(iter(counts or ()), "")
    if not os.path.isfile(path) or not has_kind(path, "parquet"):
        return more_memory(unknown, attempt)
    from pyarrow.parquet import read_metadata

    try:
        about = read_metadata(literal(path))
        column = about.schema.names.index("pretoken")
        names = [of_languages(name, "language" in about.schema.names) for name in names]
        places = _places(path, os.stat(path).st_mtime_ns, longest, max_pretoken_bytes) if _by_place(names) else 0
    except (OSError, ValueError):  # The job itself tells what is wrong with the file.
        return more_memory(unknown, attempt)
    held = sum(about.row_group(group).column(column).total_uncompressed_size for group in range(about.num_row_groups))
    need = most(names, about.num_rows, held - LENGTH * about.num_rows, places)
    return more_memory(unknown if need is None else BESIDE + MARGIN + round(need * 4 / 3 / 1e6), attempt)


def _by_place(names: Iterable[str]) -> bool:
    return any(table()[name].per_place for name in names if name in table())


@lru_cache(maxsize=64)
def _places(path: str, changed: int, longest: int | None, max_pretoken_bytes: int | None) -> int:
    """Places of substrings in the pre-tokens of a file; it is read again where it has changed."""
    import pyarrow.compute as pc
    from pyarrow.parquet import ParquetFile

    with ParquetFile(literal(path)) as file:
        batches = file.iter_batches(columns=["pretoken"])
        lengths = (np.asarray(pc.binary_length(batch.column(0)), np.int64) for batch in batches)
        kept = (some if max_pretoken_bytes is None else some[some <= max_pretoken_bytes] for some in lengths)
        return sum(int(places_of(some, longest).sum()) for some in kept)
