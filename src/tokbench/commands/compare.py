"""``tokbench compare``: tell which of two tokenizers is better at what."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path

import click
import polars as pl

from tokbench import memory
from tokbench.commands.documents import documents_of
from tokbench.commands.fields import field_options
from tokbench.commands.numbers import Whole
from tokbench.commands.sides import Side, distinct, matched, side
from tokbench.corpus.documents import Document, read_documents
from tokbench.errors import TokbenchError
from tokbench.inputs.frames import read_frame
from tokbench.inputs.json import read_json
from tokbench.report.exhibits import counted, words
from tokbench.report.numbers import probability
from tokbench.report.terminal import Line, Part, comparison_text
from tokbench.statistics.better import better_end
from tokbench.statistics.cells import Cell
from tokbench.statistics.contrast import Contrast, Question, answered, bits_per_byte, token_counts
from tokbench.statistics.pairs import difference
from tokbench.tokenizer import Tokenizer

Sizes = Sequence[tuple[int, int]]
"""Vocabulary sizes of a and of b that are compared."""
KEYS = ("variant", "size", "value")


@click.command("compare")
@click.argument("a")
@click.argument("b")
@click.argument("files", nargs=-1)
@click.option("--results", type=click.Path(exists=True, file_okay=False), help="Folder of the experiment.")
@click.option("--documents", "limit", default=1000, show_default=True, type=Whole(1), help="Documents encoded at most.")
@field_options
def command(
    a: str,
    b: str,
    files: tuple[str, ...],
    results: str | None,
    limit: int,
    text_field: str | None,
    language_field: str | None,
) -> None:
    """Tell which of two tokenizers is better at what, with 95 % intervals: A and B are variants of the experiment
    (VARIANT, or VARIANT/SIZE), or folders of tokenizers. They are compared at the sizes they share: on the documents of
    the evaluation split, or of FILES, and, where an experiment has both, by its tables and its models' answers."""
    memory.purpose(f"compare {a} with {b}")
    left, right = side(a, results), side(b, results)
    sizes = matched(left, right)
    experiment = left.results if left.results == right.results else None
    if files:
        given = [(_named(files), list(islice(documents_of(files, text_field, language_field), limit)))]
    elif text_field or language_field:
        raise TokbenchError("--text-field, --language-field: they are of FILES; name files after the tokenizers")
    else:
        given = _evaluation(experiment, limit)
    parts = [_tokens(left, right, sizes, where, found) for where, found in given]
    if experiment is not None:
        parts += _intrinsic(left.name, right.name, sizes, experiment) + _downstream(left, right, sizes, experiment)
    if not (parts := [part for part in parts if part.lines]):
        raise TokbenchError("nothing to compare these two on; name files of text after them")
    click.echo(comparison_text(*distinct(left, right), parts), nl=False)


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {counted(len(files) - 1, 'other')}"


def _evaluation(experiment: Path | None, limit: int) -> list[tuple[str, list[Document]]]:
    """Documents to encode of every evaluation split, and what they are."""
    folders = [] if experiment is None else sorted((experiment / "corpus").glob("*/evaluation"))
    return [
        (f"the evaluation split of {folder.parent.name}", list(islice(read_documents(shards), limit)))
        for folder in folders
        if (shards := sorted(folder.glob("*.parquet")))
    ]


def _tokens(a: Side, b: Side, sizes: Sizes, where: str, documents: Sequence[Document]) -> Part:
    """Tokens of the same documents."""
    lines = []
    for size_a, size_b in sizes:
        counts = [_counts(one.folders[size], documents) for one, size in ((a, size_a), (b, size_b))]
        if found := token_counts(*counts):
            lines.append(Line(_size(size_a, size_b), found, "lowest", f"token count on {where}"))
    heading = f"Tokens of {counted(len(documents), 'document')}: {where}; drawn: documents"
    return Part(heading, "count", "share", lines)


def _counts(folder: Path, documents: Iterable[Document]) -> list[int]:
    tokenizer = Tokenizer.load(folder)
    return [tokenizer.count(document.text) for document in documents]


def _size(size_a: int, size_b: int) -> str:
    if not size_a or not size_b:
        return "tokens"
    return f"{size_a:,}" if size_a == size_b else f"{size_a:,} against {size_b:,}"


