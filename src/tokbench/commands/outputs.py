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
"""Mark of an HTML page."""
ADDS = b"ownText.add("
"""Beginning of a file with tokenizers of a page's box for the reader's own text."""
HEAD = 4096
"""Bytes of a page that are searched for its generator."""


def unmarked(_: Path) -> bool:
    """Return False: such a file shows no origin."""
    return False


def columns(*names: str, optional: tuple[str, ...] = ()) -> Mark:
    """Return a mark for Parquet files with exactly these columns; the optional ones may be missing."""

    def mark(path: Path) -> bool:
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            known = set(pq.read_schema(literal(path)).names)
        except (OSError, pa.ArrowException):
            return False
        return {*names} <= known <= {*names, *optional}

    return mark


def keys(*names: str) -> Mark:
    """Return a mark for JSON objects, or files whose first line is one, with these keys."""

    def mark(path: Path) -> bool:
        try:
            with path.open(encoding="utf-8") as file:
                first = file.readline()
                content = json.loads(first if first.rstrip().endswith("}") else first + file.read())
        except (OSError, ValueError, RecursionError):
            return False
        return isinstance(content, dict) and {*names} <= content.keys()

    return mark


def page(path: Path) -> bool:
    """Return whether a file is an HTML page written by Tokbench."""
    try:
        with path.open("rb") as file:
            return GENERATOR.encode() in file.read(HEAD)
    except OSError:
        return False


def own_text_script(path: Path) -> bool:
    """Return whether a file has the tokenizers of a page's box for the reader's own text."""
    try:
        with path.open("rb") as file:
            return file.read(len(ADDS)) == ADDS
    except OSError:
        return False


COUNTS = columns("pretoken", "count", optional=("language",))
"""Mark of pre-token counts."""


class OutputFolder(click.Path):
    """Parameter type of a folder that does not exist, or may be replaced by an output of its kind."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(file_okay=False)
        self.kind = kind

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        place_of_folder(value)
        path = str(super().convert(value, parameter, context))
        reject_foreign_output(Path(path), self.kind)
        return path


class OutputFile(click.Path):
    """Parameter type of a file that is missing, empty, or marked as the same kind of output of Tokbench."""

    def __init__(self, mark: Mark) -> None:
        super().__init__(dir_okay=False)
        self.mark = mark

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        place_of_file(value)
        return str(super().convert(value, parameter, context))

    def reject_other(self, path: str) -> None:
        """Reject a file with content that Tokbench did not write as this kind of output.

        Raises:
            TokbenchError: the file exists and has other content.
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
    """Add an option for an output file, which must not be an input of the command.

    Args:
        flags: names of the option; default: ``-o`` and ``--output``.
        mark: test whether an existing file may be replaced.
        required: whether the option is required.
        help: content of the file.
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
    """Reject an output that is an input of the command, another of its outputs, or a file of another origin.

    Raises:
        TokbenchError: there is such an output; the message names it.
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
