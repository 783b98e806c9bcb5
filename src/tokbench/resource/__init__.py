"""Gold data: named resources of people's segmentations and of their reading, as their authors distribute them.

A type of resource is one module with one function, registered under its name, that reads one file::

    (path, language, options) -> Iterator[Segmentation] or Iterator[Decision]

What a file holds is known by the trait ``gold``: ``segmentations`` (words and their parts) or ``lexical_decisions``
(words and nonwords, reaction times, accuracies). Whatever the type, metrics see one of two tables,
:data:`~tokbench.intrinsic.gold.SEGMENTATIONS` or :data:`~tokbench.intrinsic.gold.DECISIONS`.
"""

import glob
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from pydantic import Field

from tokbench.corpus.sources import Paths
from tokbench.errors import TokbenchError
from tokbench.intrinsic.gold import decision_table, segmentation_table
from tokbench.options import Options
from tokbench.registry import Registry

resource_types = Registry("type of resource", "tokbench.resource", "tokbench.resource")

Gold = Literal["segmentations", "lexical_decisions"]
TABLES: dict[str, Callable[..., pl.DataFrame]] = {
    "segmentations": segmentation_table,
    "lexical_decisions": decision_table,
}


class ResourceOptions(Options):
    """What every resource has."""

    path: Paths = Field(default_factory=list)
    """File, folder or glob pattern, or a list of them; or a mapping of language tags to these, whose tags go before
    those of the files. May be left out and given on the command line instead."""

    languages: list[str] | None = None
    """Take only words with these language tags."""


def resource(
    name: str, *, gold: Gold, files: str, options: type[ResourceOptions] = ResourceOptions
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a type of resource; ``files`` is the pattern of its files' names where a path is a folder."""
    return resource_types.register(name, options=options, gold=gold, files=files)


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
    pattern = resource_types[kind].traits["files"]
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
        :data:`~tokbench.intrinsic.gold.DECISIONS`, as the type's trait ``gold`` says.

    Raises:
        TokbenchError: no such type, a file that cannot be read, a record that is none of the type's, or no word.
    """
    method = resource_types[kind]
    chosen = resource_files(kind, options) if files is None else files
    rows = (row for language, path in chosen for row in method.function(path, language, options))
    table = TABLES[method.traits["gold"]](rows)
    if options.languages is not None:
        table = table.filter(pl.col("language").is_in(options.languages))
    if table.is_empty():
        named = ", ".join(str(path) for _, path in chosen) or "no file"
        raise TokbenchError(f"{named}: no word of a resource of type '{kind}'; name its own files and languages")
    return table
