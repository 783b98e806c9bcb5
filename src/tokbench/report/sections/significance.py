"""Signs after numbers: verdicts on accuracies that are compared with the best, and shared ranks."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tokbench.report.figures.p_values import SIGNIFICANCE
from tokbench.statistics.verdicts import NOT_TESTED

Marks = dict[tuple[int, str], str]
"""A sign by (row index, column name)."""
FEWEST = 5
"""Differences that allow a p-value under 0.05: with four, all to one side, it is 1 / 16."""
TOO_FEW = " Fewer than five scores differ, and then p is always above 0.05."
ALIKE, UNCORRECTED, SHARED = "†", "‡", "="
BELOW, UNSURE = "↓", "○"
"""Signs of a number that is significantly worse than the best, and of one that is not tested."""


def rank_marks(rows: pl.DataFrame, comparisons: pl.DataFrame | None, model: str, suite: str) -> tuple[Marks, list[str]]:
    """Shared ranks, and the verdict of the Wilcoxon test on each average that is ranked below the best.

    Args:
        rows: columns ``rank``, ``variant``, ``average``, one row per variant.
        comparisons: one-sided p-values of every ordered pair, ``holm`` adjusted where there, and ``n``, its differences
            that are not zero; None where not tested.
        model, suite: whose averages these are.

    Returns:
        Signs, and what those that occur mean.
    """
    marks: Marks = {}
    differing = []
    untested = NOT_TESTED
    ranks = rows["rank"].to_list()
    for index, rank in enumerate(ranks):
        if rank is not None and ranks.count(rank) > 1:
            marks[index, "rank"] = SHARED
    best = [row["variant"] for row in rows.iter_rows(named=True) if row["rank"] == 1]
    if comparisons is not None and best:
        tested = comparisons.filter(model=model, suite=suite, a=best[0])
        found = {row["b"]: row for row in tested.iter_rows(named=True)}
        first = rows["variant"].to_list().index(best[0])
        for index, row in enumerate(rows.iter_rows(named=True)):
            pair = found.get(row["variant"])
            if row["rank"] is None or index == first:
                continue
            if pair is None or pair["p_value"] is None:
                marks[index, "average"] = UNSURE
                untested = (pair or {}).get("reason") or untested
            elif pair["p_value"] > SIGNIFICANCE:
                marks[index, "average"] = ALIKE
                differing.append(pair["n"])
            elif (pair.get("holm") or 0) > SIGNIFICANCE:
                marks[index, "average"] = UNCORRECTED
            else:
                marks[index, "average"] = BELOW
    test = f"one-sided Wilcoxon signed-rank test against {best[0]} over sizes and tasks" if best else ""
    corrected = ", after Holm's correction" if comparisons is not None and "holm" in comparisons.columns else ""
    few = max(differing, default=FEWEST) < FEWEST
    meanings = {
        SHARED: "shares its rank.",
        ALIKE: f"no significant difference from the best: p > {SIGNIFICANCE} by the {test}.{TOO_FEW * few}",
        UNCORRECTED: f"significantly below the best (p ≤ {SIGNIFICANCE}), but not after Holm's correction.",
        BELOW: f"significantly below the best: p ≤ {SIGNIFICANCE} by that test{corrected}.",
        UNSURE: f"{untested}.",
    }
    return marks, _explained(marks, meanings)


def accuracy_marks(
    rows: Sequence[Mapping[str, Any]], tests: pl.DataFrame | None, why_not: str = ""
) -> tuple[Marks, list[str]]:
    """Verdicts of the tests over questions on accuracies below the best of their column.

    Args:
        rows: ``variant``, and the accuracies of tasks and their ``average``.
        tests: ``variant``, ``task`` (empty for the average) and the two-sided ``p_value`` against the best, of one
            model, suite and size; None where not tested.
        why_not: reason why nothing is tested, for the sign of such numbers.

    Returns:
        Signs by (index of the row, column), and what they mean.
    """
    marks: Marks = {}
    if tests is not None:
        p_values = {(row["variant"], row["task"] or "average"): row["p_value"] for row in tests.iter_rows(named=True)}
        for column in (name for name in rows[0] if name != "variant"):
            best = max((row[column] for row in rows if row[column] is not None), default=0)
            for index, row in enumerate(rows):
                if (row["variant"], column) not in p_values or row[column] is None or row[column] >= best:
                    continue
                p_value = p_values[row["variant"], column]
                marks[index, column] = UNSURE if p_value is None else ALIKE if p_value > SIGNIFICANCE else BELOW
    meaning = (
        f"no significant difference from the highest: p > {SIGNIFICANCE}, two-sided, uncorrected, over the same "
        "questions; of a task by the exact sign test (McNemar's), of the average by the paired bootstrap."
    )
    below = f"significantly below the highest: p ≤ {SIGNIFICANCE} by these tests."
    return marks, _explained(marks, {ALIKE: meaning, BELOW: below, UNSURE: f"{why_not or NOT_TESTED}."})


def _explained(marks: Marks, meanings: Mapping[str, str]) -> list[str]:
    present = set(marks.values())
    return [f"{sign} {meaning}" for sign, meaning in meanings.items() if sign in present]
