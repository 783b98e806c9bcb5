"""Signed-rank tests of variants as in "Tokenization Is More Than Compression" (section 5.1 and figure 2), and pairs.

These tests are over cells (size and task), which are not independent draws. They are reported as the paper does it, and
decide nothing: verdicts are those of :mod:`tokbench.statistics.comparisons.paired_comparisons`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import fsum
from typing import Any

import polars as pl

from tokbench.statistics.cells import Cell, grids, name_cells
from tokbench.statistics.comparisons.pair_selection import SELECTION, select_pairs, unordered_pairs
from tokbench.statistics.significance.eligibility import Trainings, fewest_trainings, why_untested
from tokbench.statistics.significance.verdicts import detectable_difference
from tokbench.statistics.significance.wilcoxon import (
    Null,
    benjamini_hochberg,
    deviation,
    holm,
    rank_biserial,
    signed_rank,
    standardized_mean,
)
from tokbench.statistics.undersized import AS_MANY, NO_UNDERSIZED, Undersized, left_out_reason, undersized_sizes
from tokbench.tabulation import columns, limits
from tokbench.tabulation.table import DIFFERENCE, Column, Print, TidyTable

ADJUSTED = {"holm": holm, "benjamini_hochberg": benjamini_hochberg}
"""Corrections by column name."""


def best_of(ranks: pl.DataFrame) -> dict[tuple[str, str], str]:
    """Return the variant of the highest average by model and suite; ties go to the first by name.

    Args:
        ranks: columns ``model``, ``suite``, ``variant`` and ``rank``, which is null for variants without a rank.
    """
    first = ranks.filter(rank=1).sort("model", "suite", "variant").unique(["model", "suite"], keep="first")
    return {(model, suite): variant for model, suite, variant in first.select("model", "suite", "variant").iter_rows()}


def has_every_pair(pairs: pl.DataFrame) -> bool:
    """Return True if a table for one model and suite has every ordered pair, or if its variants are few."""
    count = pl.concat([pairs["a"], pairs["b"]]).n_unique()
    return count <= limits.MAX_PAIRWISE_VARIANTS or pairs.height == count * (count - 1)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Paired comparison of the accuracies of two variants; all None if they have no common cell.

    Attributes:
        mean_difference: mean difference of the accuracies, first minus second.
        rank_biserial: effect size of the signed-rank test, -1 to 1.
        standardized_mean: mean / standard deviation of the differences.
        detectable: mean difference that the test detects with probability 0.8.
        statistic: statistic of the signed-rank test, the sum of the ranks of positive differences.
        n: number of differences that are not zero.
        zeros: number of differences that are zero.
        p_value: one-sided exact p-value of the signed-rank test.
    """

    mean_difference: float | None
    rank_biserial: float | None
    standardized_mean: float | None
    detectable: float | None
    statistic: float | None
    n: int
    zeros: int
    p_value: float | None


NOTHING = PairedDifference(None, None, None, None, None, 0, 0, None)


