"""``tokbench check``: tell whether a tokenizer is fit."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench import memory
from tokbench.commands.fields import field_options
from tokbench.commands.inputs import TEXT
from tokbench.commands.numbers import Whole
from tokbench.commands.reading import Reading, reading_options
from tokbench.inputs.endings import Fields

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokbench.fitness.finding import Result

UNFIT = 1
"""The exit status where a check failed."""


@click.command("check")
@click.argument("path", type=click.Path(exists=True))
@click.argument("files", nargs=-1, type=TEXT)
@click.option(
    "--documents", "named", multiple=True, type=TEXT, help="Files of documents to check with; FILES are more of them."
)
@click.option("--limit", default=1000, show_default=True, type=Whole(1), help="Documents that are read at most.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@field_options
@reading_options
def command(
    path: str,
    files: tuple[str, ...],
    named: tuple[str, ...],
    limit: int,
    as_json: bool,
    fields: Fields,
    reading: Reading,
) -> None:
    """Tell whether the tokenizer at PATH is fit: whether texts come back, calls agree, tokens can be reached. PATH is a
    folder of ours, or what 'tokbench import' takes.

    What fails names the shortest input found that shows it. The exit status is 1 where anything failed; warnings and
    what is only told do not count.
    """
    import json

    from tokbench.commands.opened import is_ours, opened
    from tokbench.fitness import plain
    from tokbench.fitness.subject import Subject

    memory.purpose(f"check {path}")
    documents = _documents([*named, *files], limit, fields)
    tokenizer = opened(path, reading)
    subject = Subject(tokenizer, Path(path) if is_ours(Path(path)) else None, documents)
    done = plain.checked(subject)
    if as_json:
        about = {"path": path, "name": getattr(tokenizer, "name", ""), "size": len(tokenizer)}
        click.echo(json.dumps(plain.as_json(about, done), indent=1, ensure_ascii=False))
    else:
        click.echo(plain.as_text(f"{path}: {tokenizer!r}", done, _style()), nl=False, color=True)
    if not plain.fit(done):
        sys.exit(UNFIT)


def _documents(files: list[str], limit: int, fields: Fields) -> list[bytes]:
    if not files:
        return []
    from itertools import islice

    from tokbench.commands.documents import documents_of

    return [document.text for document in islice(documents_of(files, fields), limit)]


def _style() -> "Callable[[str, Result], str]":
    from tokbench.commands.colour import coloured

    colours: dict[str, str] = {"passed": "green", "failure": "red", "warning": "yellow"}
    wanted = coloured()

    def style(text: str, result: "Result") -> str:
        return click.style(text, fg=colours.get(result), bold=result == "failure") if wanted else text

    return style
