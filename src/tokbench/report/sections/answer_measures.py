"""Measures of answers that are smooth in the model's probabilities, and their power next to that of accuracy."""

from dataclasses import replace

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Exhibit, Heading, Table
from tokbench.report.sections.rows import rows
from tokbench.report.wording import format_value, pluralise, slug
from tokbench.statistics.comparisons.perturbed_answers import PERTURBED_COMPARISONS, PERTURBED_MEASURES
from tokbench.statistics.comparisons.question_groups import ACCURACY
from tokbench.statistics.comparisons.task_measures import TASK_MEASURE_COMPARISONS, TASK_MEASURES
from tokbench.statistics.planning.measure_power import MEASURE_POWER
from tokbench.statistics.significance.eligibility import RANKED_FROM
from tokbench.statistics.significance.wilcoxon import DECIMALS
from tokbench.tabulation.table import TidyTable

NAMES = {
    "accuracy": "accuracy",
    "answer_bits_per_byte": "bits per byte of the right answer",
    "answer_probability": "probability of the right answer",
}


def answer_measures(content: ReportContent) -> list[Exhibit]:
    """Return the measures of answers by model and suite: their power, comparisons of variants, and their values.

    Comparisons are left out if every model was trained once, because nothing is tested; so is power if accuracy is the
    only measure.

    Args:
        content: content of the report.
    """
    power, values = content.part(MEASURE_POWER.name), content.part(TASK_MEASURES.name)
    if values is None:
        return []
    exhibits: list[Exhibit] = []
    for model, suite in values.select("model", "suite").unique(maintain_order=True).iter_rows():
        part = None if power is None else power.filter(model=model, suite=suite)
        tables = []
        if part is not None and not set(part["measure"]) <= {ACCURACY.name}:
            tables.append(replace(_table(content, MEASURE_POWER, part), finding=first(part)))
        for table, wanted in (
            (TASK_MEASURE_COMPARISONS, (pl.col("task") == "") & (pl.col("seeds") > 1)),
            (TASK_MEASURES, pl.lit(True)),
        ):
            frame = content.part(table.name)
            rest = None if frame is None else frame.filter(wanted, model=model, suite=suite)
            if rest is not None and rest.height:
                tables.append(_table(content, table, rest))
        if len(set(values.filter(model=model, suite=suite)["variant"])) > 1:
            title = f"Answers of {model} on {suite}"
            exhibits += [Heading(slug("answer-measures", model, suite), title), *tables]
    return exhibits


def perturbed_answers(content: ReportContent) -> list[Exhibit]:
    """Return the changes of answers under perturbations of the questions by model and suite, and their comparisons.

    Both are means over tasks. Comparisons are left out if every model was trained once, because nothing is tested.

    Args:
        content: content of the report.
    """
    measures, compared = (content.part(table.name) for table in (PERTURBED_MEASURES, PERTURBED_COMPARISONS))
    if measures is None:
        return []
    exhibits: list[Exhibit] = []
    for (model, suite), every in measures.filter(task="").group_by("model", "suite", maintain_order=True):
        part = _rows_of_kinds(every)
        title = f"Answers of {model} on {suite} to perturbed questions"
        exhibits.append(Heading(slug("perturbed-answers", str(model), str(suite)), title))
        exhibits.append(replace(_table(content, PERTURBED_MEASURES, part), finding=largest_change(part)))
        if compared is not None:
            rest = compared.filter(pl.col("seeds") > 1, task="", model=model, suite=suite)
            if rest.height:
                exhibits.append(_table(content, PERTURBED_COMPARISONS, _rows_of_kinds(rest)))
    return exhibits


def _rows_of_kinds(part: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without means over kinds, if there is only one kind."""
    several = part.filter(pl.col("kind") != "")["kind"].n_unique() > 1
    return part if several else part.filter(pl.col("kind") != "")


def largest_change(part: pl.DataFrame) -> str:
    """Return the number of changes of accuracy whose interval excludes zero, and the kind with the largest one.

    Args:
        part: rows of :data:`tokbench.statistics.comparisons.perturbed_answers.PERTURBED_MEASURES` of one model and
            suite.
    """
    changes = part.filter(pl.col("kind") != "", measure=ACCURACY.name).drop_nulls(["low", "high"])
    if changes.is_empty():
        return ""
    clear = changes.filter((pl.col("low") > 0) | (pl.col("high") < 0))
    if clear.is_empty():
        return "no 95 % interval of a change of accuracy excludes zero"
    size = pl.col("difference").abs().round(DECIMALS)
    row = clear.sort(size, descending=True, maintain_order=True).row(0, named=True)
    share = f"{len(clear)} of {pluralise(len(changes), 'change')} of accuracy: the 95 % interval excludes zero"
    return (
        f"{share}; largest: {row['variant']}, {row['kind']}, {format_value(100 * row['difference'], 'real', 1)} points"
    )


def _table(content: ReportContent, table: TidyTable, part: pl.DataFrame) -> Table:
    """Return the table of one model and suite.

    The corpus of the questions is a column if there are several. A single task has no rows in addition to the mean.
    """
    if part.filter(pl.col("task") != "")["task"].n_unique() == 1:
        part = part.filter(task="")
    made = rows(table, content.sort_variants(part), model=part["model"][0], suite=part["suite"][0])
    several = part["source_corpus"].n_unique() > 1
    columns = [column for column in made.columns if several or column.name != "source_corpus"]
    return replace(made, columns=columns)


def first(part: pl.DataFrame) -> str:
    """Return the measure that separates the variants the most, over the tasks at the largest vocabulary size.

    Args:
        part: rows of :data:`tokbench.statistics.planning.measure_power.MEASURE_POWER` of one model and suite.
    """
    whole = part.filter(pl.col("task") == "", pl.col("size") == pl.col("size").max())
    measures = whole.sort("signal_to_noise", descending=True, maintain_order=True).rows(named=True)
    if not measures:
        return ""
    shown = [row for row in measures if row is measures[0] or row["measure"] == ACCURACY.name]
    ratios = [f"{NAMES[row['measure']]} {format_value(row['signal_to_noise'], 'real', 1)}" for row in shown]
    tests = [row["significant"] for row in measures if row["significant"] is not None]
    if not tests:
        over = " over questions" * (measures[0]["seeds"] < RANKED_FROM)
        return f"not tested; difference / standard error{over}: {', '.join(ratios)}"
    if not any(tests):
        return "no significant difference by any measure"
    sentences = [
        f"{ratio}, {row['significant']} of {pluralise(row['pairs'], 'pair')} significant"
        for ratio, row in zip(ratios, shown, strict=True)
    ]
    finding = "; ".join(sentences)
    return f"{NAMES[shown[0]['measure']]} separates the variants the most; difference / standard error: {finding}"
