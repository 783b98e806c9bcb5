"""Commands that check, compare and show tokenizers and results."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import FOLDER, TEXT, TOKENIZER, TokenizerPath
from tokbench.commands.outputs import output_file, page
from tokbench.commands.parameters import OUTPUT_FORMAT, Whole, field_options, reading_options
from tokbench.errors import TokbenchError
from tokbench.io.compression import Fields
from tokbench.runtime import exit_status
from tokbench.runtime.progress import progress

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tokbench.adapters.open import ImportOptions
    from tokbench.commands.parameters import Fields
    from tokbench.examples.cut import SegmentedText
    from tokbench.inspection.checks.finding import Result
    from tokbench.inspection.comparison.named_tokenizers import Opened


UNFIT = 1
"""Exit status if a check fails."""
TABLES = 3
"""Number of tables without ``--all``."""
DIFFERS = 1
"""Exit status if the runs differ, as of ``diff``."""
MOST_CHECKED = 3_000_000
"""Bytes of text that ``check`` reads; a byte needs about 250 bytes of memory."""
MOST_BYTES = 100_000
"""Longest text that is shown, in bytes: some thousand rows a tokenizer."""


@command(
    "check",
    "run sanity checks on a tokenizer",
    group="essentials",
    place=30,
    example="tokbench check mine.json text.txt",
)
@click.argument("path", type=TokenizerPath())
@click.argument("files", nargs=-1, type=TEXT)
@click.option(
    "--documents", "named", multiple=True, type=TEXT, help="Documents to check with, like FILES; may be repeated."
)
@click.option("--limit", default=1000, show_default=True, type=Whole(1), help="Maximum number of documents.")
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
    """Run sanity checks on the tokenizer at PATH, our folder or an external tokenizer file: round trips, equal ids from
    all calls, tokens that no text can produce.

    Each failure shows the shortest input found that causes it. Exit status: 1 if a check failed; warnings and notes do
    not count. Of long texts, the first 3 MB are read.
    """
    import json

    from tokbench.adapters.open import is_ours, open_tokenizer
    from tokbench.inspection.checks import run
    from tokbench.inspection.checks.subject import TokenizerUnderTest

    exit_status.describe_task(f"check {path}")
    documents = _documents([*named, *files], limit, fields)
    tokenizer = open_tokenizer(path, reading)
    tokenizer.require_decode()
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

    from tokbench.corpus.long_documents import cut_of
    from tokbench.corpus.text_files import read_files

    documents: list[bytes] = []
    left = MOST_CHECKED
    for document in islice(read_files(files, fields), limit):
        whole = len(document.text) <= left
        documents.append(document.text if whole else document.text[: cut_of(document.text, max(left, 1))])
        left -= len(documents[-1])
        if not whole:
            click.echo(f"tokbench: check reads the first {MOST_CHECKED:,} bytes of the text", err=True)
            break
    return documents


def _style() -> "Callable[[str, Result], str]":
    from tokbench.commands.parameters import coloured

    colours: dict[str, str] = {"passed": "green", "failure": "red", "warning": "yellow"}
    wanted = coloured()

    def style(text: str, result: "Result") -> str:
        return click.style(text, fg=colours.get(result), bold=result == "failure") if wanted else text

    return style


@command(
    "compare",
    "compare tokenizers on a text or in an experiment",
    group="essentials",
    place=10,
    example="tokbench compare mine.json theirs.json text.txt",
)
@click.argument("words", nargs=-1, required=True, metavar="TOKENIZER TOKENIZER... [TEXT...]")
@click.option("--results", type=click.Path(exists=True, file_okay=False), help="Folder of the experiment.")
@click.option("--limit", default=1000, show_default=True, type=Whole(1), help="Maximum number of documents.")
@click.option("--gap", is_flag=True, help="Prove a lower bound on tokens, and print the gap to it; about a minute.")
@click.option(
    "--ngram-bits",
    is_flag=True,
    help="Compare bits per byte of token n-gram models, trained on every other document, tested on the rest.",
)
@click.option(
    "--train",
    "training",
    multiple=True,
    type=TEXT,
    metavar="TEXT",
    help="Text to train the n-gram models on instead; may be repeated.",
)
@click.option("--premium", metavar="LANGUAGE", help="Print tokens relative to those of the same text in LANGUAGE.")
@click.option("--all", "every", is_flag=True, help="Print all tables, not only the first three.")
@OUTPUT_FORMAT
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as --format json.")
@field_options
@reading_options
def compare_command(
    words: tuple[str, ...],
    results: str | None,
    limit: int,
    gap: bool,
    ngram_bits: bool,
    training: tuple[str, ...],
    premium: str | None,
    every: bool,
    output_format: str,
    as_json: bool,
    fields: "Fields",
    reading: "ImportOptions",
) -> None:
    """Compare any number of tokenizers with the first and with the best, with 95 % intervals and verdicts.

    A TOKENIZER is a variant of the experiment --results (VARIANT or VARIANT/SIZE), a folder, an external tokenizer
    file, FILE.py:FUNCTION, or hf:OWNER/NAME on the Hugging Face hub. With --results, a path must begin with ./, ../ or
    /. Only sizes that both have are compared. The content of a file decides whether it is a tokenizer or a text.

    With TEXT, the tokens of these documents are compared, in total and by language: that of each record, or the names
    of folders such as en/ de/ hi/. Without TEXT, variants of an experiment are compared on its evaluation split, its
    tables and the answers of its models.
    """
    from tokbench.inspection.comparison.named_tokenizers import separate

    tokenizers, files = separate(words, results)
    if results is None:
        for text in tokenizers:
            TOKENIZER.convert(text, None, None)
    for text in files:
        TEXT.convert(text, None, None)
    from tokbench.inspection.comparison.formats import comparison_output
    from tokbench.inspection.comparison.tokenizers import Further, comparisons

    output_format = "json" if as_json else output_format
    if not files and (premium or output_format not in ("text", "json")):
        named = f"--premium {premium}" if premium else f"--format {output_format}"
        raise TokbenchError(f"{named}: for texts only; name files of text after the tokenizers")
    exit_status.describe_task(f"compare {tokenizers[0]} with {', '.join(tokenizers[1:])}")
    further = Further(gap, ngram_bits or bool(training), training)
    with progress("compare"):
        compared = comparisons(tokenizers, files, results, limit, fields, reading, further)
    click.echo(comparison_output(compared, output_format, premium, None if every else TABLES), nl=False)


@command("compare_experiments", "list what changed between runs", group="extras", place=40)
@click.argument("a", type=FOLDER)
@click.argument("b", nargs=-1, required=True, type=FOLDER, metavar="B...")
@output_file(mark=page, help="HTML file to write in addition.")
@click.option("--all", "every", is_flag=True, help="List every change.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def compare_experiments_command(a: str, b: tuple[str, ...], output: str | None, every: bool, as_json: bool) -> None:
    """List the values that differ between the tables of run A and those of each run B.

    A and B are folders of experiments, such as results/demo, or of published tables, such as results/published/novels.
    Rows are matched by their keys, such as variant, size and metric. Rows and tables of only one run, and differences
    in versions, corpora and tokenizers are listed, too. Nothing is tested; intervals are shown where a table has them.

    Exit status: 0 if all values are equal, 1 if one differs or is in only one run, 2 for a mistake in the input.
    """
    from pathlib import Path

    from tokbench.inspection.comparison.output import comparisons_json, comparisons_page, comparisons_text
    from tokbench.inspection.comparison.runs import compare_runs, read_run
    from tokbench.io.html import write_html
    from tokbench.io.json import written
    from tokbench.tabulation.table import tables_of

    declared = tables_of("tabulate", "analyse")
    folders = [a, *b]
    names = [Path(folder).resolve().name for folder in folders]
    if len(set(names)) < len(names):
        names = folders
    first, *others = (read_run(Path(folder), name, declared) for folder, name in zip(folders, names, strict=True))
    comparisons = [compare_runs(first, other, declared) for other in others]
    if output is not None:
        write_html(comparisons_page(comparisons), Path(output))
    click.echo(
        written(comparisons_json(comparisons)) if as_json else comparisons_text(comparisons, every=every), nl=False
    )
    if any(comparison.differs for comparison in comparisons):
        sys.exit(DIFFERS)


@command(
    "show",
    "show how tokenizers split a text",
    group="essentials",
    place=20,
    example="tokbench show mine.json theirs.json 'A text to split'",
)
@click.argument("words", nargs=-1, required=True, metavar="TOKENIZER... TEXT")
@click.option("--file", type=click.Path(dir_okay=False), help="File to show instead of TEXT.")
@click.option("--results", type=click.Path(exists=True, file_okay=False), help="Folder of the experiment.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reading_options
def show_command(
    words: tuple[str, ...], file: str | None, results: str | None, as_json: bool, reading: "ImportOptions"
) -> None:
    """Show how tokenizers split TEXT ('-' for standard input): ids and boundaries, with differences in colour.

    Each TOKENIZER is a folder, a variant of the experiment --results (VARIANT or VARIANT/SIZE), or an external
    tokenizer file. With --results, a path must begin with ./, ../ or /.
    """
    from tokbench.examples.cut import cut
    from tokbench.inspection.comparison.named_tokenizers import opened_at_sizes, resolve_target

    names, text = (list(words), _file(file)) if file is not None else (list(words[:-1]), _text_of(words[-1], results))
    if not names:
        raise TokbenchError("show: no tokenizer or no text; tokbench show TOKENIZER 'some text'")
    if len(text) > MOST_BYTES:
        raise TokbenchError(f"show: the text has {len(text):,} bytes; pass {MOST_BYTES:,} or fewer")
    exit_status.describe_task(f"show {' '.join(names)}")
    opened = _with_distinct_names(opened_at_sizes((resolve_target(name, results) for name in names), reading), names)
    cuts = [cut(tokenizer.name, tokenizer.tokenizer, text, tokenizer.source) for tokenizer in opened]
    click.echo(_json(cuts, text) if as_json else _terminal(cuts, text), nl=False, color=True)


def _text_of(text: str, results: str | None) -> bytes:
    from tokbench.inspection.comparison.named_tokenizers import is_named

    if text == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    if is_named(text, results):
        raise TokbenchError(f"show: no text given ({text} is a tokenizer); tokbench show {text} 'some text'")
    if os.path.isfile(text):
        raise TokbenchError(f"show: no text given ({text} is a file); show the file with --file {text}")
    return os.fsencode(text)


def _file(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def _with_distinct_names(opened: "Sequence[Opened]", names: "Sequence[str]") -> "Sequence[Opened]":
    """Return tokenizers under their names, or under the given paths if two names are equal."""
    called = [tokenizer.name for tokenizer in opened]
    if len(set(called)) == len(called) or len(names) != len(called):
        return opened
    return [tokenizer._replace(name=str(Path(given))) for given, tokenizer in zip(names, opened, strict=True)]


def _terminal(cuts: "Sequence[SegmentedText]", text: bytes) -> str:
    import shutil

    from tokbench.commands.parameters import coloured
    from tokbench.examples.columns import cuts_text

    return cuts_text(cuts, text, shutil.get_terminal_size().columns, coloured())


def _json(cuts: "Sequence[SegmentedText]", text: bytes) -> str:
    import json

    from tokbench.examples.cut import as_json

    return json.dumps(as_json(cuts, text), indent=1, ensure_ascii=False) + "\n"