def _intrinsic(a: str, b: str, sizes: Sizes, experiment: Path) -> list[Part]:
    """Metrics of which one end is better, a part a corpus: each is a single number of a whole text."""
    path = experiment / "tables" / "intrinsic.parquet"
    if not path.is_file():
        return []
    rows = read_frame(path, "tabulate again").filter(pl.col("language") == "", pl.col("variant").is_in([a, b]))
    rows = rows.drop_nulls("value").sort("corpus", "metric", "definition")
    parts = []
    for (corpus,), part in rows.group_by("corpus", maintain_order=True):
        lines, notes = [], []
        for (metric,), same in part.group_by("metric", maintain_order=True):
            if not (end := better_end(str(metric))):
                continue
            definitions = same["definition"].unique(maintain_order=True).to_list()
            for number, definition in enumerate(definitions, 1):
                values = {(v, size): x for v, size, x in same.filter(definition=definition).select(KEYS).iter_rows()}
                what = words(str(metric)) + f" ({number})" * (len(definitions) > 1)
                notes.append(f"  {what}: {definition}; the {end} is best.")
                for size_a, size_b in sizes:
                    of_a, of_b = values.get((a, size_a)), values.get((b, size_b))
                    if of_a is not None and of_b is not None:
                        contrast = Contrast(of_a, of_b, of_a - of_b, None, None, 1)
                        lines.append(Line(f"{what}, {_size(size_a, size_b)}", contrast, end, words(str(metric))))
        parts.append(Part(f"Measured on {corpus}: one number each, no interval", "real", "real", lines, notes))
    return parts


def _downstream(a: Side, b: Side, sizes: Sizes, experiment: Path) -> list[Part]:
    """Accuracy by task, of each model and suite that answered with both tokenizers; bits per byte."""
    found: defaultdict[tuple[str, str], list[tuple[str, Path, Path]]] = defaultdict(list)
    for size_a, size_b in sizes:
        for path in sorted((experiment / "downstream").glob(f"*/{a.name}/{size_a}/*.json")):
            model, suite = path.parts[-4], path.stem
            other = experiment / "downstream" / model / b.name / str(size_b) / path.name
            if other.is_file():
                found[model, suite].append((_size(size_a, size_b), path, other))
    names = distinct(a, b)
    return [part for (model, suite), files in found.items() for part in _answers(model, suite, files, names)]


def _answers(model: str, suite: str, files: Sequence[tuple[str, Path, Path]], names: tuple[str, str]) -> list[Part]:
    questions: dict[str, tuple[dict[Question, bool], dict[Question, bool]]] = {}
    cells: dict[Cell, float] = {}
    bits = []
    for place, (size, *paths) in enumerate(files):
        results = [read_json(path, "evaluate the model again", lenient=True) for path in paths]
        for task in sorted(results[0]["tasks"].keys() & results[1]["tasks"].keys()):
            both = [result["tasks"][task] for result in results]
            for answers, one in zip(questions.setdefault(task, ({}, {})), both, strict=True):
                answers |= {(place, row["document"]): row["correct"] for row in one["documents"]}
            if None not in (both[0]["accuracy"], both[1]["accuracy"]):
                cells[place, task] = both[0]["accuracy"] - both[1]["accuracy"]
        texts = [result["bits_per_byte_of"]["by_document"] for result in results if result["bits_per_byte"] is not None]
        if len(texts) == 2:
            of_a, of_b = ([text["bits"] for text in of_side] for of_side in texts)
            if found := bits_per_byte(of_a, of_b, [text["bytes"] for text in texts[0]]):
                bits.append(Line(size, found, "lowest", f"bits per byte under {model}"))
    lines = [
        Line(task, found, "highest", f"{task} under {model}")
        for task, both in questions.items()
        if (found := answered(*both))
    ]
    part = Part(f"{model} on {suite}, accuracy in percent; drawn: questions", "percent", "percent", lines)
    if cells and lines:
        over = difference(cells)
        means = [sum(getattr(line.contrast, one) for line in lines) / len(lines) for one in ("a", "b")]
        if over.mean_difference is not None:
            average = Contrast(means[0], means[1], over.mean_difference, over.low, over.high, len(cells))
            lines.append(Line("average", average, "highest", f"the average of {suite} under {model}"))
        if over.p_value is not None:
            other = difference({cell: -value for cell, value in cells.items()})
            part.notes.append(
                "  average: drawn are cells, a size and a task each. One-sided exact Wilcoxon signed-rank test over "
                f"them: p = {probability(over.p_value)} that {names[0]} is better, "
                f"p = {probability(other.p_value or 1.0)} that {names[1]} is."
            )
    return [part, Part(f"{model}, bits per byte of held-out text; drawn: documents", "real", "real", bits)]
