"""``tokbench check``: tell whether a tokenizer is fit.

``tokbench compare``: tell which of two tokenizers is better at what.

``tokbench compare_experiments``: tell what changed between runs.

``tokbench show``: show how tokenizers cut a text.
"""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.adapters.open import reading_options
from tokbench.commands.inputs import TEXT, TOKENIZER
from tokbench.commands.outputs import output_file, page
from tokbench.commands.parameters import Whole, field_options
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.runtime import exit_status

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.adapters.open import ImportOptions, Opened
    from tokbench.commands.parameters import Fields
    from tokbench.examples.cut import SegmentedText
    from tokbench.inspection.checks.finding import Result


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
def check_command(
    path: str,
    files: tuple[str, ...],
    named: tuple[str, ...],
    limit: int,
    as_json: bool,
    fields: "Fields",
    reading: "ImportOptions",
) -> None:
    """Tell whether the tokenizer at PATH is fit: whether texts come back, calls agree, tokens can be reached. PATH is a
    folder of ours, or what 'tokbench import' takes.

    What fails names the shortest input found that shows it. The exit status is 1 where anything failed; warnings and
    what is only told do not count.
    """
    import json

    from tokbench.adapters.open import is_ours, open_tokenizer
    from tokbench.inspection.checks import run
    from tokbench.inspection.checks.subject import TokenizerUnderTest

    exit_status.describe_task(f"check {path}")
    documents = _documents([*named, *files], limit, fields)
    tokenizer = open_tokenizer(path, reading)
    subject = TokenizerUnderTest(tokenizer, Path(path) if is_ours(Path(path)) else None, documents)
    done = run.checked(subject)
    if as_json:
        about = {"path": path, "name": getattr(tokenizer, "name", ""), "size": len(tokenizer)}
        click.echo(json.dumps(run.as_json(about, done), indent=1, ensure_ascii=False))
    else:
        click.echo(run.as_text(f"{path}: {tokenizer!r}", done, _style()), nl=False, color=True)
    if not run.fit(done):
        sys.exit(UNFIT)


def _documents(files: list[str], limit: int, fields: "Fields") -> list[bytes]:
    if not files:
        return []
    from itertools import islice

    from tokbench.commands.files import documents_of

    return [document.text for document in islice(documents_of(files, fields), limit)]


