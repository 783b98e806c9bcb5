"""Bits per byte over text, parameters and arithmetic: power laws of each tokenizer, and the order over scale.

A law is bits per byte = a x^-b, a straight line in logarithms, fitted by least squares to the models of one line (see
:mod:`tokbench.statistics.scale.scale_lines`). It has no irreducible loss: with three or more scales, a quadratic term
shows whether the points are curved, as they are near an irreducible loss (Hoffmann et al. 2022). Two scales give a
slope and no check. A law describes the range of its data and is not extrapolated.

Estimates and their intervals are those of :mod:`tokbench.statistics.scale.power_law`, orders those of
:mod:`tokbench.statistics.scale.rank_order`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from math import fsum
from typing import Any

import numpy as np
import polars as pl

from tokbench.kernels.elementary import exponentials_of
from tokbench.statistics.scale.power_law import (
    Points,
    curvature_weights,
    ends_of,
    interval_limit,
    points_of,
    slope_weights,
    sum_of_logs,
    terms_of,
    value_of,
)
from tokbench.statistics.scale.rank_order import kendall, resampled_levels, tau_interval
from tokbench.statistics.scale.scale_lines import AXES, AXIS, DOCUMENTS_OF, LEVEL, LINE, SEEDS_OF, ScaleGroup
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.judgements import judge
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import REASON, VARIANT, A, B
from tokbench.tabulation.table import PROBABILITY, Column, Print, TidyTable

Row = dict[str, Any]
TWO_VALUES = "two scales: a slope, and no check of the law"
STRAIGHT, SLOWER, FASTER = "no significant curvature", "falls more slowly at large scale", "falls faster at large scale"
STEEPER, FLATTER = "steeper", "flatter"
VARIATION = "seeds and documents as crossed random effects; over documents with one seed, over seeds for checkpoints"
_PAIRS = "pairs"
NOTHING_TESTED = "nothing is tested with fewer than three trainings"


def fit_scales(scale_groups: Sequence[ScaleGroup]) -> pl.DataFrame:
    """Fit a power law of bits per byte for each tokenizer over each quantity that varies on a line.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.

    Returns:
        The columns of :data:`SCALE_FITS`. The curvatures of the tokenizers of a line over one quantity are one family
        of tests, corrected by Holm's procedure.
    """
    rows: list[Row] = []
    for group in scale_groups:
        for axis in filter(group.varying, AXES[group.line.varies]):
            points_by_variant = {
                variant: points for variant in sorted(group.bits) for points in points_of(group, axis, [variant])
            }
            curves = {variant: _curvature(group, variant, points) for variant, points in points_by_variant.items()}
            estimates = {variant: curve for variant, curve in curves.items() if isinstance(curve, Estimate)}
            judgements = dict(zip(estimates, judge(list(estimates.values())), strict=True))
            for variant, points in points_by_variant.items():
                verdict = judgements[variant].verdict if variant in judgements else NOT_TESTED
                kind = {BETTER: FASTER, WORSE: SLOWER, NO_DIFFERENCE: STRAIGHT}.get(verdict, NOT_TESTED)
                head = group.head | {"variant": variant, "axis": axis}
                rows.append(head | _fit(group, variant, points, curves[variant], kind))
    return SCALE_FITS.frame(rows)


def _curvature(group: ScaleGroup, variant: str, points: Points) -> Estimate | float | None:
    if points.distinct < 3:
        return None
    terms = terms_of(group, variant, points, curvature_weights(points.logs))
    return sum_of_logs(terms, group.bytes, bool(points.seeds))


def _fit(group: ScaleGroup, variant: str, points: Points, curve: Estimate | float | None, kind: str) -> Row:
    """Return the columns from ``scales`` to ``reason``."""
    weights = slope_weights(points.logs)
    slope = sum_of_logs(terms_of(group, variant, points, weights), group.bytes, bool(points.seeds))
    value = value_of(slope)
    mean = fsum(points.logs) / len(points.logs)
    levels = [
        value_of(sum_of_logs([term], group.bytes, False))
        for term in terms_of(group, variant, points, [1.0] * len(weights))
    ]
    level = fsum(levels) / len(levels)
    fitted = [level + value * (log - mean) for log in points.logs]
    rest = max(abs(bits - at) for bits, at in zip(levels, fitted, strict=True))
    bits = exponentials_of([levels[0], levels[-1], level - value * mean, rest]).tolist()
    low, high = _negate(ends_of(slope))
    row: Row = {"scales": len(points.models), "lowest": min(points.values), "highest": max(points.values)}
    row |= {"bits_at_smallest": bits[0], "bits_at_largest": bits[1], "coefficient": bits[2]}
    row |= {"exponent": -value, "low": low, "high": high}
    if curve is not None:
        row["curvature"] = value_of(curve)
        row["curvature_low"], row["curvature_high"] = ends_of(curve)
    if points.distinct >= 3:
        row["residual"] = bits[3] - 1
    row["law"] = kind if points.distinct >= 3 else TWO_VALUES
    row |= {"seeds": len(points.seeds), "documents": len(group.bytes)}
    return row | {"reason": interval_limit(group, points.seeds)}


def _negate(ends: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    """Return an interval of the value with the opposite sign."""
    low, high = ends
    return (None if high is None else -high, None if low is None else -low)


def compare_scales(scale_groups: Sequence[ScaleGroup], undersized: Undersized = NO_UNDERSIZED) -> pl.DataFrame:
    """Compare the exponents of every two tokenizers on a line.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        undersized: variant and size of undersized vocabularies, which are not compared (default: none).

    Returns:
        The columns of :data:`SCALE_COMPARISONS`, over common models, seeds and documents. All pairs of a line over one
        quantity are one family of tests.
    """
    rows: list[Row] = []
    for group in scale_groups:
        variants = [variant for variant in sorted(group.bits) if (variant, group.size) not in undersized]
        for axis in filter(group.varying, AXES[group.line.varies]):
            slopes: dict[tuple[str, str], tuple[Estimate | float, Points]] = {}
            # Differences of exponents, over the models and seeds that both have.
            for a, b in combinations(variants, 2):
                if points_of_both := points_of(group, axis, [a, b]):
                    signed = zip((a, b), points_of_both, (-1.0, 1.0), strict=True)
                    terms = [
                        term
                        for variant, points, sign in signed
                        for term in terms_of(group, variant, points, [sign * w for w in slope_weights(points.logs)])
                    ]
                    slopes[a, b] = sum_of_logs(terms, group.bytes, bool(points_of_both[0].seeds)), points_of_both[0]
            # Test all pairs as one family.
            estimates = {
                pair: replace(slope, unit=group.unit)
                for pair, (slope, _) in slopes.items()
                if isinstance(slope, Estimate)
            }
            verdicts = dict(zip(estimates, judge(list(estimates.values())), strict=True))
            for pair, (slope, points) in slopes.items():
                row = group.head | {"axis": axis, "a": pair[0], "b": pair[1], "difference": value_of(slope)}
                row |= {"scales": len(points.models), "seeds": len(points.seeds), "documents": len(group.bytes)}
                row |= {"verdict": NOT_TESTED, "reason": interval_limit(group, points.seeds)}
                if judgement := verdicts.get(pair):
                    row |= {name: getattr(judgement, name) for name in ("low", "high", "p_value", "holm", "detectable")}
                    row["verdict"] = {BETTER: FLATTER, WORSE: STEEPER}.get(judgement.verdict, judgement.verdict)
                    row["reason"] = judgement.reason or row["reason"]
                rows.append(row)
    return SCALE_COMPARISONS.frame(rows)


def scale_orders(
    scale_groups: Sequence[ScaleGroup], bits_comparisons: pl.DataFrame, undersized: Undersized = NO_UNDERSIZED
) -> pl.DataFrame:
    """Compare the order of the tokenizers at the smallest scale of a line with that at the largest.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        bits_comparisons: verdicts of pairs at each scale, see
            :data:`tokbench.statistics.comparisons.model_bits.BITS_COMPARISONS`.
        undersized: variant and size of undersized vocabularies, which are left out (default: none).

    Returns:
        The columns of :data:`SCALE_ORDERS`, a row per line with two tokenizers or more.
    """
    rows: list[Row] = []
    for group in scale_groups:
        # Tokenizers with a model at both ends of the line.
        ends = group.line.models[0], group.line.models[-1]
        variants = [
            variant
            for variant in sorted(group.bits)
            if (variant, group.size) not in undersized and all(end in group.of(variant) for end in ends)
        ]
        if len(variants) < 2:
            continue
        seeds = group.seeds(variants, ends)
        bits = [group.stack(variant, end, seeds) for end in ends for variant in variants]
        # Kendall's tau between both ends, with a bootstrap interval.
        levels = np.array([[fsum(bits_of_model.ravel().tolist())] for bits_of_model in bits])
        split = len(variants)
        tau = float(kendall(levels[:split], levels[split:])[0])
        low, high = None, None
        if seeds and (len(seeds) > 1 or len(group.bytes) > 1):
            draws = resampled_levels(bits, group.bytes)
            low, high = tau_interval(kendall(draws[:split], draws[split:]))
        # Pairs that differ significantly, and those whose sign differs between two scales.
        verdicts = significant_signs(group, bits_comparisons, variants)
        significant = [sum(signs.get(end, 0) != 0 for signs in verdicts.values()) if verdicts else None for end in ends]
        pairs = [signs for signs in verdicts.values() if sum(sign != 0 for sign in signs.values()) > 1]
        reversed_ = [signs for signs in pairs if {-1, 1} <= set(signs.values())]
        row = group.head | {"smallest": ends[0], "largest": ends[1], "tokenizers": split}
        row |= {"tau": None if tau != tau else tau, "low": low, "high": high, "pairs": split * (split - 1) // 2}
        row |= {"significant_at_smallest": significant[0], "significant_at_largest": significant[1]}
        if verdicts:
            row |= {"significant_at_two": len(pairs), "reversed": len(reversed_)}
        row |= {"seeds": len(seeds), "documents": len(group.bytes), "reason": interval_limit(group, seeds)}
        rows.append(row)
    return SCALE_ORDERS.frame(rows)


def significant_signs(
    group: ScaleGroup, bits_comparisons: pl.DataFrame, variants: Sequence[str]
) -> Mapping[tuple[str, str], dict[str, int]]:
    """Return the sign of each tested difference by pair and model, 0 if it is not significant; only tested pairs."""
    part = bits_comparisons.filter(
        pl.col("model").is_in(group.line.models), pl.col("a").is_in(variants), pl.col("b").is_in(variants),
        corpus=group.corpus, suite=group.suite, size=group.size,
    ).filter(pl.col("verdict") != NOT_TESTED)  # fmt: skip
    signs: dict[tuple[str, str], dict[str, int]] = {}
    for a, b, model, verdict in part.select("a", "b", "model", "verdict").iter_rows():
        signs.setdefault((a, b), {})[model] = {BETTER: -1, WORSE: 1}.get(verdict, 0)
    return signs


SCALE_FITS = TidyTable(
    "scale_fits",
    "a tokenizer on a line of models, and a quantity that varies on it",
    (
        *LINE,
        VARIANT,
        AXIS,
        Column("scales", pl.Int64, "models of the line", "models"),
        Column("lowest", pl.Float64, "smallest value of the quantity, a mean over seeds", "that of the quantity",
               "from"),
        Column("highest", pl.Float64, "largest value of the quantity", "that of the quantity", "to"),
        Column("bits_at_smallest", pl.Float64, "bits per byte at the smallest scale", LEVEL, "bits at smallest", 4),
        Column("bits_at_largest", pl.Float64, "bits per byte at the largest scale", LEVEL, "bits at largest", 4),
        Column("exponent", pl.Float64, "b in bits per byte = a x^-b, by least squares in logarithms", "",
               "exponent", 4),
        Column("low", pl.Float64, f"lower end of its 95 % interval, {VARIATION}", "", "low", 4),
        Column("high", pl.Float64, "upper end of this interval", "", "high", 4),
        Column("coefficient", pl.Float64, "a in this law: bits per byte at x = 1, outside the range of the data",
               LEVEL),
        Column("residual", pl.Float64, "largest deviation of a model's bits per byte from the law, relative to it",
               "ratio less 1", "largest residual (%)", 2, "two scales"),
        Column("curvature", pl.Float64, "coefficient of the squared logarithm in a parabola", "", "curvature", 4,
               "two scales"),
        Column("curvature_low", pl.Float64, "lower end of its 95 % interval", "", "low ", 4, "two scales"),
        Column("curvature_high", pl.Float64, "upper end of this interval", "", "high ", 4, "two scales"),
        Column("law", pl.String, "check of the law by the curvature, at level 0.05 after Holm's correction over the "
               "tokenizers; not tested with fewer than three seeds"),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=fit_scales,
    takes=("scale_groups",),
    prints=(
        Print(
            "models",
            "Power laws of bits per byte over the {varies} of {models} on {suite}, at a vocabulary of {size}: bits per "
            "byte = a x^-b for each tokenizer. Intervals (95 %) cover seeds and documents.",
            (
                "variant", "axis", "scales", "lowest", "highest", "bits_at_smallest", "bits_at_largest", "exponent",
                "low", "high", "residual", "curvature", "curvature_low", "curvature_high", "law", "seeds", "documents",
            ),
            by=("corpus", "suite", "size", "varies"),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
SCALE_COMPARISONS = TidyTable(
    "scale_comparisons",
    "two tokenizers on a line of models, and a quantity that varies on it",
    (
        *LINE,
        AXIS,
        A,
        B,
        Column("difference", pl.Float64, "exponent of a minus that of b", "", "a − b", 4),
        Column("low", pl.Float64, f"lower end of its 95 % interval, {VARIATION}", "", "low", 4),
        Column("high", pl.Float64, "upper end of this interval", "", "high", 4),
        Column("p_value", pl.Float64, "two-sided p-value, by sign flips of the units or Student's t", PROBABILITY, "p"),
        Column("holm", pl.Float64, "p-value after Holm's correction over all pairs of the line and quantity",
               PROBABILITY, "p, Holm"),
        Column("verdict", pl.String, "verdict on a by Holm's p at level 0.05: steeper (its bits fall faster), flatter, "
               "or not told apart (no significant difference); not tested with fewer than three trainings", "", "a is"),
        Column("detectable", pl.Float64, "true difference that the uncorrected test detects with probability 0.8", "",
               "detectable", 4),
        Column("scales", pl.Int64, "models that both have", "models"),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=compare_scales,
    takes=("scale_groups", "undersized"),
    prints=(
        Print(
            "models",
            "Exponents of a minus those of b over the {varies} of {models} on {suite}, at a vocabulary of {size}, "
            "paired by seed and document. A steeper tokenizer gains more from scale.",
            ("axis", "a", "b", "difference", "low", "high", "holm", "verdict", "detectable", "seeds", "documents"),
            by=("corpus", "suite", "size", "varies"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
SCALE_ORDERS = TidyTable(
    "scale_orders",
    "a line of models with two tokenizers or more",
    (
        *LINE,
        Column("smallest", pl.String, "model at the smallest scale"),
        Column("largest", pl.String, "model at the largest scale"),
        Column("tokenizers", pl.Int64, "tokenizers with both, without undersized vocabularies", "tokenizers"),
        Column("tau", pl.Float64, "Kendall's tau-b of the tokenizers' bits per byte at both scales; 1 is the same "
               "order, -1 the reverse", "", "Kendall's tau", 2, "the bits do not vary"),
        Column("low", pl.Float64, "lower end of its 95 % interval by the bootstrap, with seeds and documents drawn "
               "independently", "", "low", 2),
        Column("high", pl.Float64, "upper end of this interval", "", "high", 2),
        Column("pairs", pl.Int64, "pairs of tokenizers", _PAIRS),
        Column("significant_at_smallest", pl.Int64, "pairs that differ significantly at the smallest scale, after "
               "Holm's correction", _PAIRS, "significant at smallest", empty=NOTHING_TESTED),
        Column("significant_at_largest", pl.Int64, "pairs that differ significantly at the largest scale", _PAIRS,
               "significant at largest", empty=NOTHING_TESTED),
        Column("significant_at_two", pl.Int64, "pairs that differ significantly at two scales of the line or more",
               _PAIRS, "significant at two", empty=NOTHING_TESTED),
        Column("reversed", pl.Int64, "of these, pairs with opposite signs at two scales", _PAIRS, "reversed",
               empty=NOTHING_TESTED),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=scale_orders,
    takes=("scale_groups", "bits_comparisons", "undersized"),
    prints=(
        Print(
            "models",
            "Order of the tokenizers by bits per byte at the smallest and the largest scale. Intervals of Kendall's "
            "tau are 95 % intervals over seeds and documents; with few seeds they are too narrow. Reversed: pairs "
            "that differ significantly at two scales, in opposite directions.",
            (
                "corpus", "suite", "size", "varies", "smallest", "largest", "tokenizers", "tau", "low", "high", "pairs",
                "significant_at_smallest", "significant_at_largest", "significant_at_two", "reversed", "seeds",
                "documents",
            ),
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
