"""Reading the gold data of a resource, whatever its type."""

import glob
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.intrinsic.gold import decision_table, segmentation_table
from tokbench.resource import Gold, ResourceOptions, resource_types

TABLES: dict[Gold, Callable[..., pl.DataFrame]] = {
    "segmentations": segmentation_table,
    "lexical_decisions": decision_table,
}


def resource_files(kind: str, options: ResourceOptions) -> list[tuple[str, Path]]:
    """The files of a resource with their language tags, empty where the configuration gives none.

    Args:
        kind: type of the resource.
        options: its options.

    Raises:
        TokbenchError: an entry matches no file.
    """
    tagged = options.path if isinstance(options.path, dict) else {"": options.path}
    return [(tag, file) for tag, entries in tagged.items() for entry in entries for file in _matching(entry, kind)]


def _matching(entry: str, kind: str) -> list[Path]:
    path = Path(entry)
    pattern = resource_types[kind].files
    if path.is_dir():
        found = sorted(file for file in path.rglob(pattern) if file.is_file())
        if not found:
            raise TokbenchError(f"no file '{pattern}' in the folder '{entry}'; name the files of the resource")
        return found
    found = [path] if path.is_file() else sorted(file for file in map(Path, glob.glob(entry)) if file.is_file())
    if not found:
        raise TokbenchError(f"no file at '{entry}'; name an existing file, folder or pattern")
    return found


def read_resource(kind: str, options: ResourceOptions, files: Sequence[tuple[str, Path]] | None = None) -> pl.DataFrame:
    """The gold data of a resource.

    Args:
        kind: type of the resource.
        options: its options.
        files: files with their language tags; those of the options when None.

    Returns:
        :data:`~tokbench.intrinsic.gold.SEGMENTATIONS` or
        :data:`~tokbench.intrinsic.gold.DECISIONS`, as the type's ``gold`` says.

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
