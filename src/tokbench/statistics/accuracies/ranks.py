"""Ranks of variants by average accuracy.

Averages over different cells are not comparable. A variant that lacks a cell of its model and suite has no average and
no rank; its row names the missing cells. An undersized vocabulary has an average and no rank. A model that was trained
once gives no ranks, see :mod:`tokbench.statistics.significance.eligibility`.
"""

from bisect import bisect_right
from collections.abc import Sequence
from math import fsum
from typing import Any

import polars as pl

from tokbench.statistics.cells import Grid, grids, name_cells
from tokbench.statistics.significance.eligibility import FEWER, ONE_TRAINING, Trainings, fewest_trainings, may_rank
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized, undersized_at, undersized_sizes
from tokbench.tabulation.columns import AVERAGE, MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import DIFFERENCE, SHARE, Column, Print, TidyTable

RanksRow = dict[str, Any]
_AVERAGED = (
    AVERAGE,
    Column("rank", pl.Int64, "rank by average, 1 is best; equal averages share the smaller rank; empty for an "
           "undersized vocabulary and for a model that was trained once"),
    Column("random_baseline", pl.Float64, "mean over tasks of the expected accuracy of guessing", SHARE),
    Column("above_random", pl.Float64, "average − random_baseline", DIFFERENCE, "above random"),
    Column("n", pl.Int64, "cells averaged", "cells"),
    REASON,
)  # fmt: skip


def averages_by_size(
    accuracy: pl.DataFrame, undersized: Undersized = NO_UNDERSIZED, trainings: Trainings | None = None
) -> pl.DataFrame:
    """Return averages over tasks, with ranks among the variants of the same model, suite and size.

    Args:
        accuracy: table of accuracies, see :data:`tokbench.statistics.cells.ACCURACY`.
        undersized: variant and size of undersized vocabularies, which are not ranked; see
            :mod:`tokbench.statistics.undersized` (default: none).
        trainings: see :func:`tokbench.statistics.significance.eligibility.fewest_trainings`.

    Returns:
        One row per model, suite, size and variant: ``average`` (unit of the accuracies), ``rank`` (1 is best, equal
        averages share the smaller rank), ``random_baseline`` (average of the tasks' baselines), ``above_random``
        (their difference), ``n`` (cells), ``reason``. Rows are ordered by rank, then come averages without a rank,
        then variants without an average.

    Raises:
        TokbenchError: a column is missing, or a cell is duplicated.
    """
    rows: list[RanksRow] = []
    for (model, suite), grid in grids(accuracy).items():
        for size in grid.sizes:
            ranked = may_rank(fewest_trainings(trainings, model, suite, [size]))
            head = {"model": model, "suite": suite, "size": size}
            rows += [head | row for row in _rank_rows(grid, [size], undersized, ranked)]
    return RANKS_BY_SIZE.frame(rows)


def averages(
    accuracy: pl.DataFrame, undersized: Undersized = NO_UNDERSIZED, trainings: Trainings | None = None
) -> pl.DataFrame:
    """Return averages over sizes and tasks, with ranks among the variants of the same model and suite.

    Returns:
        The columns of :func:`averages_by_size` without ``size``.
    """
    rows: list[RanksRow] = []
    for (model, suite), grid in grids(accuracy).items():
        ranked = may_rank(fewest_trainings(trainings, model, suite, grid.sizes))
        rows += [{"model": model, "suite": suite} | row for row in _rank_rows(grid, grid.sizes, undersized, ranked)]
    return RANKS.frame(rows)


def _rank_rows(grid: Grid, sizes: Sequence[int], undersized: Undersized, ranked: bool) -> list[RanksRow]:
    # Accuracy of guessing, if every task has one.
    guesses = [guess for guess in (grid.baselines[task] for task in grid.tasks) if guess is not None]
    baseline = fsum(guesses) / len(guesses) if len(guesses) == len(grid.tasks) else None
    known: dict[str, float] = {}
    unknown: dict[str, str] = {}
    # Averages of variants with all cells.
    for variant, cells in grid.accuracies.items():
        if missing := grid.missing(variant, sizes):
            unknown[variant] = f"missing: {name_cells(missing)}"
        else:
            values = [cells[size, task] for size in sizes for task in grid.tasks]
            known[variant] = fsum(values) / len(values)
    rows: list[RanksRow] = []
    # Rank them; undersized vocabularies come last, without a rank.
    smaller = {
        variant: sizes_left_out
        for variant in known
        if (sizes_left_out := undersized_sizes([variant], sizes, undersized))
    }
    ascending = sorted(average for variant, average in known.items() if variant not in smaller)
    for variant, average in sorted(known.items(), key=lambda item: (item[0] in smaller, -item[1], item[0])):
        rank = None if variant in smaller or not ranked else 1 + len(ascending) - bisect_right(ascending, average)
        above = None if baseline is None else average - baseline
        why = None if ranked else ONE_TRAINING
        if variant in smaller:
            why = FEWER if len(sizes) == 1 else undersized_at(smaller[variant])
        values_of = {"average": average, "rank": rank, "random_baseline": baseline, "above_random": above}
        rows.append({"variant": variant, "n": len(sizes) * len(grid.tasks), "reason": why} | values_of)
    # Variants with missing cells come after all others.
    for variant, reason in unknown.items():
        cells_left = sum(size in sizes for size, _ in grid.accuracies[variant])
        rows.append({"variant": variant, "random_baseline": baseline, "n": cells_left, "reason": reason})
    return rows


RANKS = TidyTable(
    "ranks",
    "a variant under a model and suite",
    (MODEL, SUITE, VARIANT, *_AVERAGED),
    maker=averages,
    takes=("accuracy", "undersized", "trainings"),
    prints=(
        Print(
            "downstream",
            "Average accuracy of {model} on {suite} in percent: unweighted mean over tasks and vocabulary sizes, "
            "the average at each size, and the difference from random guessing in points; n is the number of scores. "
            "The highest is bold, if each was trained twice or more.",
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)
RANKS_BY_SIZE = TidyTable(
    "ranks_by_size",
    "a variant at a vocabulary size under a model and suite",
    (MODEL, SUITE, SIZE, VARIANT, *_AVERAGED),
    maker=averages_by_size,
    takes=("accuracy", "undersized", "trainings"),
    prints=(
        Print(
            "downstream",
            "Average accuracy over the tasks of {suite} with each model, at vocabulary size {sizes}, for which all "
            "models were trained.",
            by=("suite",),
            name="accuracy-by-model",
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)