def compare_pairs(
    accuracy: pl.DataFrame,
    ranks: pl.DataFrame | None = None,
    baselines: Mapping[str, str] | None = None,
    undersized: Undersized = NO_UNDERSIZED,
    trainings: Trainings | None = None,
    *,
    null: Null = "tied",
) -> pl.DataFrame:
    """Test "a is better than b" by the one-sided exact Wilcoxon signed-rank test, for ordered pairs of variants.

    Pairs are chosen by :func:`tokbench.statistics.comparisons.pair_selection.select_pairs`. Accuracies are paired by
    vocabulary size and task within one model and suite. Cells are left out if a variant lacks them, or if one of the
    vocabularies is undersized. P-values are adjusted for the number of tests of the model and suite.

    Args:
        accuracy: table of accuracies, see :data:`tokbench.statistics.cells.ACCURACY`.
        ranks: table of ranks, to find the best variant of each model and suite (default: None, no best).
        baselines: baseline by variant (default: none).
        undersized: variant and size of undersized vocabularies, see :mod:`tokbench.statistics.significance.eligibility`
            (default: none).
        trainings: see :func:`tokbench.statistics.significance.eligibility.fewest_trainings`. With fewer than three
            there are differences, but no p-values.
        null: null distribution under ties, see :func:`tokbench.statistics.significance.wilcoxon.signed_rank` (default:
            "tied").

    Returns:
        One row per model, suite and ordered pair: the columns of :class:`PairedDifference`, ``holm`` and
        ``benjamini_hochberg`` (adjusted p-values), ``missing`` (cells that only one of the two has), and ``reason``,
        which names the missing cells. Pairs without a common cell have null values.

    Raises:
        TokbenchError: a column is missing, or a cell is duplicated.
    """
    rows: list[dict[str, Any]] = []
    best = {} if ranks is None else best_of(ranks)
    for (model, suite), grid in grids(accuracy).items():
        pairs = select_pairs(list(grid.accuracies), best.get((model, suite)), baselines or {})
        results: dict[tuple[str, str], dict[str, Any]] = {}
        for a, b in unordered_pairs(pairs):
            cells_a, cells_b = grid.accuracies[a], grid.accuracies[b]
            smaller = undersized_sizes((a, b), grid.sizes, undersized)
            common_cells = sorted(cell for cell in cells_a.keys() & cells_b.keys() if cell[0] not in smaller)
            common = {cell: cells_a[cell] - cells_b[cell] for cell in common_cells}
            single = sorted(cells_a.keys() ^ cells_b.keys())
            reason = why_left_out(single, left_out_reason(cells_a.keys() | cells_b.keys(), smaller))
            if not common:
                reason = "no cell in common" + AS_MANY * bool(smaller)
            forth, back = differences(common, null)
            if common and (
                why := why_untested(fewest_trainings(trainings, model, suite, {size for size, _ in common}))
            ):
                forth, back = (replace(difference, detectable=None, p_value=None) for difference in (forth, back))
                reason = "; ".join(filter(None, (why, reason)))
            cells_left_out = {"missing": len(single), "reason": reason}
            results[a, b], results[b, a] = (asdict(of_pair) | cells_left_out for of_pair in (forth, back))
        rows += [{"model": model, "suite": suite, "a": a, "b": b} | results[a, b] for a, b in pairs]
    return adjust_p_values(pl.DataFrame(rows, schema=schema_without_adjusted(COMPARISONS)))


def why_left_out(single: Sequence[Cell], smaller: str | None) -> str | None:
    """Return the reason why a comparison does not cover all cells of its two variants; None if it does.

    Args:
        single: cells that only one of the two has.
        smaller: text about sizes at which one vocabulary is undersized, see
            :func:`tokbench.statistics.undersized.left_out_reason`.
    """
    single_cells = f"left out, in one of the two only: {name_cells(single)}" if single else None
    return "; ".join(filter(None, (single_cells, smaller))) or None


def differences(of_cells: Mapping[Cell, float], null: Null = "tied") -> tuple[PairedDifference, PairedDifference]:
    """Compare two variants by the differences of their accuracies, first minus second, cell by cell.

    Returns:
        The first against the second, and the second against the first.
    """
    if not of_cells:
        return NOTHING, NOTHING
    values = list(of_cells.values())
    return _difference(values, null), _difference([0.0 - value for value in values], null)


def _difference(values: list[float], null: Null) -> PairedDifference:
    test = signed_rank(values, null)
    return PairedDifference(
        fsum(values) / len(values),
        rank_biserial(values),
        standardized_mean(values),
        detectable_difference(deviation(values), len(values)),
        test.statistic,
        test.n,
        test.zeros,
        test.p_value,
    )


def adjust_p_values(pairs: pl.DataFrame) -> pl.DataFrame:
    """Add p-values adjusted over all tests of a model and suite to a table of tests."""
    tests = ["model", "suite", "a", "b"]
    parts = [pl.DataFrame(schema=dict.fromkeys(tests, pl.String) | dict.fromkeys(ADJUSTED, pl.Float64))]
    for _, part in pairs.drop_nulls("p_value").group_by("model", "suite", maintain_order=True):
        values = {name: adjust(part["p_value"].to_list()) for name, adjust in ADJUSTED.items()}
        parts.append(part.select(tests).with_columns(**{name: pl.Series(column) for name, column in values.items()}))
    place = pairs.columns.index("p_value") + 1
    columns = [*pairs.columns[:place], *ADJUSTED, *pairs.columns[place:]]
    return pairs.join(pl.concat(parts), on=tests, how="left", maintain_order="left").select(columns)


