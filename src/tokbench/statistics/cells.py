"""Cells of an experiment with one accuracy each, and missing cells.

Statistics are computed per model and suite. The cells of a model and suite are all its sizes times all its tasks over
all variants. A cell without accuracy is missing, and reasons name it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import isnan

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.tabulation import columns
from tokbench.tabulation.table import require, schema

ACCURACY = schema(columns.ACCURACY)
"""Types of the columns of the table of accuracies that statistics use."""
OUTCOME = schema(columns.OUTCOME)
"""Types of the columns of the table of outcomes."""
INTRINSIC = schema(columns.INTRINSIC)
"""Types of the columns of the table of intrinsic metrics."""

Cell = tuple[int, str]
"""Vocabulary size and task."""


@dataclass(slots=True)
class Grid:
    """Accuracies of one model on one suite.

    Attributes:
        sizes: vocabulary sizes, ascending.
        tasks: in alphabetical order.
        accuracies: accuracy of each cell, by variant, in alphabetical order; missing cells are absent.
        baselines: accuracy of guessing, by task; None if the results do not give it.
    """

    sizes: list[int] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    accuracies: dict[str, dict[Cell, float]] = field(default_factory=dict)
    baselines: dict[str, float | None] = field(default_factory=dict)

    def missing(self, variant: str, sizes: Iterable[int]) -> list[Cell]:
        """Return cells of the given sizes that the variant lacks."""
        known = self.accuracies[variant]
        return [(size, task) for size in sizes for task in self.tasks if (size, task) not in known]


def grids(accuracy: pl.DataFrame) -> dict[tuple[str, str], Grid]:
    """Return accuracies by (model, suite), in alphabetical order.

    Raises:
        TokbenchError: a column is missing, or a cell is duplicated.
    """
    require(accuracy, columns.ACCURACY, "accuracy table")
    rows = accuracy.select(list(ACCURACY)).sort("model", "suite", "variant", "size", "task")
    by_model: defaultdict[tuple[str, str], Grid] = defaultdict(Grid)
    keys = set()
    for variant, size, model, suite, task, value, baseline, _ in rows.iter_rows():
        if (key := (model, suite, variant, size, task)) in keys:
            raise TokbenchError(
                f"accuracy table: model {model}, suite {suite}, variant {variant}, size {size}, task {task} "
                "is duplicated; keep one row"
            )
        keys.add(key)
        grid = by_model[model, suite]
        cells = grid.accuracies.setdefault(variant, {})
        if value is not None and not isnan(value):
            cells[size, task] = value
        if grid.baselines.get(task) is None:
            grid.baselines[task] = baseline
    for (model, suite), grid in by_model.items():
        rows_of_model = rows.filter(model=model, suite=suite)
        grid.sizes = rows_of_model["size"].unique().sort().to_list()
        grid.tasks = rows_of_model["task"].unique().sort().to_list()
    return dict(by_model)


def name_cells(cells: Iterable[Cell], limit: int = 3) -> str:
    """Return ``size/task, size/task, ...``: the first cells up to ``limit`` (default: 3), and the number of others."""
    names = [f"{size}/{task}" for size, task in cells]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def by_variant(
    frame: pl.DataFrame, keys: Sequence[str], column: str
) -> tuple[pl.DataFrame, dict[str, NDArray[np.float64]]]:
    """Return the units that every variant has, and a column of each variant on them.

    Args:
        frame: table with a row per variant and unit.
        keys: columns that identify a unit; units are ordered by them.
        column: numeric column.

    Returns:
        The keys of the common units, and float64 [units] by variant, in alphabetical order.
    """
    names = frame["variant"].unique().sort().to_list()
    shared = frame.group_by(keys).agg(pl.col("variant").n_unique()).filter(variant=len(names)).sort(keys).select(keys)
    of = frame.partition_by("variant", as_dict=True)
    return shared, {
        name: shared.join(of[name,], on=keys, how="left", maintain_order="left")[column].to_numpy().astype(np.float64)
        for name in names
    }
