"""``tokbench show``: show how tokenizers cut a text."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench import memory
from tokbench.commands.reading import Reading, reading_options
from tokbench.errors import TokbenchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tokbench.commands.opened import Opened
    from tokbench.cuts.cut import Cut

MOST_BYTES = 100_000
"""The longest text that is shown: some thousand rows a tokenizer."""


@click.command("show")
@click.argument("words", nargs=-1, required=True, metavar="TOKENIZER... TEXT")
@click.option("--file", type=click.Path(dir_okay=False), help="File of the text; then TEXT is left out.")
@click.option("--results", type=click.Path(exists=True, file_okay=False), help="Folder of the experiment.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reading_options
def command(words: tuple[str, ...], file: str | None, results: str | None, as_json: bool, reading: Reading) -> None:
    """Show how tokenizers cut one TEXT ('-' for standard input): ids and borders, those that differ in a colour of
    their own. Each TOKENIZER is a folder, a variant of the experiment (VARIANT, or VARIANT/SIZE), or what 'tokbench
    import' takes. With --results a path begins with ./, ../ or /."""
    from tokbench.commands.opened import opened_at_sizes
    from tokbench.commands.sides import side
    from tokbench.cuts.cut import cut

    names, text = (list(words), _file(file)) if file is not None else (list(words[:-1]), _given(words[-1]))
    if not names:
        raise TokbenchError("show: name a tokenizer before the text")
    if len(text) > MOST_BYTES:
        raise TokbenchError(f"show: the text has {len(text):,} bytes; give {MOST_BYTES:,} or fewer")
    memory.purpose(f"show {' '.join(names)}")
    found = _told_apart(opened_at_sizes((side(name, results) for name in names), reading), names)
    cuts = [cut(one.name, one.tokenizer, text, one.source) for one in found]
    click.echo(_json(cuts, text) if as_json else _terminal(cuts, text), nl=False, color=True)


def _given(text: str) -> bytes:
    from tokbench.commands.opened import is_ours

    if text == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    if os.path.isfile(text):
        raise TokbenchError(f"show: {text} is a file; give it with --file, or its name as a text by '-'")
    if is_ours(Path(text)):
        raise TokbenchError(f"show: {text} is a tokenizer; give a text after it, or its name as a text by '-'")
    return os.fsencode(text)


def _file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def _told_apart(found: "Sequence[Opened]", names: "Sequence[str]") -> "Sequence[Opened]":
    """Return tokenizers by their names, or as they were given where two have the same."""
    called = [one.name for one in found]
    if len(set(called)) == len(called) or len(names) != len(called):
        return found
    return [one._replace(name=str(Path(given))) for given, one in zip(names, found, strict=True)]


def _terminal(cuts: "Sequence[Cut]", text: bytes) -> str:
    import shutil

    from tokbench.commands.colour import coloured
    from tokbench.cuts.terminal import cuts_text

    return cuts_text(cuts, text, shutil.get_terminal_size().columns, coloured())


def _json(cuts: "Sequence[Cut]", text: bytes) -> str:
    import json

    from tokbench.cuts.plain import as_json

    return json.dumps(as_json(cuts, text), indent=1, ensure_ascii=False) + "\n"
