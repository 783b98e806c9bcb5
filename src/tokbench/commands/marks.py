"""What shows that an existing file was written by Tokbench as an output of a kind.

Parquet shows it by its columns, JSON by its keys, a page by its generator. Ids, decoded text, CSV and BibTeX do not.
"""

import json
from collections.abc import Callable
from pathlib import Path

from tokbench.inputs.paths import literal

Mark = Callable[[Path], bool]
GENERATOR = '<meta name="generator" content="Tokbench">'
"""The mark of a page."""
HEAD = 4096
"""Bytes of a page that contain its generator."""


def unmarked(_: Path) -> bool:
    """Return False: nothing in such a file shows who wrote it."""
    return False


def columns(*names: str, optional: tuple[str, ...] = ()) -> Mark:
    """Return whether a file is Parquet with columns of these names alone; the optional ones may be missing."""

    def mark(path: Path) -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            found = set(pq.read_schema(literal(path)).names)
        except (OSError, pa.ArrowException):
            return False
        return {*names} <= found <= {*names, *optional}

    return mark


def keys(*names: str) -> Mark:
    """Return whether a file is a JSON object, or begins with a line that is one, and has keys of these names."""

    def mark(path: Path) -> bool:
        try:
            with path.open(encoding="utf-8") as file:
                first = file.readline()
                found = json.loads(first if first.rstrip().endswith("}") else first + file.read())
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(found, dict) and {*names} <= found.keys()

    return mark


def page(path: Path) -> bool:
    """Return whether a file is a page of Tokbench."""
    try:
        with path.open("rb") as file:
            return GENERATOR.encode() in file.read(HEAD)
    except OSError:
        return False


COUNTS = columns("pretoken", "count", optional=("language",))
"""The mark of pre-token counts."""
