"""Output files and folders, checked before any work is done.

An existing file may be replaced only if Tokbench wrote it as the same kind of output. Parquet files are recognised by
their columns, JSON by its keys, pages by their generator; ids, decoded text, CSV and BibTeX are not recognised.
"""

import json
import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import click

from tokbench.commands.inputs import InputPath
from tokbench.errors import TokbenchError
from tokbench.io.atomic import Kind, reject_foreign_output
from tokbench.io.output_place import place_of_file, place_of_folder
from tokbench.io.paths import literal

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


class OutputFolder(click.Path):
    """A folder that is missing or may be replaced by an output of a kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(file_okay=False)
        self.kind = kind

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        place_of_folder(value)
        path = str(super().convert(value, parameter, context))
        reject_foreign_output(Path(path), self.kind)
        return path


class OutputFile(click.Path):
    """A file that is missing or empty, or that shows by a mark that Tokbench wrote it as the same kind."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(dir_okay=False)
        self.mark = mark

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        place_of_file(value)
        return str(super().convert(value, parameter, context))

    def reject_other(self, path: str) -> None:
        """Reject a file with content that Tokbench did not write as this kind of output.

        Raises:
            TokbenchError: there is one.
        """
        place = place_of_file(path)
        if place is not None and place.is_file() and place.stat().st_size and not self.mark(place):
            raise TokbenchError(
                f"{path}: the file exists, and nothing in it shows that Tokbench wrote it as the same kind of output; "
                "name another file, or remove this one"
            )


def output_file(
    *flags: str, mark: Mark = unmarked, required: bool = False, help: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option of a file that it writes, which must be none of its inputs.

    Args:
        flags: those of the option, ``-o`` and ``--output`` where none are named.
        mark: what shows that an existing file may be replaced.
        required: whether the option must be given.
        help: what the file contains.
    """
    names = flags or ("-o", "--output")
    option = click.option(*names, type=OutputFile(mark), required=required, help=help)

    def decorated(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def checked(*args: Any, **given: Any) -> None:
            _reject_written(click.get_current_context())
            command(*args, **given)

        return option(checked)

    return decorated


def _reject_written(context: click.Context) -> None:
    """Reject an output that is an input of the same command, another output of it, or somebody else's file.

    Raises:
        TokbenchError: it is one; the message names it.
    """
    written: set[str] = set()
    for parameter in context.command.params:
        output = context.params.get(parameter.name or "")
        if not isinstance(parameter.type, OutputFile) or output is None:
            continue
        for path in _inputs(context):
            if os.path.isfile(output) and os.path.exists(path) and os.path.samefile(output, path):
                raise TokbenchError(f"{output}: the same file as the input {path}; name another file for the output")
        if (place := os.path.realpath(output)) in written:
            raise TokbenchError(f"{output}: two outputs have this name; name another file for one of them")
        written.add(place)
        parameter.type.reject_other(output)


def _inputs(context: click.Context) -> Iterator[str]:
    """Yield the paths that a command reads: its arguments, and options of paths."""
    for parameter in context.command.params:
        kind = parameter.type
        if isinstance(kind, OutputFile | OutputFolder):
            continue
        if isinstance(parameter, click.Argument) or isinstance(kind, click.Path | click.File | InputPath):
            given = context.params.get(parameter.name or "")
            for value in given if isinstance(given, tuple) else (given,):
                name = getattr(value, "name", value)
                if isinstance(name, str):
                    yield name
