"""Signs after numbers: which accuracies are not told apart from the best, and which ranks are shared."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tokbench.report.figures.p_values import SIGNIFICANCE

Marks = dict[tuple[int, str], str]
"""A sign by (row index, column name)."""
FEWEST = 5
"""Differences that allow a p-value under 0.05: with four, all to one side, it is 1 / 16."""
TOO_FEW = " Fewer than five scores differ, and then p is always above 0.05."
ALIKE, UNCORRECTED, SHARED = "†", "‡", "="


def rank_marks(rows: pl.DataFrame, comparisons: pl.DataFrame | None, model: str, suite: str) -> tuple[Marks, list[str]]:
    """Shared ranks, and averages that the Wilcoxon test does not tell apart from the best.

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
    ranks = rows["rank"].to_list()
    for index, rank in enumerate(ranks):
        if rank is not None and ranks.count(rank) > 1:
            marks[index, "rank"] = SHARED
    best = [row["variant"] for row in rows.iter_rows(named=True) if row["rank"] == 1]
    if comparisons is not None and best:
        tested = comparisons.filter(model=model, suite=suite, a=best[0]).drop_nulls("p_value")
        found = {row["b"]: row for row in tested.iter_rows(named=True)}
        for index, row in enumerate(rows.iter_rows(named=True)):
            pair = found.get(row["variant"])
            if pair is None or row["rank"] is None:
                continue
            if pair["p_value"] > SIGNIFICANCE:
                marks[index, "average"] = ALIKE
                differing.append(pair["n"])
            elif (pair.get("holm") or 0) > SIGNIFICANCE:
                marks[index, "average"] = UNCORRECTED
    test = f"one-sided Wilcoxon signed-rank test against {best[0]} over sizes and tasks" if best else ""
    few = max(differing, default=FEWEST) < FEWEST
    meanings = {
        SHARED: "shares its rank.",
        ALIKE: f"not significantly below the best: p > {SIGNIFICANCE} by the {test}.{TOO_FEW * few}",
        UNCORRECTED: f"significantly below the best (p ≤ {SIGNIFICANCE}), but not after Holm's correction.",
    }
    return marks, _explained(marks, meanings)


def accuracy_marks(rows: Sequence[Mapping[str, Any]], tests: pl.DataFrame | None) -> tuple[Marks, list[str]]:
    """Accuracies that the questions do not tell apart from the best of their column.

    Args:
        rows: ``variant``, and the accuracies of tasks and their ``average``.
        tests: ``variant``, ``task`` (empty for the average) and the two-sided ``p_value`` against the best, of one
            model, suite and size; None where not tested.

    Returns:
        Signs by (index of the row, column), and what they mean.
    """
    marks: Marks = {}
    if tests is not None:
        p_values = {(row["variant"], row["task"] or "average"): row["p_value"] for row in tests.iter_rows(named=True)}
        for column in (name for name in rows[0] if name != "variant"):
            best = max((row[column] for row in rows if row[column] is not None), default=0)
            for index, row in enumerate(rows):
                p_value = p_values.get((row["variant"], column))
                if p_value is not None and p_value > SIGNIFICANCE and row[column] is not None and row[column] < best:
                    marks[index, column] = ALIKE
    meaning = (
        f"not significantly below the highest: p > {SIGNIFICANCE}, two-sided, uncorrected, over the same questions; of "
        "a task by the exact sign test (McNemar's), of the average by the paired bootstrap."
    )
    return marks, _explained(marks, {ALIKE: meaning})


def _explained(marks: Marks, meanings: Mapping[str, str]) -> list[str]:
    present = set(marks.values())
    return [f"{sign} {meaning}" for sign, meaning in meanings.items() if sign in present]