def _style() -> "Callable[[str, Result], str]":
    from tokbench.commands.parameters import coloured

    colours: dict[str, str] = {"passed": "green", "failure": "red", "warning": "yellow"}
    wanted = coloured()

    def style(text: str, result: "Result") -> str:
        return click.style(text, fg=colours.get(result), bold=result == "failure") if wanted else text

    return style


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.argument("files", nargs=-1, type=TEXT)
@click.option("--results", type=click.Path(exists=True, file_okay=False), help="Folder of the experiment.")
@click.option("--limit", default=1000, show_default=True, type=Whole(1), help="Documents encoded at most.")
@click.option(
    "--gap", is_flag=True, help="Prove for the documents how few tokens any vocabulary needs; takes a minute."
)
@click.option("--ngram-bits", is_flag=True, help="Train token n-gram models on every other document, test on the rest.")
@click.option(
    "--train", "training", multiple=True, type=TEXT, metavar="TEXT", help="Train them on this; may be repeated."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@field_options
@reading_options
def compare_command(
    a: str,
    b: str,
    files: tuple[str, ...],
    results: str | None,
    limit: int,
    gap: bool,
    ngram_bits: bool,
    training: tuple[str, ...],
    as_json: bool,
    fields: "Fields",
    reading: "ImportOptions",
) -> None:
    """Tell which of two tokenizers is better at what, with 95 % intervals: A and B are variants of the experiment
    (VARIANT, or VARIANT/SIZE), folders of tokenizers, or what 'tokbench import' takes. With --results a path begins
    with ./, ../ or /. They are compared at the sizes they share: on the documents of FILES alone; or, without FILES, on
    the evaluation split, and, where an experiment has both, by its tables and its models' answers."""
    if results is None:
        for text in (a, b):
            TOKENIZER.convert(text, None, None)
    from tokbench.inspection.comparison.terminal import comparison_text
    from tokbench.inspection.comparison.tokenizers import Further, comparison

    exit_status.describe_task(f"compare {a} with {b}")
    further = Further(gap, ngram_bits or bool(training), training)
    found = comparison(a, b, files, results, limit, fields, reading, further)
    if as_json:
        from tokbench.inspection.comparison.tokenizers import comparison_json
        from tokbench.io.json import written

        click.echo(written(comparison_json(found)), nl=False)
        return
    click.echo(
        comparison_text(found.a, found.b, found.parts, found.unequal, found.pretokenizers, found.notes), nl=False
    )


DIFFERS = 1
"""Exit status where the runs differ beyond noise, as of ``diff``."""


@click.command("compare_experiments")
@click.argument("a", type=click.Path(exists=True, file_okay=False))
@click.argument("b", nargs=-1, required=True, type=click.Path(exists=True, file_okay=False), metavar="B...")
@output_file(mark=page, help="HTML file to write as well.")
@click.option("--all", "every", is_flag=True, help="List every change.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare_experiments_command(a: str, b: tuple[str, ...], output: str | None, every: bool, as_json: bool) -> None:
    """Tell what changed from one run to another, cell by cell of their tables, beyond noise: A and B are folders of
    experiments, such as results/demo, or of tables that are kept, such as results/published/novels. Where both have a
    number for each document or question, these are paired and p-values are corrected for all tests (Holm). Of several
    runs B each is compared with A, and p-values are corrected for the tests of them all.

    Numbers of language models need three seeds for a test; with fewer they are listed as not tested.

    The exit status is 0 where nothing differs beyond noise, 1 where something does, or where only one of two has it,
    and as everywhere 2 for a mistake in what was given."""
    from pathlib import Path

    from tokbench.inspection.comparison.runs import compare_several, read_run
    from tokbench.tabulation.table import tables_of

    declared = tables_of("tabulate", "analyse")
    folders = [a, *b]
    names = [Path(folder).resolve().name for folder in folders]
    called = names if len(set(names)) == len(names) else folders
    found = compare_several(
        [read_run(Path(folder), name, declared) for folder, name in zip(folders, called, strict=True)], declared
    )
    two = found.comparisons[0] if len(b) == 1 else None
    if output is not None:
        from tokbench.inspection.comparison.output import page, several_page, write_page

        write_page(several_page(found) if two is None else page(two), Path(output))
    if as_json:
        from tokbench.inspection.comparison.output import comparison_json, several_json
        from tokbench.io.json import written

        click.echo(written(several_json(found) if two is None else comparison_json(two)), nl=False)
    else:
        from tokbench.inspection.comparison.output import comparison_text, several_text

        told = several_text(found, every=every) if two is None else comparison_text(two, every=every)
        click.echo(told, nl=False)
    if found.differs:
        sys.exit(DIFFERS)


MOST_BYTES = 100_000
"""The longest text that is shown: some thousand rows a tokenizer."""


@click.command("show")
@click.argument("words", nargs=-1, required=True, metavar="TOKENIZER... TEXT")
@click.option("--file", type=click.Path(dir_okay=False), help="File of the text; then TEXT is left out.")
@click.option("--results", type=click.Path(exists=True, file_okay=False), help="Folder of the experiment.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reading_options
def show_command(
    words: tuple[str, ...], file: str | None, results: str | None, as_json: bool, reading: "ImportOptions"
) -> None:
    """Show how tokenizers cut one TEXT ('-' for standard input): ids and borders, those that differ in a colour of
    their own. Each TOKENIZER is a folder, a variant of the experiment (VARIANT, or VARIANT/SIZE), or what 'tokbench
    import' takes. With --results a path begins with ./, ../ or /."""
    from tokbench.adapters.open import opened_at_sizes, resolve_target
    from tokbench.examples.cut import cut

    names, text = (list(words), _file(file)) if file is not None else (list(words[:-1]), _given(words[-1]))
    if not names:
        raise TokbenchError("show: name a tokenizer before the text")
    if len(text) > MOST_BYTES:
        raise TokbenchError(f"show: the text has {len(text):,} bytes; give {MOST_BYTES:,} or fewer")
    exit_status.describe_task(f"show {' '.join(names)}")
    found = _told_apart(opened_at_sizes((resolve_target(name, results) for name in names), reading), names)
    cuts = [cut(one.name, one.tokenizer, text, one.source) for one in found]
    click.echo(_json(cuts, text) if as_json else _terminal(cuts, text), nl=False, color=True)


def _given(text: str) -> bytes:
    from tokbench.adapters.open import is_ours

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


def _terminal(cuts: "Sequence[SegmentedText]", text: bytes) -> str:
    import shutil

    from tokbench.commands.parameters import coloured
    from tokbench.examples.columns import cuts_text

    return cuts_text(cuts, text, shutil.get_terminal_size().columns, coloured())


def _json(cuts: "Sequence[SegmentedText]", text: bytes) -> str:
    import json

    from tokbench.examples.cut import as_json

    return json.dumps(as_json(cuts, text), indent=1, ensure_ascii=False) + "\n"
