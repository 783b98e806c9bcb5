"""Pearson correlations: between sizes, between intrinsic metrics, and of metrics with average accuracy.

Sources: "Tokenization Is More Than Compression", section 5.1 (R^2 between sizes) and table 2.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from math import atanh, isnan, sqrt, tanh
from typing import Any, TypeVar

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.kernels.exact import correlation
from tokbench.statistics.accuracies.ranks import averages_by_size
from tokbench.statistics.significance.distributions import correlation_tail
from tokbench.statistics.undersized import NO_UNDERSIZED, NOMINAL, Undersized, below_nominal
from tokbench.tabulation import columns
from tokbench.tabulation.table import Column, Print, TidyTable, require

Point = tuple[str, int]
"""A tokenizer: variant and vocabulary size."""

Key = TypeVar("Key", str, Point)
NORMAL = 1.959963984540054
"""Standard normal quantile: exceeded with probability 0.025."""
SMALLER = "Tokenizers with fewer tokens than requested, if any, are included; a nominal size is the requested one."


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r over paired values.

    Attributes:
        r: the coefficient, or None if it is not defined.
        p_value: two-sided, under normality; None if ``r`` is.
        n: number of pairs.
        missing: items left out because they have only one of the two values.
        reason: reason why there is no coefficient.
    """

    r: float | None
    p_value: float | None
    n: int
    missing: int
    reason: str | None


def _correlation(of: str) -> tuple[Column, ...]:
    """Return the columns of :class:`Correlation` for a kind of item."""
    return (
        Column("r", pl.Float64, "Pearson's coefficient", decimals=3),
        replace(columns.P_VALUE, definition="two-sided p-value of r, under normality"),
        Column("n", pl.Int64, f"{of} with both values", of),
        Column("missing", pl.Int64, f"{of} left out because they have only one of the two values", of),
        columns.REASON,
    )


def pearson(x: Mapping[Key, float], y: Mapping[Key, float]) -> Correlation:
    """Correlate two values over the items that have both."""
    common = sorted(x.keys() & y.keys())
    missing = len(x.keys() ^ y.keys())
    first, second = [x[key] for key in common], [y[key] for key in common]
    reason = None
    if len(common) < 3:
        reason = f"{len(common)} in common; three are needed"
    elif len(set(first)) == 1 or len(set(second)) == 1:
        reason = "one of the two does not vary"
    if reason is not None:
        return Correlation(None, None, len(common), missing, reason)
    r, square = correlation(first, second)
    return Correlation(r, correlation_tail(square, len(common)), len(common), missing, None)


def between_sizes(accuracy: pl.DataFrame, undersized: Undersized = NO_UNDERSIZED) -> pl.DataFrame:
    """Correlate the variants' average accuracies at one vocabulary size with those at another.

    Args:
        accuracy: table of accuracies, see :data:`tokbench.tabulation.columns.ACCURACY`.
        undersized: variant and size of undersized vocabularies to leave out, see
            :mod:`tokbench.statistics.significance.eligibility`.

    Returns:
        One row per model, suite and pair of sizes: ``size_a``, ``size_b``, ``r``, ``r_squared``, ``p_value``, ``n``
        (variants), ``missing`` (variants with a ranked average at only one of the two sizes), ``reason``.

    Raises:
        TokbenchError: a column is missing, or a cell is duplicated.
    """
    rows: list[dict[str, Any]] = []
    by_size = averages_by_size(accuracy, undersized)
    for (model, suite), part in by_size.group_by("model", "suite", maintain_order=True):
        at = {
            size: dict(part.filter(pl.col("size") == size).drop_nulls("rank").select("variant", "average").rows())
            for size in part["size"].unique().sort().to_list()
        }
        for size_a, size_b in combinations(at, 2):
            head = {"model": model, "suite": suite, "size_a": size_a, "size_b": size_b}
            rows.append(head | asdict(pearson(at[size_a], at[size_b])))
    return R_SQUARED.frame(rows).with_columns(r_squared=pl.col("r") * pl.col("r"))


def metric_with_accuracy(intrinsic: pl.DataFrame, accuracy: pl.DataFrame) -> pl.DataFrame:
    """Correlate each intrinsic metric with average accuracy over all tokenizers (a variant at a vocabulary size).

    Args:
        intrinsic: table of intrinsic metrics, see :data:`tokbench.tabulation.columns.INTRINSIC`.
        accuracy: table of accuracies, see :data:`tokbench.tabulation.columns.ACCURACY`.

    Returns:
        One row per model, suite, corpus, language, metric and definition: ``r``, ``p_value``, ``n`` (tokenizers),
        ``missing`` (tokenizers with only one of the two values), ``reason``.

    Raises:
        TokbenchError: a column is missing, or a value is duplicated.
    """
    points_by_metric = _points(intrinsic)
    rows: list[dict[str, Any]] = []
    for (model, suite), part in averages_by_size(accuracy).group_by("model", "suite", maintain_order=True):
        known = part.drop_nulls("average")
        average = {(variant, size): value for variant, size, value in known.select("variant", "size", "average").rows()}
        for (corpus, language, metric, definition), points in points_by_metric.items():
            head = {"model": model, "suite": suite, "corpus": corpus, "language": language, "metric": metric}
            rows.append(head | {"definition": definition} | asdict(pearson(points, average)))
    return CORRELATIONS.frame(rows)