def schema_without_adjusted(table: TidyTable) -> dict[str, type[pl.DataType]]:
    """Return the schema of a table of tests before its p-values are adjusted."""
    return {name: dtype for name, dtype in table.schema.items() if name not in ADJUSTED}


def power_table(pairs: pl.DataFrame) -> pl.DataFrame:
    """Summarize the detectable differences of a model and suite.

    Args:
        pairs: table of :func:`compare_pairs`.

    Returns:
        One row per model and suite: ``detectable_lowest``, ``detectable``, ``detectable_highest`` (least, median and
        largest detectable difference over the unordered pairs), ``pairs`` of variants, ``without`` (pairs without a
        detectable difference, because of too few cells or no variation).
    """
    variant_pairs = pairs.filter(pl.col("a") < pl.col("b"))
    detectable = pl.col("detectable")
    return variant_pairs.group_by("model", "suite", maintain_order=True).agg(
        detectable.min().alias("detectable_lowest"),
        detectable.median(),
        detectable.max().alias("detectable_highest"),
        pl.len().cast(pl.Int64).alias("pairs"),
        detectable.null_count().cast(pl.Int64).alias("without"),
    )


COMPARISONS = TidyTable(
    "comparisons",
    f"an ordered pair of variants under a model and suite, testing whether a is better than b; {SELECTION}",
    (
        columns.MODEL,
        columns.SUITE,
        columns.A,
        columns.B,
        columns.MEAN_DIFFERENCE,
        Column(
            "rank_biserial", pl.Float64, "effect size of the test, (W+ - W-) / (W+ + W-)", "", "rank-biserial", 2,
            "every difference is zero",
        ),
        Column(
            "standardized_mean", pl.Float64, "mean / standard deviation of the differences", "", "mean / sd", 2,
            "the differences do not vary, or there is only one",
        ),
        Column(
            "detectable", pl.Float64, "mean difference that the test detects with probability 0.8", DIFFERENCE,
            "detectable (points)", 2,
            "fewer than five cells allow no p-value under 0.05, and differences that do not vary have no standard "
            "deviation",
        ),
        Column("statistic", pl.Float64, "statistic of the signed-rank test: sum of the ranks of positive differences"),
        Column("n", pl.Int64, "differences that are not zero", "cells", "n"),
        Column("zeros", pl.Int64, "differences that are zero", "cells", "zeros"),
        replace(columns.P_VALUE, definition="p-value of the one-sided exact Wilcoxon signed-rank test"),
        columns.HOLM,
        columns.BENJAMINI_HOCHBERG,
        replace(columns.MISSING, heading="missing"),
        columns.REASON,
    ),
    maker=compare_pairs,
    takes=("accuracy", "ranks", "baselines", "undersized", "trainings"),
    prints=(
        Print(
            "statistics",
            "Tests of whether a is better than b, by the accuracy of {model} on {suite}. p of the {test}; n: "
            "differences that are not zero, zeros: differences that are.",
            (
                "a", "b", "mean_difference", "p_value", "holm", "benjamini_hochberg", "rank_biserial",
                "standardized_mean", "detectable", "n", "zeros", "missing",
            ),
            by=("model", "suite"),
            files=("downstream/{model}/{a}/{size}/{suite}.json", "downstream/{model}/{b}/{size}/{suite}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
POWER = TidyTable(
    "power",
    "a model and suite",
    (
        columns.MODEL,
        columns.SUITE,
        Column("detectable_lowest", pl.Float64, "least detectable difference of two variants", DIFFERENCE),
        Column("detectable", pl.Float64, "median detectable difference of two variants", DIFFERENCE),
        Column("detectable_highest", pl.Float64, "largest detectable difference of two variants", DIFFERENCE),
        Column("pairs", pl.Int64, "unordered pairs of variants that are compared", "pairs"),
        Column("without", pl.Int64, "pairs without a detectable difference: too few cells, or no variation", "pairs"),
    ),
    maker=power_table,
    takes=("comparisons",),
    prints=(
        Print(
            "statistics",
            "Differences that the comparisons of {model} on {suite} could detect.",
            by=("model", "suite"),
            arranged=True,
            form="sentence",
        ),
    ),
    of_models=True,
)
