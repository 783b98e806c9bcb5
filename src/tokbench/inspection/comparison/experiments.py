"""Comparison of two tokenizers of an experiment, from its tables.

Tests are those of the experiment: each measure is corrected for all pairs of the experiment, not only for the two that
are asked for.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.named_tokenizers import NamedTokenizer
from tokbench.inspection.comparison.sides import Sizes, size_label
from tokbench.inspection.comparison.terminal import Line, LineGroup, single_number
from tokbench.io.tables import read_frame
from tokbench.metric import Direction, direction, requires_equal_n
from tokbench.report.sections.subjects import Measure, by_subject
from tokbench.report.wording import join_all, words
from tokbench.statistics.comparisons.families import ACCURACY, ALIGNMENT, BITS, GAP, NGRAM, TOKENS
from tokbench.statistics.comparisons.paired_comparisons import PAIRED_COMPARISONS
from tokbench.statistics.comparisons.translations import TRANSLATION_COMPARISONS
from tokbench.statistics.significance.judgements import reversed_row
from tokbench.statistics.significance.verdicts import NOT_TESTED, in_full

KEYS = ("variant", "size", "value", "n")
UNLIKE = "not compared, because the denominator depends on the tokenizer and differs"
OF_TOKENS = ("corpus_token_count", "relative_corpus_token_count", "bytes_per_token", "fertility")
"""Metrics that are token counts divided by a common denominator."""
OWN_WORDS = (
    "  The words differ: each tokenizer is scored on words that are not tokens, but whose morphemes all are tokens."
)
MAIN = {TOKENS: "token count", NGRAM: "bits per byte of token n-grams", BITS: "bits per byte", ACCURACY: "accuracy",
        ALIGNMENT: "alignment with morphemes"}  # fmt: skip
"""Names of the measures that have a sentence."""
HIGHEST = (ACCURACY, ALIGNMENT, "answer_probability", "change_of_accuracy")
"""Measures whose highest value is the best; of all others, it is the lowest."""
PERCENT = (ACCURACY, "answer_probability", "change_of_accuracy", "loss_of_accuracy")
AS_PAPERS = "bootstrap over sentences, as the papers do it; it does not cover seeds"
OF_GROUP = ("measure", "corpus", "model", "suite", "definition")


def experiment_parts(a: NamedTokenizer, b: NamedTokenizer, sizes: Sizes, experiment: Path) -> list[LineGroup]:
    """Return the comparisons of two tokenizers in an experiment's tables, then single numbers.

    Args:
        a, b: the tokenizers.
        sizes: pairs of sizes to compare.
        experiment: folder of the experiment.

    Raises:
        TokbenchError: the experiment has no table of comparisons.
    """
    path = experiment / PAIRED_COMPARISONS.folder / f"{PAIRED_COMPARISONS.name}.parquet"
    if not path.is_file():
        raise TokbenchError(f"{experiment}: no table of comparisons; run the experiment to its end, or name texts")
    equal = [size for size, other in sizes if size == other]
    both = pl.col("a").is_in([a.name, b.name]) & pl.col("b").is_in([a.name, b.name])
    rows = read_frame(path, "analyse again").filter(both, pl.col("size").is_in(equal))
    parts = [
        _part(dict(zip(OF_GROUP, key, strict=True)), part, b.name)
        for key, part in rows.group_by(*OF_GROUP, maintain_order=True)
    ]
    parts += translation_parts(a.name, b.name, equal, experiment)
    measured = _measured(a.name, b.name, experiment)
    return parts + ([] if measured is None else _intrinsic(a.name, b.name, sizes, measured))


def _part(of: dict[str, Any], rows: pl.DataFrame, other: str) -> LineGroup:
    """Return the lines of one measure, of each size and task."""
    measure = of["measure"]
    better: Direction = "highest" if measure in HIGHEST else "lowest"
    kind: Any = "count" if measure == TOKENS else "percent" if measure in PERCENT or measure == GAP else "real"
    lines = []
    for row in rows.sort("task", "size", nulls_last=False).iter_rows(named=True):
        forth = row if row["a"] == other else reversed_row(row, relative=measure == TOKENS)
        name = ", ".join(filter(None, [row["task"], f"{row['size']:,}"]))
        main = measure in MAIN and not row["task"] and row["definition"] != "over languages"
        lines.append(Line(name, forth, better, MAIN.get(measure, words(measure)), main=main))
    where = [f"{of['model']} on {of['suite']}" if of["model"] else "", of["corpus"] or "", of["definition"] or ""]
    heading = f"{MAIN.get(measure, words(measure)).capitalize()}: {join_all(list(filter(None, where)))}"
    notes = [OWN_WORDS] * (measure == ALIGNMENT)
    return LineGroup(heading, kind, "share" if measure == TOKENS else kind, lines, notes)


def translation_parts(a: str, b: str, sizes: Sequence[int], experiment: Path) -> list[LineGroup]:
    """Return the scores of translation models, with the papers' bootstrap, which is no test of this project."""
    path = experiment / TRANSLATION_COMPARISONS.folder / f"{TRANSLATION_COMPARISONS.name}.parquet"
    if not path.is_file():
        return []
    rows = read_frame(path, "analyse again").filter(pl.col("size").is_in(sizes))
    parts = []
    for (model, test), part in rows.group_by("model", "test", maintain_order=True):
        lines = []
        for row in part.iter_rows(named=True):
            if {row["a"], row["b"]} != {a, b}:
                continue
            of = {"value_a": row["score_a"], "value_b": row["score_b"], "unit": "sentences", "holm": None}
            of |= {
                "verdict": NOT_TESTED,
                "reason": in_full(AS_PAPERS),
                "pretokenization_a": "",
                "pretokenization_b": "",
            }
            forth = row | of if row["a"] == b else reversed_row(row | of)
            lines.append(Line(f"{row['metric']}, {row['size']:,}", forth, "highest", row["metric"]))
        if lines:
            heading = f"Translation of {test} by {model}, paired bootstrap over sentences"
            parts.append(LineGroup(heading, "real", "real", lines, [f"  {AS_PAPERS.capitalize()}."]))
    return parts


