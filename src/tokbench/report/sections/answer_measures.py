"""Measures of answers that are smooth in the model's probabilities, and their power next to that of accuracy."""

from dataclasses import replace

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.layout import Exhibit, Heading, Table
from tokbench.report.sections.rows import rows
from tokbench.report.wording import printed, slug
from tokbench.statistics.measure_power import MEASURE_POWER
from tokbench.statistics.task_measures import ACCURACY, TASK_MEASURE_COMPARISONS, TASK_MEASURES
from tokbench.tabulation.table import TidyTable

NAMES = {
    "accuracy": "accuracy",
    "answer_bits_per_byte": "bits per byte of the right answer",
    "answer_probability": "probability of the right answer",
}
CLEAR = 2.0
"""Signal-to-noise ratio below which no measure is said to separate the variants."""


def answer_measures(content: ReportContent) -> list[Exhibit]:
    """Return the measures of answers by model and suite: their power, comparisons of variants, and their values.

    A model and suite has no tables if accuracy is its only measure or there is only one variant. Comparisons are left
    out if every model was trained once, because nothing is tested.

    Args:
        content: content of the report.
    """
    power = content.part(MEASURE_POWER.name)
    if power is None:
        return []
    exhibits: list[Exhibit] = []
    for (model, suite), part in power.group_by("model", "suite", maintain_order=True):
        if set(part["measure"]) <= {ACCURACY.name}:
            continue
        title = f"Measures of the answers of {model} on {suite}"
        exhibits.append(Heading(slug("answer-measures", str(model), str(suite)), title))
        exhibits.append(replace(_table(content, MEASURE_POWER, part), finding=first(part)))
        for table, wanted in (
            (TASK_MEASURE_COMPARISONS, (pl.col("task") == "") & (pl.col("seeds") > 1)),
            (TASK_MEASURES, pl.lit(True)),
        ):
            frame = content.part(table.name)
            rest = None if frame is None else frame.filter(wanted, model=model, suite=suite)
            if rest is not None and rest.height:
                exhibits.append(_table(content, table, rest))
    return exhibits


def _table(content: ReportContent, table: TidyTable, part: pl.DataFrame) -> Table:
    """Return the table of one model and suite; the corpus of the questions is a column if there are several."""
    made = rows(table, content.read(part), model=part["model"][0], suite=part["suite"][0])
    several = part["source_corpus"].n_unique() > 1
    return made if several else replace(made, columns=[one for one in made.columns if one.name != "source_corpus"])


def first(part: pl.DataFrame) -> str:
    """Return the measure that separates the variants the most, over the tasks at the largest vocabulary size.

    Args:
        part: rows of :data:`tokbench.statistics.measure_power.MEASURE_POWER` of one model and suite.
    """
    whole = part.filter(pl.col("task") == "", pl.col("size") == pl.col("size").max()).sort("signal_to_noise")
    if whole.is_empty():
        return ""
    *others, best = whole.rows(named=True)
    ratio = f"difference / standard error {printed(best['signal_to_noise'], 'real', 1)}"
    if best["signal_to_noise"] < CLEAR:
        return f"no measure separates the variants clearly; the highest is {NAMES[best['measure']]} ({ratio})"
    accuracy = next((row for row in others if row["measure"] == ACCURACY.name), None)
    than = f"; accuracy {printed(accuracy['signal_to_noise'], 'real', 1)}" if accuracy else ""
    return f"{NAMES[best['measure']]} separates the variants the most ({ratio}{than})"
