"""Signs of significance next to average accuracies and accuracies by task."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.figures.differences import SIGNIFICANCE
from tokbench.report.wording import join_all
from tokbench.statistics.comparisons.task_measures import TASK_MEASURE_COMPARISONS
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE

Marks = dict[tuple[int, str], str]
"""A sign by (row index, column name)."""
FEWEST = 5
"""Fewest differences that allow a p-value under 0.05: with four of one sign, it is 1 / 16."""
ALIKE, SHARED = "†", "="
BELOW, UNSURE = "↓", "○"
"""Signs of values that are significantly worse than the reference, and of values that are not tested."""
Tested = Mapping[tuple[str, frozenset[str]], tuple[str, str | None]]
"""Verdict and reason by column and pair of variants."""


def rank_marks(rows: pl.DataFrame, tested: Tested) -> tuple[Marks, list[str]]:
    """Return signs of shared ranks, and of the tests on each average at one size below the best.

    An average over sizes is not tested: sizes are no sample of sizes.

    Args:
        rows: one row per variant: ``rank``, ``variant``, ``average``, and the averages by size.
        tested: verdicts at each size, see :func:`verdicts_by_size`.

    Returns:
        Signs, and explanations of those that occur.
    """
    marks: Marks = {}
    ranks = rows["rank"].to_list()
    for index, rank in enumerate(ranks):
        if rank is not None and ranks.count(rank) > 1:
            marks[index, "rank"] = SHARED
    sizes = [name for name in rows.columns if name.isdecimal()]
    if len(sizes) == 1:  # The average is that of the only size, which has no column.
        tested = {("average", pair): verdict for (_, pair), verdict in tested.items()}
        sizes = ["average"]
    below, notes = accuracy_marks(rows.select("variant", *sizes).rows(named=True), tested)
    return marks | below, [*_explanations(marks, {SHARED: "shares its rank."}), *notes]


def accuracy_marks(rows: Sequence[Mapping[str, Any]], tested: Tested) -> tuple[Marks, list[str]]:
    """Return signs of the tests on accuracies below the best of their column.

    Args:
        rows: ``variant``, and accuracies by column.
        tested: verdicts of pairs by column, see :func:`verdicts_by_task` and :func:`verdicts_by_size`.

    Returns:
        Signs by (row index, column), and explanations of those that occur.
    """
    marks: Marks = {}
    reasons: dict[str, None] = {}
    for column in (name for name in rows[0] if name != "variant"):
        known = [row for row in rows if row[column] is not None]
        best = max(known, key=lambda row: row[column], default=None)
        for index, row in enumerate(rows):
            if best is None or row[column] is None or row[column] >= best[column]:
                continue
            test = tested.get((column, frozenset((row["variant"], best["variant"]))))
            if test is not None:
                verdict, reason = test
                marks[index, column] = {NO_DIFFERENCE: ALIKE, NOT_TESTED: UNSURE}.get(verdict, BELOW)
                reasons |= dict.fromkeys([reason or NOT_TESTED] * (verdict == NOT_TESTED))
    meaning = (
        f"no significant difference from the highest: p > {SIGNIFICANCE} over seeds and the same questions, corrected "
        "for all pairs (Holm)."
    )
    below = "significantly below the highest by the same test."
    return marks, _explanations(marks, {ALIKE: meaning, BELOW: below, UNSURE: f"{join_all(list(reasons))}."})


def _accuracy_tests(content: ReportContent, model: str, suite: str) -> pl.DataFrame:
    """Return the comparisons of accuracies under a model and suite; those over tasks only for one source corpus."""
    tests = content.part(TASK_MEASURE_COMPARISONS.name)
    if tests is None:
        return pl.DataFrame(schema=TASK_MEASURE_COMPARISONS.schema)
    tests = tests.filter(model=model, suite=suite, measure="accuracy")
    several = tests["source_corpus"].n_unique() > 1
    return tests.filter(pl.col("task") != "") if several else tests


def verdicts_by_task(content: ReportContent, model: str, suite: str, size: int) -> Tested:
    """Return the verdicts at one size by task ("average" for the mean over tasks) and pair."""
    rows = _accuracy_tests(content, model, suite).filter(size=size).iter_rows(named=True)
    return {
        (row["task"] or "average", frozenset((row["a"], row["b"]))): (row["verdict"], row["reason"]) for row in rows
    }


def verdicts_by_size(content: ReportContent, model: str, suite: str) -> Tested:
    """Return the verdicts on means over tasks by size, as text, and pair."""
    rows = _accuracy_tests(content, model, suite).filter(task="").iter_rows(named=True)
    return {(str(row["size"]), frozenset((row["a"], row["b"]))): (row["verdict"], row["reason"]) for row in rows}


def _explanations(marks: Marks, meanings: Mapping[str, str]) -> list[str]:
    present = set(marks.values())
    return [f"{sign} {meaning}" for sign, meaning in meanings.items() if sign in present]


def any_significant(tested: Tested) -> bool:
    """Return True if any two tokenizers differ significantly, or if nothing was compared."""
    return not tested or any(verdict in (BETTER, WORSE) for verdict, _ in tested.values())
