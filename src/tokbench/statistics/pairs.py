"""Pairwise comparison of variants ("Tokenization Is More Than Compression", section 5.1 and figure 2)."""

from itertools import permutations
from math import fsum

import polars as pl

from tokbench.statistics.cells import grids, name_cells
from tokbench.statistics.wilcoxon import Null, signed_rank

PAIRS = {
    "model": pl.String,
    "suite": pl.String,
    "a": pl.String,
    "b": pl.String,
    "mean_difference": pl.Float64,
    "statistic": pl.Float64,
    "n": pl.Int64,
    "zeros": pl.Int64,
    "p_value": pl.Float64,
    "missing": pl.Int64,
    "reason": pl.String,
}


def compare_pairs(accuracy: pl.DataFrame, null: Null = "tied") -> pl.DataFrame:
    """One-sided exact Wilcoxon signed-rank test of "a is better than b", for every ordered pair of variants.

    Accuracies are paired by vocabulary size and task within one model and suite, over the cells that both have.

    Args:
        accuracy: the tidy table of accuracies, see :data:`tokbench.statistics.cells.ACCURACY`.
        null: null distribution under ties, see :func:`tokbench.statistics.wilcoxon.signed_rank`.

    Returns:
        One row per model, suite and ordered pair: ``mean_difference`` (a minus b), ``statistic``, ``n`` (differences
        that are not zero), ``zeros``, ``p_value``, ``missing`` (cells that only one of the two has), and ``reason``,
        which names the missing cells. Pairs without a common cell have null values.

    Raises:
        TokbenchError: a column is missing, or a cell stands twice.
    """
    rows: list[tuple[str | float | int | None, ...]] = []
    for (model, suite), grid in grids(accuracy).items():
        for a, b in permutations(grid.accuracies, 2):
            cells_a, cells_b = grid.accuracies[a], grid.accuracies[b]
            common = sorted(cells_a.keys() & cells_b.keys())
            single = sorted(cells_a.keys() ^ cells_b.keys())
            if not common:
                rows.append((model, suite, a, b, None, None, 0, 0, None, len(single), "no cell in common"))
                continue
            differences = [cells_a[cell] - cells_b[cell] for cell in common]
            test = signed_rank(differences, null)
            mean = fsum(differences) / len(differences)
            reason = f"left out, in one of the two only: {name_cells(single)}" if single else None
            outcome = (mean, test.statistic, test.n, test.zeros, test.p_value, len(single), reason)
            rows.append((model, suite, a, b, *outcome))
    return pl.DataFrame(rows, schema=PAIRS, orient="row")