def _measured(a: str, b: str, experiment: Path) -> pl.DataFrame | None:
    """Return the metrics of the two on complete texts and resources; None if the experiment has no tables."""
    path = experiment / "tables" / "intrinsic.parquet"
    if not path.is_file():
        return None
    rows = read_frame(path, "tabulate again").filter(pl.col("language") == "", pl.col("variant").is_in([a, b]))
    return rows.drop_nulls("value").sort("corpus", "metric", "definition")


def _intrinsic(a: str, b: str, sizes: Sizes, rows: pl.DataFrame) -> list[LineGroup]:
    """Compare metrics that have a direction, one part per corpus and subject; each is a single number."""
    parts = []
    for (corpus,), part in rows.group_by("corpus", maintain_order=True):
        measures = part.select("metric", "definition").unique().rows()
        for subject, named in by_subject((metric, text) for metric, text in measures if direction(metric)):
            lines: list[Line] = []
            notes = []
            for measure, name in named:
                single, unlike = _single_numbers(name, measure, (a, b), sizes, part)
                lines += single
                if single or unlike:
                    end = UNLIKE if unlike else f"{direction(measure[0])} is best"
                    notes.append(f"  {name}: {measure[1]}; {end}.")
            heading = f"{subject.title}, measured on {corpus}; single numbers without intervals"
            parts.append(LineGroup(heading, "real", "real", lines, notes))
    return parts


def _single_numbers(
    name: str, measure: Measure, names: Sequence[str], sizes: Sizes, rows: pl.DataFrame
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
        row = single_number(names[0], names[1], of_a[0], of_b[0], definition)
        label = f"{name}, {size_label(size_a, size_b)}"
        lines.append(Line(label, row, end, words(metric), restates=metric in OF_TOKENS))
    return lines, unlike
