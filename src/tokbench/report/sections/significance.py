"""Signs after numbers: which accuracies are not told apart from the best, and which ranks are shared."""

from collections.abc import Mapping, Sequence
from math import sqrt
from typing import Any

import polars as pl

from tokbench.report.figures.p_values import SIGNIFICANCE

Marks = dict[tuple[int, str], str]
"""A sign by (row index, column name)."""
ALIKE, UNCORRECTED, SHARED = "†", "‡", "="
_Z = 1.959964
"""The normal distribution leaves 0.05 beyond it, on both sides together."""


def rank_marks(rows: pl.DataFrame, comparisons: pl.DataFrame | None, model: str, suite: str) -> tuple[Marks, list[str]]:
    """Shared ranks, and averages that the Wilcoxon test does not tell apart from the best.

    Args:
        rows: columns ``rank``, ``variant``, ``average``, one row per variant.
        comparisons: one-sided p-values of every ordered pair, ``holm`` adjusted where there; None where not tested.
        model, suite: whose averages these are.

    Returns:
        Signs, and what those that occur mean.
    """
    marks: Marks = {}
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
            if pair is None or row["average"] is None:
                continue
            if pair["p_value"] > SIGNIFICANCE:
                marks[index, "average"] = ALIKE
            elif (pair.get("holm") or 0) > SIGNIFICANCE:
                marks[index, "average"] = UNCORRECTED
    test = f"one-sided Wilcoxon signed-rank test against {best[0]} over sizes and tasks" if best else ""
    meanings = {
        SHARED: "shares its rank.",
        ALIKE: f"not significantly below the best: p > {SIGNIFICANCE} by the {test}.",
        UNCORRECTED: f"significantly below the best (p ≤ {SIGNIFICANCE}), but not after Holm's correction.",
    }
    return marks, _explained(marks, meanings)


def accuracy_marks(
    rows: Sequence[Mapping[str, Any]], errors: Mapping[tuple[str, str], float | None], tasks: Sequence[str]
) -> tuple[Marks, list[str]]:
    """Accuracies that the number of questions does not tell apart from the best of their column.

    The two-sided z test of two independent shares: it takes the questions of the two as drawn apart, which the same
    questions are not, so that it tells apart too little rather than too much.

    Args:
        rows: ``variant``, the accuracy of each task and their ``average``, as shares.
        errors: standard error by (variant, task).
        tasks: the tasks.

    Returns:
        Signs by (index of the row, column), and what they mean.
    """
    marks: Marks = {}
    for name in [*tasks, "average"]:
        known = [(row[name], _error(row["variant"], name, errors, tasks), index) for index, row in enumerate(rows)]
        told = [(value, error, index) for value, error, index in known if value is not None and error is not None]
        if not told:
            continue
        best, spread, first = max(told, key=lambda one: (one[0], -one[2]))
        for value, error, index in told:
            if index != first and value < best and best - value <= _Z * sqrt(spread**2 + error**2):
                marks[index, name] = ALIKE
    meaning = f"not significantly below the highest: two-sided z test of two shares, p > {SIGNIFICANCE}, uncorrected."
    return marks, _explained(marks, {ALIKE: meaning})


def _error(
    variant: str, name: str, errors: Mapping[tuple[str, str], float | None], tasks: Sequence[str]
) -> float | None:
    if name != "average":
        return errors.get((variant, name))
    every = [errors.get((variant, task)) for task in tasks]
    known = [error for error in every if error is not None]
    return sqrt(sum(error**2 for error in known)) / len(tasks) if len(known) == len(tasks) else None


def _explained(marks: Marks, meanings: Mapping[str, str]) -> list[str]:
    present = set(marks.values())
    return [f"{sign} {meaning}" for sign, meaning in meanings.items() if sign in present]
