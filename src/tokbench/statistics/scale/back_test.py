"""Back-test of small models: differences at the largest scale of a line, predicted from the smaller ones.

All models of a line but the largest predict the difference of two tokenizers at the largest, which is known. So a
prediction can be compared with the truth. There are two rules:

- ``last``: the relative difference at the largest of the smaller scales stays the same.
- ``law``: the bits of both tokenizers follow their power laws, fitted to the smaller scales, of which two are needed.

Differences are relative, bits per byte of a / those of b - 1. Prediction and truth are sums of logarithms of bits per
byte over the same seeds and documents (:mod:`tokbench.statistics.scale.power_law`). So is the prediction's miss, whose
interval is that of this difference. It does not cover other scales: a law that does not hold makes it miss more often.

Reference: :func:`tokbench.reference.scaling.prediction`.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import fsum, sqrt
from typing import Any

import polars as pl

from tokbench.statistics.scale.power_law import (
    Points,
    Weighted,
    ends_of,
    exponential,
    interval_limit,
    line_weights,
    points_of,
    sum_of_logs,
    terms_of,
    value_of,
)
from tokbench.statistics.scale.scale_lines import AXES, AXIS, DOCUMENTS_OF, LINE, SEEDS_OF, ScaleGroup
from tokbench.statistics.scale.scaling import NOTHING_TESTED, significant_signs
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import REASON, A, B
from tokbench.tabulation.table import EXCESS, Column, Print, TidyTable

Row = dict[str, Any]
LAST, LAW = "last", "law"
_KEY = [*(column.name for column in LINE), "axis", "rule", "smaller", "largest"]


def predict_scales(
    scale_groups: Sequence[ScaleGroup], bits_comparisons: pl.DataFrame, undersized: Undersized = NO_UNDERSIZED
) -> pl.DataFrame:
    """Predict the difference of every two tokenizers at the largest scale of a line from the smaller scales.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        bits_comparisons: verdicts of pairs at each scale, see
            :data:`tokbench.statistics.comparisons.model_bits.BITS_COMPARISONS`.
        undersized: variant and size of undersized vocabularies, which are not compared (default: none).

    Returns:
        The columns of :data:`SCALE_PREDICTIONS`, over common models, seeds and documents: a row per pair and rule. The
        quantity of the laws is the first that varies on the line.
    """
    rows: list[Row] = []
    for group in scale_groups:
        variants = [variant for variant in sorted(group.bits) if (variant, group.size) not in undersized]
        axis = next(filter(group.varying, AXES[group.line.varies]), None)
        signs = significant_signs(group, bits_comparisons, variants)
        for a, b in combinations(variants, 2) if axis else ():
            points = points_of(group, str(axis), [a, b])
            for rule, weights in _rules(points):
                row = group.head | {"axis": axis, "rule": rule, "a": a, "b": b}
                row |= _prediction(group, (a, b), points, weights)
                sign = signs.get((a, b), {}).get(row["largest"])
                rows.append(row | {"significant": None if sign is None else sign != 0})
    return SCALE_PREDICTIONS.frame(rows)


def _rules(points: Sequence[Points]) -> Iterator[tuple[str, list[list[float]]]]:
    """Yield each rule with the weights of the logarithms of bits, for each tokenizer and each of its smaller scales."""
    if not points:
        return
    smaller = len(points[0].models) - 1
    yield LAST, [[0.0] * (smaller - 1) + [1.0]] * 2
    if all(len(set(of.logs[:-1])) > 1 for of in points):
        yield LAW, [line_weights(of.logs[:-1], of.logs[-1]) for of in points]


def _prediction(
    group: ScaleGroup, pair: tuple[str, str], points: Sequence[Points], weights: Sequence[Sequence[float]]
) -> Row:
    """Return the columns from ``smaller`` to ``reason``."""
    paired = bool(points[0].seeds)

    def total(terms: Sequence[Weighted]) -> Estimate | float:
        return sum_of_logs(terms, group.bytes, paired)

    # Logarithms of the ratio of bits: predicted, observed, and their difference.
    predicted, observed = [], []
    for variant, of, of_smaller, sign in zip(pair, points, weights, (1.0, -1.0), strict=True):
        *smaller, largest = terms_of(group, variant, of, [*(sign * weight for weight in of_smaller), sign])
        predicted += smaller
        observed.append(largest)
    reverse = [Weighted(-term.weight, term.bits) for term in observed]
    prediction, truth, miss = total(predicted), total(observed), total([*predicted, *reverse])
    row: Row = {"smaller": ", ".join(points[0].models[:-1]), "largest": points[0].models[-1]}
    row |= {"predicted": exponential(value_of(prediction)) - 1, "observed": exponential(value_of(truth)) - 1}
    # The interval holds the truth if and only if that of the miss holds zero.
    low, high = ends_of(miss)
    if low is not None and high is not None:
        row["low"] = exponential(value_of(prediction) - (value_of(miss) - low)) - 1
        row["high"] = exponential(value_of(prediction) + (high - value_of(miss))) - 1
    for name, end in zip(("observed_low", "observed_high"), ends_of(truth), strict=True):
        row[name] = None if end is None else exponential(end) - 1
    limit = interval_limit(group, points[0].seeds)
    if limit is None and low is not None and high is not None:
        row["holds"] = low <= 0 <= high
    row["same_order"] = value_of(prediction) * value_of(truth) > 0
    return row | {"seeds": len(points[0].seeds), "documents": len(group.bytes), "reason": limit}


def back_test(scale_predictions: pl.DataFrame) -> pl.DataFrame:
    """Count how often the predictions of a line hold.

    Args:
        scale_predictions: see :data:`SCALE_PREDICTIONS`.

    Returns:
        The columns of :data:`SCALE_BACK_TESTS`, a row per line and rule.
    """
    rows: list[Row] = []
    for key, part in scale_predictions.group_by(*_KEY, maintain_order=True):
        known, tested = part.drop_nulls("holds"), part.filter(pl.col("significant"))
        row = dict(zip(_KEY, key, strict=True)) | {"pairs": len(part), "same_order": int(part["same_order"].sum())}
        if len(part.drop_nulls("significant")) == len(part):
            row |= {"significant": len(tested), "same_order_of_significant": int(tested["same_order"].sum())}
        if len(known) == len(part):
            row["held"] = int(known["holds"].sum())
        misses = (part["predicted"] - part["observed"]).to_list()
        row |= {"miss": _root_mean_square(misses), "difference": _root_mean_square(part["observed"].to_list())}
        row |= {name: int(str(part[name].min())) for name in ("seeds", "documents")}
        rows.append(row | {"reason": next(iter(part["reason"].drop_nulls().to_list()), None)})
    return SCALE_BACK_TESTS.frame(rows)


def _root_mean_square(values: Sequence[float]) -> float:
    return sqrt(fsum(value * value for value in values) / len(values))


_RULE = Column("rule", pl.String, "rule of the prediction: last (the relative difference at the largest of the smaller "
               "scales) or law (the power laws of both tokenizers over the smaller scales)")  # fmt: skip
_SMALLER = Column("smaller", pl.String, "models that predict", "", "predicted from")
_LARGEST = Column("largest", pl.String, "model at the largest scale, whose bits are predicted")
_UNTESTED = "one training, or one document"
SCALE_PREDICTIONS = TidyTable(
    "scale_predictions",
    "two tokenizers on a line of models, and a rule",
    (
        *LINE,
        AXIS,
        _RULE,
        A,
        B,
        _SMALLER,
        _LARGEST,
        Column("predicted", pl.Float64, "predicted bits per byte of a / those of b - 1 at the largest scale", EXCESS,
               "predicted (%)", 2),
        Column("low", pl.Float64, "lower end of the 95 % interval of the prediction, for the bits observed at the "
               "largest scale: seeds and documents as crossed random effects, without the error of the rule", EXCESS,
               "low (%)", 2),
        Column("high", pl.Float64, "upper end of this interval", EXCESS, "high (%)", 2),
        Column("observed", pl.Float64, "observed bits per byte of a / those of b - 1 at the largest scale", EXCESS,
               "observed (%)", 2),
        Column("observed_low", pl.Float64, "lower end of its 95 % interval, over seeds and documents", EXCESS,
               "observed low (%)", 2),
        Column("observed_high", pl.Float64, "upper end of this interval", EXCESS, "observed high (%)", 2),
        Column("holds", pl.Boolean, "whether the observed difference is within the interval of the prediction", "",
               "interval holds", empty=_UNTESTED),
        Column("same_order", pl.Boolean, "whether prediction and observation have the same sign", "", "order holds"),
        Column("significant", pl.Boolean, "whether the observed difference is significant after Holm's correction over "
               "the pairs of the model", empty=NOTHING_TESTED),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=predict_scales,
    takes=("scale_groups", "bits_comparisons", "undersized"),
    prints=(
        Print(
            "models",
            "Differences at the largest of {models} on {suite}, at a vocabulary of {size}, predicted from the smaller "
            "models: bits per byte of a / those of b - 1. Intervals (95 %) cover seeds and documents, and not the "
            "error of the rule.",
            (
                "rule", "a", "b", "predicted", "low", "high", "observed", "observed_low", "observed_high", "holds",
                "same_order", "significant", "seeds", "documents",
            ),
            by=("corpus", "suite", "size", "varies"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
_PAIRS = "pairs"
SCALE_BACK_TESTS = TidyTable(
    "scale_back_tests",
    "a line of models with two tokenizers or more, and a rule",
    (
        *LINE,
        AXIS,
        _RULE,
        _SMALLER,
        _LARGEST,
        Column("pairs", pl.Int64, "pairs of tokenizers", _PAIRS),
        Column("held", pl.Int64, "pairs whose observed difference is within the 95 % interval of the prediction",
               _PAIRS, "intervals that hold", empty=_UNTESTED),
        Column("same_order", pl.Int64, "pairs whose order is as predicted", _PAIRS, "orders that hold"),
        Column("significant", pl.Int64, "pairs whose observed difference is significant after Holm's correction",
               _PAIRS, empty=NOTHING_TESTED),
        Column("same_order_of_significant", pl.Int64, "of these, pairs whose order is as predicted", _PAIRS,
               "orders that hold, of these", empty=NOTHING_TESTED),
        Column("miss", pl.Float64, "root mean square of predicted - observed differences", EXCESS, "miss (%)", 2),
        Column("difference", pl.Float64, "root mean square of the observed differences", EXCESS, "difference (%)", 2),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=back_test,
    takes=("scale_predictions",),
    prints=(
        Print(
            "models",
            "How often smaller models predict the differences at the largest scale of a line. Rule last: the relative "
            "difference stays the same. Rule law: both tokenizers follow their power laws. An interval is expected to "
            "hold in 95 % of independent pairs if the rule is right; pairs of one experiment are not independent.",
            (
                "corpus", "suite", "size", "varies", "rule", "smaller", "largest", "pairs", "held", "same_order",
                "significant", "same_order_of_significant", "miss", "difference", "seeds", "documents",
            ),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
