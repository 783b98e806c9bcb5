"""Comparison of two tokenizers of an experiment by its metrics, alignment, language models and translations."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.adapters.open import ComparedTokenizer, Sizes, distinct, size_label, unequal
from tokbench.inspection.comparison.terminal import Line, LineGroup
from tokbench.io.json import read_result
from tokbench.io.provenance import settings_of
from tokbench.io.tables import read_frame
from tokbench.metric import direction, requires_equal_n
from tokbench.report.sections.subjects import Measure, by_subject
from tokbench.report.wording import listed, probability, words
from tokbench.statistics.cells import Cell
from tokbench.statistics.contrast import Contrast, Question, answered, bits_over_seeds
from tokbench.statistics.pairs import differences
from tokbench.statistics.scoreboard_rows import METRIC, contrast, foremost
from tokbench.statistics.seeds import same_but_for_seed
from tokbench.statistics.translations import RESAMPLES
from tokbench.statistics.verdicts import why_untested
from tokbench.tabulation.columns import BOUNDARIES
from tokbench.tabulation.table import schema

WHAT = "alignment with morphemes"
OWN_WORDS = (
    "  Intervals are Student's t over words. The words differ: each tokenizer is scored on words that are not tokens, "
    "but whose morphemes all are."
)


def alignment_part(
    a: str, b: str, sizes: Sizes, rows: pl.DataFrame, experiment: Path
) -> tuple[LineGroup, pl.DataFrame]:
    """Compare the mean alignment over all resources, as on the scoreboard; also return the remaining rows.

    Args:
        a, b: the variants.
        sizes: pairs of sizes to compare.
        rows: rows of the table of intrinsic metrics with a value, for these two.
        experiment: folder of the experiment.
    """
    path = experiment / "tables" / "alignment_by_word.parquet"
    by_word = read_frame(path, "tabulate again") if path.is_file() else pl.DataFrame(schema=schema(BOUNDARIES))
    found = foremost(rows.filter(metric=METRIC))
    lines, told = [], []
    for size_a, size_b in sizes:
        both = [(a, size_a), (b, size_b)]
        values = [found.filter(variant=name, size=size) for name, size in both]
        if any(len(one) != 1 for one in values):
            continue
        parts = [by_word.filter(variant=name, size=size) for name, size in both]
        found_both = [(part, one["value"][0]) for part, one in zip(parts, values, strict=True)]
        if (difference := contrast(*found_both)) is not None:
            definition = values[0]["definition"][0]
            lines.append(
                Line(size_label(size_a, size_b), difference, "highest", WHAT, definition, sizes=[(size_a, size_b)])
            )
            told += values
    groups = "groups of words" if by_word["words"].max() not in (None, 1) else "words"
    part = LineGroup(
        f"Alignment with morphemes (F1); intervals over {groups}", "real", "real", lines, [OWN_WORDS] * bool(lines)
    )
    rest = rows.join(pl.concat(told), on=rows.columns, how="anti", nulls_equal=True) if told else rows
    return part, rest.sort("corpus", "metric", "definition", maintain_order=True)


OF = ("parallel", "source_language", "target_language", "test", "model")
SCORE = "score of the complete test; p is twice the one-sided p of the paired bootstrap"
SEEDS = "  Intervals are over sentences, not over seeds."


def translation_parts(a: str, b: str, sizes: Sizes, experiment: Path) -> list[LineGroup]:
    """Compare translation scores of joint vocabularies: one part per test and model, by the paired bootstrap."""
    path = experiment / "statistics" / "translation_comparisons.parquet"
    if not path.is_file():
        return []
    rows = read_frame(path, "analyse again")
    rows = rows.filter((pl.col("a").eq(a) & pl.col("b").eq(b)) | (pl.col("a").eq(b) & pl.col("b").eq(a)))
    parts = []
    for (parallel, source, target, test, model), part in rows.group_by(OF, maintain_order=True):
        lines = [
            Line(f"{row['metric']}, {size_label(size_a, size_b)}", _contrast(row, a), "highest",
                 f"{row['metric']} on {test} with the translation model {model}", SCORE, sizes=[(size_a, size_b)],
                 trainings=row["seeds"])
            for size_a, size_b in sizes
            for row in part.filter(size=size_a).iter_rows(named=True)
            if size_a == size_b
        ]  # fmt: skip
        heading = f"{model}, {parallel} from {source} into {target}, test {test}; intervals over sentences"
        untested = dict.fromkeys(line.untested for line in lines if line.untested)
        notes = [SEEDS, *(f"  {why.capitalize()}." for why in untested)] if lines else []
        parts.append(LineGroup(heading, "real", "real", lines, notes))
    return parts


def _contrast(row: dict[str, Any], a: str) -> Contrast:
    """Return a row as a contrast; swap its two sides if its first variant is not ``a``."""
    p = None if why_untested(row["seeds"]) else _both_sides(row)
    if row["a"] == a:
        values = (row["score_a"], row["score_b"], row["difference"], row["low"], row["high"])
    else:
        values = (row["score_b"], row["score_a"], -row["difference"], -row["high"], -row["low"])
    return Contrast(*values, row["n"], p)


def _both_sides(row: dict[str, Any]) -> float:
    """Return the two-sided p of the paired bootstrap.

    Resamples with equal scores count against a in the row's p, and for a on the other side. If the interval includes
    zero, p is at least 0.05.
    """
    one_sided = row["bootstrap_p"] if row["difference"] > 0 else max(1 / (1 + RESAMPLES), 1 - row["bootstrap_p"])
    p = 2 * one_sided if row["difference"] else 1.0
    if row["low"] <= 0 <= row["high"]:
        p = max(p, 0.05)
    return min(1.0, p)


Files = tuple[Path, Path]
"""Result files of one training with a, and of one with b."""
Answers = dict[Question, float]
KEYS = ("variant", "size", "value", "n")
UNLIKE = "not compared, because the denominator depends on the tokenizer and differs"
WITHOUT = "  Without answers at {}: one tokenizer has fewer tokens than the other."
RIGHT = "share of correct answers, over all sizes"
OF_TOKENS = ("corpus_token_count", "relative_corpus_token_count", "bytes_per_token", "fertility")
"""Metrics that are token counts divided by a common denominator."""
AVERAGE = "mean accuracy over cells (one per vocabulary size and task); p of Wilcoxon's signed-rank test"
BITS = "bits of the evaluation split under the model, divided by its bytes"


def experiment_parts(
    a: ComparedTokenizer, b: ComparedTokenizer, sizes: Sizes, experiment: Path, *, counted: bool = False
) -> list[LineGroup]:
    """Compare by accuracy and bits per byte of each suite, translations of each test, then metrics of each corpus.

    Args:
        a, b: the tokenizers.
        sizes: pairs of sizes to compare.
        experiment: folder of the experiment.
        counted: True if another part counts the tokens of its evaluation splits; metrics that restate them are then
            omitted from the verdict. Default: False.
    """
    own = []
    if (rows := _measured(a.name, b.name, experiment)) is not None:
        aligned, rest = alignment_part(a.name, b.name, sizes, rows, experiment)
        own = [aligned, *_intrinsic(a.name, b.name, sizes, rest, OF_TOKENS if counted else ())]
    return _downstream(a, b, sizes, experiment) + translation_parts(a.name, b.name, sizes, experiment) + own


def _measured(a: str, b: str, experiment: Path) -> pl.DataFrame | None:
    """Return the metrics of the two on complete texts and resources; None if the experiment has no tables."""
    path = experiment / "tables" / "intrinsic.parquet"
    if not path.is_file():
        return None
    rows = read_frame(path, "tabulate again").filter(pl.col("language") == "", pl.col("variant").is_in([a, b]))
    return rows.drop_nulls("value").sort("corpus", "metric", "definition")


def _intrinsic(a: str, b: str, sizes: Sizes, rows: pl.DataFrame, restating: Sequence[str]) -> list[LineGroup]:
    """Compare metrics that have a direction, one part per corpus and subject; each is a single number."""
    parts = []
    for (corpus,), part in rows.group_by("corpus", maintain_order=True):
        measures = part.select("metric", "definition").unique().rows()
        for subject, named in by_subject((metric, text) for metric, text in measures if direction(metric)):
            lines, notes = [], []
            for (metric, definition), name in named:
                found, unlike = _single_numbers(name, (metric, definition), (a, b), sizes, part)
                lines += [replace(line, restates=metric in restating) for line in found]
                if found or unlike:
                    end = UNLIKE if unlike else f"{direction(metric)} is best"
                    notes.append(f"  {name}: {definition}; {end}.")
            heading = f"{subject.title}, measured on {corpus}; single numbers without intervals"
            parts.append(LineGroup(heading, "real", "real", lines, notes))
    return parts


def _single_numbers(
    name: str, measure: Measure, names: tuple[str, str], sizes: Sizes, rows: pl.DataFrame
) -> tuple[list[Line], bool]:
    """Return a line for each size with both values, and True if any size was skipped for different denominators."""
    metric, definition = measure
    end = direction(metric)
    same = rows.filter(metric=metric, definition=definition).select(KEYS)
    values = {(variant, size): (value, n) for variant, size, value, n in same.iter_rows()}
    lines, unlike = [], False
    for size_a, size_b in sizes:
        of_a, of_b = values.get((names[0], size_a)), values.get((names[1], size_b))
        if of_a is None or of_b is None or end is None:
            continue
        if requires_equal_n(metric, definition) and of_a[1] != of_b[1]:
            unlike = True
            continue
        contrast = Contrast(of_a[0], of_b[0], of_a[0] - of_b[0], None, None, 1)
        label = f"{name}, {size_label(size_a, size_b)}"
        lines.append(Line(label, contrast, end, words(metric), definition, sizes=[(size_a, size_b)]))
    return lines, unlike


def _downstream(a: ComparedTokenizer, b: ComparedTokenizer, sizes: Sizes, experiment: Path) -> list[LineGroup]:
    """Compare accuracy by task and bits per byte, for each model and suite with results for both tokenizers.

    Models that differ only in their seed are one model with several trainings.
    """
    found: defaultdict[tuple[str, str], dict[tuple[int, int], list[Files]]] = defaultdict(dict)
    names = sorted(path.name for path in (experiment / "downstream").glob("*"))
    common = {model: name for model, (name, _) in same_but_for_seed(_options(experiment, names)).items()}
    for size_a, size_b in sizes:
        for path in sorted((experiment / "downstream").glob(f"*/{a.name}/{size_a}/*.json")):
            model, suite = path.parts[-4], path.stem
            other = experiment / "downstream" / model / b.name / str(size_b) / path.name
            if other.is_file():
                of = (common.get(model, model), suite)
                found[of].setdefault((size_a, size_b), []).append((path, other))
    shown, apart = distinct(a, b), unequal(a, b, sizes)
    return [part for (model, suite), files in found.items() for part in _answers(model, suite, files, shown, apart)]


def _options(experiment: Path, models: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the options of each model from a manifest of one training; models without a manifest are omitted."""
    found = {}
    for model in models:
        folders = sorted(path.parent for path in (experiment / "models" / model).glob("*/*/manifest.json"))
        if folders and (options := settings_of(folders[0]).get("options")):
            found[model] = {key: value for key, value in options.items() if key != "resources"}
    return found


