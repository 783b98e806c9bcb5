"""Reading the gold data of a resource, whatever its type."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.inputs.files import size_of
from tokbench.intrinsic.gold_tables import decision_table, segmentation_table
from tokbench.intrinsic.resource_files import resource_files
from tokbench.resource import Gold, ResourceOptions, resource_types

TABLES: dict[Gold, Callable[..., pl.DataFrame]] = {
    "segmentations": segmentation_table,
    "lexical_decisions": decision_table,
}


COPIES = 24
"""Bytes that are held for each of a resource's files, decompressed; 17 measured of segmentations, 14 of decisions."""


def room(kind: str, options: ResourceOptions) -> int:
    """Bytes in which a resource is read and measured, beside the process itself.

    Raises:
        TokbenchError: a file cannot be read.
    """
    return COPIES * sum(size_of(path, "name a file of the resource") for _, path in resource_files(kind, options))


def read_resource(kind: str, options: ResourceOptions, files: Sequence[tuple[str, Path]] | None = None) -> pl.DataFrame:
    """The gold data of a resource.

    Args:
        kind: type of the resource.
        options: its options.
        files: files with their language tags; those of the options when None.

    Returns:
        :data:`~tokbench.intrinsic.gold_tables.SEGMENTATIONS` or
        :data:`~tokbench.intrinsic.gold_tables.DECISIONS`, as the type's ``gold`` says.

    Raises:
        TokbenchError: no such type, a file that cannot be read, a record that is none of the type's, or no word.
    """
    method = resource_types[kind]
    chosen = resource_files(kind, options) if files is None else files
    rows = (row for language, path in chosen for row in method.function(path, language, options))
    table = TABLES[method.gold](rows)
    if options.languages is not None:
        table = table.filter(pl.col("language").is_in(options.languages))
    if table.is_empty():
        named = ", ".join(str(path) for _, path in chosen) or "no file"
        raise TokbenchError(f"{named}: no word of a resource of type '{kind}'; name its own files and languages")
    return table
