"""The cells of an experiment, one accuracy each, and which of them are missing.

Statistics are taken per model and suite. The cells of a model and suite are all its sizes times all its tasks, as
found over all variants; a cell without accuracy is missing, and is named wherever that matters.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isnan

import polars as pl

from tokbench.errors import TokbenchError

ACCURACY = {
    "variant": pl.String,
    "size": pl.Int64,
    "model": pl.String,
    "suite": pl.String,
    "task": pl.String,
    "accuracy": pl.Float64,
    "random_baseline": pl.Float64,
    "n": pl.Int64,
}
"""Columns of the tidy table of accuracies. A missing cell is a null or NaN accuracy, or no row."""

INTRINSIC = {
    "variant": pl.String,
    "size": pl.Int64,
    "corpus": pl.String,
    "language": pl.String,
    "metric": pl.String,
    "definition": pl.String,
    "value": pl.Float64,
    "n": pl.Int64,
    "reason": pl.String,
}
"""Columns of the tidy table of intrinsic metrics."""

Cell = tuple[int, str]
"""Vocabulary size and task."""


@dataclass(slots=True)
class Grid:
    """Accuracies of one model on one suite.

    Attributes:
        sizes: vocabulary sizes, ascending.
        tasks: in alphabetical order.
        accuracies: accuracy of each cell, by variant, in alphabetical order; missing cells are absent.
        baselines: accuracy of guessing, by task; None where the results do not tell.
    """

    sizes: list[int] = field(default_factory=list)
    tasks: list[str] = field(default_factory=list)
    accuracies: dict[str, dict[Cell, float]] = field(default_factory=dict)
    baselines: dict[str, float | None] = field(default_factory=dict)

    def missing(self, variant: str, sizes: Iterable[int]) -> list[Cell]:
        """Cells of the given sizes that the variant lacks."""
        known = self.accuracies[variant]
        return [(size, task) for size in sizes for task in self.tasks if (size, task) not in known]


def grids(accuracy: pl.DataFrame) -> dict[tuple[str, str], Grid]:
    """Accuracies by (model, suite), in alphabetical order.

    Raises:
        TokbenchError: a column is missing, or a cell stands twice.
    """
    require(accuracy, ACCURACY, "accuracy table")
    rows = accuracy.select(list(ACCURACY)).sort("model", "suite", "variant", "size", "task")
    found: defaultdict[tuple[str, str], Grid] = defaultdict(Grid)
    seen = set()
    for variant, size, model, suite, task, value, baseline, _ in rows.iter_rows():
        if (key := (model, suite, variant, size, task)) in seen:
            raise TokbenchError(
                f"accuracy table: model {model}, suite {suite}, variant {variant}, size {size}, task {task} "
                "stands twice; keep one row"
            )
        seen.add(key)
        grid = found[model, suite]
        cells = grid.accuracies.setdefault(variant, {})
        if value is not None and not isnan(value):
            cells[size, task] = value
        if grid.baselines.get(task) is None:
            grid.baselines[task] = baseline
    for (model, suite), grid in found.items():
        here = rows.filter(model=model, suite=suite)
        grid.sizes = here["size"].unique().sort().to_list()
        grid.tasks = here["task"].unique().sort().to_list()
    return dict(found)


def require(frame: pl.DataFrame, schema: Mapping[str, object], name: str) -> None:
    """Reject a table that lacks one of the columns."""
    lacking = [column for column in schema if column not in frame.columns]
    if lacking:
        raise TokbenchError(f"{name}: no column {', '.join(lacking)}; expected {', '.join(schema)}")


def name_cells(cells: Iterable[Cell], limit: int = 3) -> str:
    """``size/task, size/task, ...``: the first few of the cells and how many more there are."""
    names = [f"{size}/{task}" for size, task in cells]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more