def _answers(
    model: str,
    suite: str,
    files: Mapping[tuple[int, int], Sequence[Files]],
    names: tuple[str, str],
    apart: Collection[tuple[int, int]],
) -> list[LineGroup]:
    """Compare accuracy over all sizes, and bits per byte at each size, as means over seeds.

    Sizes at which one tokenizer has fewer tokens are excluded from the accuracy, unless there are no others.
    """
    questions: dict[str, tuple[Answers, Answers]] = {}
    cells: dict[Cell, float] = {}
    bits = []
    sizes = [pair for pair in files if pair not in apart] or list(files)
    smaller = [pair for pair in files if pair not in sizes]
    under = f"with the language model {model}"
    for place, (pair, of_seeds) in enumerate(files.items()):
        results = [[read_result(path, "evaluate the model again", lenient=True) for path in both] for both in of_seeds]
        tasks = set.intersection(*(set(one["tasks"]) for both in results for one in both)) if pair in sizes else set()
        for task in sorted(tasks):
            of_task = [[one["tasks"][task] for one in both] for both in results]
            for side, answers in enumerate(questions.setdefault(task, ({}, {}))):
                answers |= {(place, document): share for document, share in _shares([one[side] for one in of_task])}
            if all(one["accuracy"] is not None for both in of_task for one in both):
                apart_by = [of_a["accuracy"] - of_b["accuracy"] for of_a, of_b in of_task]
                cells[place, task] = fsum(apart_by) / len(apart_by)
        known = [both for both in results if all(one["bits_per_byte"] is not None for one in both)]
        texts = [[one["bits_per_byte_of"]["by_document"] for one in both] for both in known]
        if texts:
            of_a, of_b = ([[text["bits"] for text in both[side]] for both in texts] for side in (0, 1))
            if found := bits_over_seeds(of_a, of_b, [text["bytes"] for text in texts[0][0]]):
                label = size_label(*pair)
                bits.append(
                    Line(label, found, "lowest", "bits per byte", BITS, sizes=[pair], under=under, trainings=len(texts))
                )
    trained = min(len(files[pair]) for pair in sizes)
    why = why_untested(trained)
    lines = [
        Line(task, found, "highest", task, RIGHT, sizes=sizes, under=under, trainings=trained)
        for task, both in questions.items()
        if (found := answered(*both))
    ]
    part = LineGroup(f"{model} on {suite}, accuracy in percent; intervals over questions", "percent", "percent", lines)
    if lines:
        if smaller:
            part.notes.append(WITHOUT.format(listed([size_label(*pair) for pair in smaller])))
        part.notes.append(f"  {why.capitalize()}." if why else f"  Means over {trained} seeds.")
    if cells and lines:
        over, other = differences(cells)
        means = [sum(getattr(line.contrast, one) for line in lines) / len(lines) for one in ("a", "b")]
        if over.mean_difference is not None:
            tested = over.p_value is not None and other.p_value is not None
            p_value = min(1.0, 2 * min(over.p_value or 1.0, other.p_value or 1.0)) if tested else None
            average = Contrast(means[0], means[1], over.mean_difference, over.low, over.high, len(cells), p_value)
            name = f"the average of the suite {suite}"
            lines.append(
                Line("average", average, "highest", name, AVERAGE, sizes=sizes, under=under, trainings=trained)
            )
        if over.p_value is not None and not why and not set(sizes) & set(apart):
            part.notes.append(
                "  average: intervals are over cells (one per size and task). One-sided exact Wilcoxon signed-rank "
                f"test over them: p = {probability(over.p_value)} that {names[0]} is better, "
                f"p = {probability(other.p_value or 1.0)} that {names[1]} is."
            )
    several = all(len(of_seeds) > 1 for of_seeds in files.values())
    over_what = "seeds and documents" if several else "documents"
    heading = f"{model}, bits per byte of held-out text; intervals over {over_what}"
    notes = [f"  {one.capitalize()}." for one in dict.fromkeys(line.untested for line in bits if line.untested)]
    return [part, LineGroup(heading, "real", "real", bits, notes)]


def _shares(trainings: Sequence[Mapping[str, Any]]) -> Iterator[tuple[int, float]]:
    """Yield the questions that all trainings answered, each with the share of correct answers."""
    answers = [{row["document"]: float(row["correct"]) for row in one["documents"]} for one in trainings]
    for document in answers[0]:
        if all(document in one for one in answers):
            yield document, fsum(one[document] for one in answers) / len(answers)
