"""Average ranks of variants over cells, with Friedman's test and Nemenyi's critical difference."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from tokbench.statistics.cells import Grid, grids, name_cells
from tokbench.statistics.significance.eligibility import Trainings, fewest_trainings, may_rank, why_untested
from tokbench.statistics.significance.friedman import friedman, nemenyi
from tokbench.statistics.significance.verdicts import ALPHA
from tokbench.statistics.significance.wilcoxon import DECIMALS
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized, undersized_at, undersized_sizes
from tokbench.tabulation.columns import MODEL, P_VALUE, REASON, SUITE, VARIANT
from tokbench.tabulation.table import Column, Print, TidyTable


def critical_differences(
    accuracy: pl.DataFrame,
    undersized: Undersized = NO_UNDERSIZED,
    trainings: Trainings | None = None,
    alpha: float = ALPHA,
) -> pl.DataFrame:
    """Return average ranks over all cells, and the critical difference of average ranks.

    Each cell (vocabulary size and task) ranks the variants from 1, the best; ties share their average rank. A variant
    that lacks a cell is left out, and its row names the missing cells. Undersized vocabularies are left out, too.

    Args:
        accuracy: table of accuracies, see :data:`tokbench.statistics.cells.ACCURACY`.
        undersized: variant and size of undersized vocabularies, see :mod:`tokbench.statistics.significance.eligibility`
            (default: none).
        trainings: see :func:`tokbench.statistics.significance.eligibility.fewest_trainings`. Ranks need two trainings,
            tests three.
        alpha: level of Nemenyi's test (default: 0.05).

    Returns:
        One row per model, suite and variant, ordered by average rank: ``average_rank``, ``blocks`` (cells),
        ``friedman`` (chi-squared, corrected for ties) with its ``p_value``, ``critical_difference``, ``reason``.

    Raises:
        TokbenchError: a column is missing, or a cell is duplicated.
    """
    rows: list[dict[str, Any]] = []
    for (model, suite), grid in grids(accuracy).items():
        lacking = {variant: why for variant in grid.accuracies if (why := _why_left_out(grid, variant, undersized))}
        whole = [variant for variant in grid.accuracies if variant not in lacking]
        blocks = len(grid.sizes) * len(grid.tasks)
        head = {"model": model, "suite": suite, "blocks": blocks}
        ranks, statistic, p_value = _ranks(grid, whole)
        critical = nemenyi(len(whole), blocks, alpha) if len(whole) > 1 else None
        reason = None if len(whole) > 1 else f"no other variant {'is ranked in' if undersized else 'has'} all cells"
        trained = fewest_trainings(trainings, model, suite, grid.sizes)
        if why := why_untested(trained):
            statistic, p_value, critical, reason = None, None, None, why
        if not may_rank(trained):
            lacking |= dict.fromkeys(whole, why)
            whole = []
        for variant in sorted(whole, key=lambda variant: (ranks[variant], variant)):
            tests = {"friedman": statistic, "p_value": p_value, "critical_difference": critical, "reason": reason}
            rows.append(head | {"variant": variant, "average_rank": ranks[variant]} | tests)
        rows += [head | {"variant": variant, "reason": why} for variant, why in lacking.items()]
    return CRITICAL_DIFFERENCES.frame(rows)


def _why_left_out(grid: Grid, variant: str, undersized: Undersized) -> str:
    """Return the reason why a variant is not ranked; empty if it is."""
    if cells := grid.missing(variant, grid.sizes):
        return f"missing: {name_cells(cells)}"
    smaller = undersized_sizes([variant], grid.sizes, undersized)
    return undersized_at(smaller) if smaller else ""


def _ranks(grid: Grid, variants: Sequence[str]) -> tuple[dict[str, float], float | None, float | None]:
    """Return average ranks by variant, Friedman's statistic and its p-value (None if nothing differs)."""
    if not variants:
        return {}, None, None
    cells = [(size, task) for size in grid.sizes for task in grid.tasks]
    values = np.array([[grid.accuracies[variant][cell] for variant in variants] for cell in cells])
    ranks, statistic, p_value = friedman(-np.round(values, DECIMALS))
    return dict(zip(variants, ranks, strict=True)), statistic, p_value


CRITICAL_DIFFERENCES = TidyTable(
    "critical_differences",
    "a variant under a model and suite",
    (
        MODEL,
        SUITE,
        VARIANT,
        Column("average_rank", pl.Float64, "mean of the ranks in all cells; ties share their average rank", "",
               "average rank", 2),
        Column("blocks", pl.Int64, "cells (vocabulary size and task) that rank the variants", "cells", "cells"),
        Column("friedman", pl.Float64, "Friedman's chi-squared over all variants, corrected for ties"),
        P_VALUE,
        Column(
            "critical_difference", pl.Float64,
            "Nemenyi's smallest difference of average ranks that is significant at level 0.05", "",
            "critical difference", 2,
        ),
        REASON,
    ),
    maker=critical_differences,
    takes=("accuracy", "undersized", "trainings"),
    prints=(
        Print(
            "statistics",
            "Average rank of each variant over cells (vocabulary size and task), {of}. The lowest is bold, if each was "
            "trained twice or more.",
            ("variant", "average_rank", "blocks", "critical_difference"),
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            name="average-ranks",
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