def between_metrics(intrinsic: pl.DataFrame) -> pl.DataFrame:
    """Correlate every two intrinsic metrics of the same corpus and language over all tokenizers.

    Returns:
        One row per corpus, language and unordered pair: ``metric_a``, ``definition_a``, ``metric_b``,
        ``definition_b``, ``r``, ``p_value``, ``n``, ``missing``, ``reason``.

    Raises:
        TokbenchError: a column is missing, or a value is duplicated.
    """
    rows: list[dict[str, Any]] = []
    for (name_a, a), (name_b, b) in combinations(_points(intrinsic).items(), 2):
        if name_a[:2] == name_b[:2]:
            corpus, language, metric_a, definition_a = name_a
            *_, metric_b, definition_b = name_b
            head = {"corpus": corpus, "language": language, "metric_a": metric_a, "definition_a": definition_a}
            rows.append(head | {"metric_b": metric_b, "definition_b": definition_b} | asdict(pearson(a, b)))
    return METRIC_CORRELATIONS.frame(rows)


def _points(intrinsic: pl.DataFrame) -> dict[tuple[str, ...], dict[Point, float]]:
    """Return values by tokenizer, for each (corpus, language, metric, definition).

    Missing values are absent. Values that divide by a nominal size are absent for vocabularies smaller than that.
    """
    require(intrinsic, columns.INTRINSIC, "intrinsic table")
    points_by_metric: dict[tuple[str, ...], dict[Point, float]] = {}
    smaller = below_nominal(intrinsic)
    names = set()
    ordered = intrinsic.select([column.name for column in columns.INTRINSIC]).sort(
        "corpus", "language", "metric", "definition", "variant", "size"
    )
    for variant, size, corpus, language, metric, definition, value, _, _ in ordered.iter_rows():
        name = (corpus, language, metric, definition)
        if (name, variant, size) in names:
            raise TokbenchError(
                f"intrinsic table: variant {variant}, size {size}, {', '.join(name)} is duplicated; keep one row"
            )
        names.add((name, variant, size))
        points = points_by_metric.setdefault(name, {})
        divided_by_more = NOMINAL in definition and (variant, size) in smaller
        if value is not None and not isnan(value) and not divided_by_more:
            points[variant, size] = value
    return points_by_metric


R_SQUARED = TidyTable(
    "r_squared",
    "two vocabulary sizes under a model and suite",
    (
        columns.MODEL,
        columns.SUITE,
        Column("size_a", pl.Int64, "smaller vocabulary size", "tokens", "size"),
        Column("size_b", pl.Int64, "larger vocabulary size", "tokens", "other size"),
        *_correlation("variants"),
        Column(
            "r_squared",
            pl.Float64,
            "share of variance that the average accuracies at both sizes have in common",
            "",
            "R²",
            3,
        ),
    ),
    maker=between_sizes,
    takes=("accuracy", "undersized"),
    prints=(
        Print(
            "statistics",
            "R² of the variants' average accuracies at two vocabulary sizes: a high R² means that both sizes order "
            "the variants in the same way. n is the number of variants.",
            ("model", "suite", "size_a", "size_b", "r_squared", "n"),
            arranged=True,
        ),
    ),
    of_models=True,
)


def fisher_interval(r: float, n: int) -> tuple[float, float] | None:
    """Return the 95 % interval of a correlation by Fisher's z (1921), for independent, normally distributed pairs.

    Args:
        r: Pearson's coefficient, between -1 and 1.
        n: number of pairs.

    Returns:
        The interval; None for fewer than four pairs, or if ``abs(r)`` is 1.
    """
    if n < 4 or abs(r) >= 1:
        return None
    half = NORMAL / sqrt(n - 3)
    return tanh(atanh(r) - half), tanh(atanh(r) + half)


CORRELATIONS = TidyTable(
    "correlations",
    "a metric with one definition on a corpus, under a model and suite",
    (
        columns.MODEL,
        columns.SUITE,
        columns.CORPUS,
        columns.LANGUAGE,
        columns.METRIC,
        columns.DEFINITION,
        *_correlation("tokenizers"),
    ),
    maker=metric_with_accuracy,
    takes=("intrinsic", "accuracy"),
    prints=(
        Print(
            "statistics",
            "Pearson's r of each intrinsic measure with average accuracy; n is the number of tokenizers (a variant at "
            "a vocabulary size), over all sizes and pre-tokenizers. " + SMALLER,
            ("model", "suite", "corpus", "metric", "definition", "r", "n"),
            folds_above=30,
            arranged=True,
        ),
    ),
    of_models=True,
)
METRIC_CORRELATIONS = TidyTable(
    "metric_correlations",
    "two metrics with one definition each, on a corpus",
    (
        columns.CORPUS,
        columns.LANGUAGE,
        Column("metric_a", pl.String, "name of one metric"),
        Column("definition_a", pl.String, "definition of that metric"),
        Column("metric_b", pl.String, "name of the other metric"),
        Column("definition_b", pl.String, "definition of that metric"),
        *_correlation("tokenizers"),
    ),
    maker=between_metrics,
    takes=("intrinsic",),
    prints=(
        Print(
            "statistics",
            "Pearson's r of every intrinsic measure with {measures}, each by its first definition; n is the number of "
            "tokenizers, over all sizes and pre-tokenizers. The source has every pair of measures. " + SMALLER,
            folds_above=30,
            arranged=True,
        ),
    ),
)
