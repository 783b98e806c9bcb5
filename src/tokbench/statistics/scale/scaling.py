"""Bits per byte over text, parameters and arithmetic: power laws of each tokenizer, and the order over scale.

A law is bits per byte = a x^-b, a straight line in logarithms, fitted by least squares to the models of one line (see
:mod:`tokbench.statistics.scale.scale_lines`). It has no irreducible loss: with three or more scales, a quadratic term
shows whether the points are curved, as they are near an irreducible loss (Hoffmann et al. 2022). Two scales give a
slope and no check. A law describes the range of its data and is not extrapolated.

Each estimate is a sum of weights times logarithms of bits per byte. Logarithms are linearized (delta method), so an
estimate is a ratio of sums over documents for each seed. Its interval therefore covers seeds and documents as crossed
random effects, see :func:`tokbench.statistics.significance.estimate.ratio_over_both`. Differences of tokenizers are
paired by seed and document. Other scales, such as those between the models, are not sampled: no interval covers them.

Reference: :mod:`tokbench.reference.scaling`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import fsum, inf
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.kernels.elementary import exponentials_of, logs_of
from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.scale.scale_lines import AXES, LINE, ScaleGroup
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.estimate import Estimate, ratio
from tokbench.statistics.significance.judgements import judge
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE
from tokbench.statistics.undersized import NONE, Undersized
from tokbench.tabulation.columns import REASON, VARIANT, A, B
from tokbench.tabulation.table import PROBABILITY, Column, Print, TidyTable

Row = dict[str, Any]
ONE_DOCUMENT = "one document: how much other documents would differ is not known"
TWO_VALUES = "two scales: a slope, and no check of the law"
STRAIGHT, SLOWER, FASTER = "no significant curvature", "falls more slowly at large scale", "falls faster at large scale"
STEEPER, FLATTER = "steeper", "flatter"
RESAMPLES = 1000
AXIS = Column(
    "axis", pl.String, "quantity: text_bytes (text of the training), flops (arithmetic of the training), parameters, "
    "parameters_without_embeddings, forward_flops_per_byte or cache_bytes_per_byte (inference, per byte of text)",
)  # fmt: skip
SEEDS_OF = Column("seeds", pl.Int64, "seeds that all these models have", "seeds")
DOCUMENTS_OF = Column("documents", pl.Int64, "documents that all models were tested on", "documents")
OVER = "seeds and documents as crossed random effects; over documents with one seed, over seeds for checkpoints"
LEVEL = "bits per byte"
_PAIRS = "pairs"
_UNTESTED = "nothing is tested with fewer than three trainings"


@dataclass(frozen=True, slots=True)
class Weighted:
    """Bits of a model with their weight in a sum of logarithms.

    Attributes:
        weight: weight of the logarithm of bits per byte.
        bits: float64 [seeds, documents].
    """

    weight: float
    bits: NDArray[np.float64]


def sum_of_logs(terms: Sequence[Weighted], sizes: NDArray[np.float64], paired: bool = True) -> Estimate | float:
    """Return a weighted sum of logarithms of bits per byte, with its standard error if there is one.

    Args:
        terms: terms with the same seeds and documents.
        sizes: float64 [documents], bytes of the documents.
        paired: False if the terms have no seed in common; there is then no standard error (default: True).

    Returns:
        An estimate over seeds and documents, over documents only for one seed; for one document, only the value.
    """
    whole = fsum(sizes.tolist())
    levels = [fsum(term.bits.ravel().tolist()) / (len(term.bits) * whole) for term in terms]
    value = fsum(term.weight * log for term, log in zip(terms, logs_of(levels).tolist(), strict=True))
    parts = np.zeros(terms[0].bits.shape)
    for term, level in zip(terms, levels, strict=True):
        parts += term.weight / level * term.bits
    estimate = ratio(parts, sizes, trained=True) if paired else None
    return value if estimate is None or estimate.error == inf else replace(estimate, difference=value)


def slope_weights(logs: Sequence[float]) -> list[float]:
    """Return the weights of the values in the slope of a least-squares line over ``logs``, of two distinct or more."""
    mean = fsum(logs) / len(logs)
    squares = fsum((one - mean) ** 2 for one in logs)
    return [(one - mean) / squares for one in logs]


def curvature_weights(logs: Sequence[float]) -> list[float]:
    """Return the weights of the values in the quadratic coefficient of a least-squares parabola.

    Args:
        logs: three distinct numbers or more.
    """
    mean = fsum(logs) / len(logs)
    squares = [(one - mean) ** 2 for one in logs]
    slope = fsum(weight * square for weight, square in zip(slope_weights(logs), squares, strict=True))
    level = fsum(squares) / len(logs)
    rest = [square - level - slope * (one - mean) for one, square in zip(logs, squares, strict=True)]
    whole = fsum(one * one for one in rest)
    return [one / whole for one in rest]


def line_weights(logs: Sequence[float], at: float) -> list[float]:
    """Return the weights of the values in the least-squares line at the point ``at``."""
    mean = fsum(logs) / len(logs)
    return [1 / len(logs) + (at - mean) * weight for weight in slope_weights(logs)]


@dataclass(frozen=True, slots=True)
class Points:
    """The models of one tokenizer on a line, over one quantity.

    Attributes:
        models: models with a value of the quantity, from the smallest scale to the largest.
        values: the quantity.
        logs: its logarithms.
        seeds: seeds that all these models have.
    """

    models: tuple[str, ...]
    values: tuple[float, ...]
    logs: tuple[float, ...]
    seeds: tuple[int | None, ...]

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return len(set(self.logs))


def points_of(group: ScaleGroup, axis: str, variants: Sequence[str]) -> list[Points]:
    """Return the points of some tokenizers over a quantity, for the models and seeds that all of them have.

    Returns:
        A list in the order of ``variants``; empty if they have fewer than two models with different values in common.
    """
    on = [group.on(axis, variant) for variant in variants]
    models = [model for model in group.line.models if all(model in known for known in on)]
    if len(models) < 2 or any(max(x := [known[m] for m in models]) <= min(x) for known in on):
        return []
    seeds = tuple(group.seeds(variants, models))
    values = [tuple(known[model] for model in models) for known in on]
    return [Points(tuple(models), one, tuple(logs_of(one).tolist()), seeds) for one in values]


def terms_of(group: ScaleGroup, variant: str, points: Points, weights: Sequence[float]) -> list[Weighted]:
    """Return the weighted bits of a tokenizer's models."""
    return [
        Weighted(weight, group.stacked(variant, model, points.seeds))
        for model, weight in zip(points.models, weights, strict=True)
    ]


def why_not(group: ScaleGroup, seeds: Sequence[int | None]) -> str | None:
    """Return a limit of the intervals over these seeds; None if they cover seeds and documents."""
    if not seeds:
        return NO_SEED
    return ONE_TRAINING if len(seeds) == 1 else ONE_DOCUMENT if len(group.bytes) == 1 else None


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
            found = {variant: one for variant in sorted(group.bits) for one in points_of(group, axis, [variant])}
            curves = {variant: _curvature(group, variant, points) for variant, points in found.items()}
            tested = {variant: one for variant, one in curves.items() if isinstance(one, Estimate)}
            judged = dict(zip(tested, judge(list(tested.values())), strict=True))
            for variant, points in found.items():
                verdict = judged[variant].verdict if variant in judged else NOT_TESTED
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
    value = slope.difference if isinstance(slope, Estimate) else slope
    mean = fsum(points.logs) / len(points.logs)
    levels = [
        _value(sum_of_logs([one], group.bytes, False)) for one in terms_of(group, variant, points, [1.0] * len(weights))
    ]
    level = fsum(levels) / len(levels)
    fitted = [level + value * (log - mean) for log in points.logs]
    rest = max(abs(bits - at) for bits, at in zip(levels, fitted, strict=True))
    bits = exponentials_of([levels[0], levels[-1], level - value * mean, rest]).tolist()
    low, high = _reversed(_ends(slope))
    row: Row = {"scales": len(points.models), "lowest": min(points.values), "highest": max(points.values)}
    row |= {"bits_at_smallest": bits[0], "bits_at_largest": bits[1], "coefficient": bits[2]}
    row |= {"exponent": -value, "low": low, "high": high}
    if curve is not None:
        row["curvature"] = _value(curve)
        row["curvature_low"], row["curvature_high"] = _ends(curve)
    if points.distinct >= 3:
        row["residual"] = bits[3] - 1
    row["law"] = kind if points.distinct >= 3 else TWO_VALUES
    row |= {"seeds": len(points.seeds), "documents": len(group.bytes)}
    return row | {"reason": why_not(group, points.seeds)}


def _value(one: Estimate | float) -> float:
    return one.difference if isinstance(one, Estimate) else one


def _ends(one: Estimate | float | None) -> tuple[float | None, float | None]:
    return one.ends() if isinstance(one, Estimate) else (None, None)


def _reversed(ends: tuple[float | None, float | None]) -> tuple[float | None, float | None]:
    """Return an interval of the value with the opposite sign."""
    low, high = ends
    return (None if high is None else -high, None if low is None else -low)


def compare_scales(scale_groups: Sequence[ScaleGroup], fewer: Undersized = NONE) -> pl.DataFrame:
    """Compare the exponents of every two tokenizers on a line.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        fewer: variant and size of undersized vocabularies, which are not compared (default: none).

    Returns:
        The columns of :data:`SCALE_COMPARISONS`, over common models, seeds and documents. All pairs of a line over one
        quantity are one family of tests.
    """
    rows: list[Row] = []
    for group in scale_groups:
        variants = [one for one in sorted(group.bits) if (one, group.size) not in fewer]
        for axis in filter(group.varying, AXES[group.line.varies]):
            found: dict[tuple[str, str], tuple[Estimate | float, Points]] = {}
            for a, b in combinations(variants, 2):
                if both := points_of(group, axis, [a, b]):
                    signed = zip((a, b), both, (-1.0, 1.0), strict=True)
                    terms = [
                        term
                        for variant, one, sign in signed
                        for term in terms_of(group, variant, one, [sign * w for w in slope_weights(one.logs)])
                    ]
                    found[a, b] = sum_of_logs(terms, group.bytes, bool(both[0].seeds)), both[0]
            tested = {
                pair: replace(one, unit=group.unit) for pair, (one, _) in found.items() if isinstance(one, Estimate)
            }
            verdicts = dict(zip(tested, judge(list(tested.values())), strict=True))
            for pair, (one, points) in found.items():
                row = group.head | {"axis": axis, "a": pair[0], "b": pair[1], "difference": _value(one)}
                row |= {"scales": len(points.models), "seeds": len(points.seeds), "documents": len(group.bytes)}
                row |= {"verdict": NOT_TESTED, "reason": why_not(group, points.seeds)}
                if judged := verdicts.get(pair):
                    row |= {name: getattr(judged, name) for name in ("low", "high", "p_value", "holm", "detectable")}
                    row["verdict"] = {BETTER: FLATTER, WORSE: STEEPER}.get(judged.verdict, judged.verdict)
                    row["reason"] = judged.reason or row["reason"]
                rows.append(row)
    return SCALE_COMPARISONS.frame(rows)


def kendall(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Kendall's tau-b of the rows of ``x`` and ``y`` (Kendall 1945), column by column.

    Args:
        x, y: float64 [items, columns].

    Returns:
        float64 [columns]; not a number where one of the two does not vary.
    """
    pairs = list(combinations(range(len(x)), 2))
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    signs_x, signs_y = np.sign(x[first] - x[second]), np.sign(y[first] - y[second])
    concordant = (signs_x * signs_y).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(concordant / np.sqrt((signs_x**2).sum(0) * (signs_y**2).sum(0)))


def resampled_levels(
    bits: Sequence[NDArray[np.float64]], sizes: NDArray[np.float64], seed: int = 0
) -> NDArray[np.float64]:
    """Return resampled bits per byte of models, with seeds and documents drawn independently (Owen 2007).

    All models share the draws of a resample, so differences between them are paired.

    Args:
        bits: float64 [seeds, documents] for each model, with the same seeds and documents.
        sizes: float64 [documents], bytes of the documents.
        seed: seed of the draws (default: 0).

    Returns:
        float64 [models, RESAMPLES].
    """
    seeds, documents = bits[0].shape
    rng = np.random.default_rng(seed)
    of_seeds = rng.multinomial(seeds, [1 / seeds] * seeds, RESAMPLES).astype(np.float64)
    of_documents = rng.multinomial(documents, [1 / documents] * documents, RESAMPLES).astype(np.float64)
    sums, whole = np.zeros((len(bits), RESAMPLES)), np.zeros(RESAMPLES)
    every = np.stack(bits)
    for document in range(documents):
        drawn = np.zeros((len(bits), RESAMPLES))
        for one in range(seeds):
            drawn += every[:, one, document, np.newaxis] * of_seeds[:, one]
        sums += drawn * of_documents[:, document]
        whole += sizes[document] * of_documents[:, document]
    return np.asarray(sums / (seeds * whole))


def tau_interval(taus: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Return the 95 % percentile interval of resampled coefficients; None if any is not a number."""
    if np.isnan(taus).any():
        return None, None
    low, high = np.quantile(taus, [0.025, 0.975]).tolist()
    return low, high


def scale_orders(
    scale_groups: Sequence[ScaleGroup], bits_comparisons: pl.DataFrame, fewer: Undersized = NONE
) -> pl.DataFrame:
    """Compare the order of the tokenizers at the smallest scale of a line with that at the largest.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        bits_comparisons: verdicts of pairs at each scale, see
            :data:`tokbench.statistics.comparisons.model_bits.BITS_COMPARISONS`.
        fewer: variant and size of undersized vocabularies, which are left out (default: none).

    Returns:
        The columns of :data:`SCALE_ORDERS`, a row per line with two tokenizers or more.
    """
    rows: list[Row] = []
    for group in scale_groups:
        ends = group.line.models[0], group.line.models[-1]
        variants = [
            one
            for one in sorted(group.bits)
            if (one, group.size) not in fewer and all(end in group.of(one) for end in ends)
        ]
        if len(variants) < 2:
            continue
        seeds = group.seeds(variants, ends)
        bits = [group.stacked(variant, end, seeds) for end in ends for variant in variants]
        levels = np.array([[fsum(one.ravel().tolist())] for one in bits])
        split = len(variants)
        tau = float(kendall(levels[:split], levels[split:])[0])
        low, high = None, None
        if seeds and (len(seeds) > 1 or len(group.bytes) > 1):
            drawn = resampled_levels(bits, group.bytes)
            low, high = tau_interval(kendall(drawn[:split], drawn[split:]))
        verdicts = _verdicts(group, bits_comparisons, variants)
        significant = [sum(one.get(end, 0) != 0 for one in verdicts.values()) if verdicts else None for end in ends]
        both = [one for one in verdicts.values() if sum(sign != 0 for sign in one.values()) > 1]
        reversed_ = [one for one in both if {-1, 1} <= set(one.values())]
        row = group.head | {"smallest": ends[0], "largest": ends[1], "tokenizers": split}
        row |= {"tau": None if tau != tau else tau, "low": low, "high": high, "pairs": split * (split - 1) // 2}
        row |= {"significant_at_smallest": significant[0], "significant_at_largest": significant[1]}
        if verdicts:
            row |= {"significant_at_two": len(both), "reversed": len(reversed_)}
        row |= {"seeds": len(seeds), "documents": len(group.bytes), "reason": why_not(group, seeds)}
        rows.append(row)
    return SCALE_ORDERS.frame(rows)


def _verdicts(
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
        Column("low", pl.Float64, f"lower end of its 95 % interval, {OVER}", "", "low", 4),
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
        Column("low", pl.Float64, f"lower end of its 95 % interval, {OVER}", "", "low", 4),
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
    takes=("scale_groups", "fewer"),
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
               "Holm's correction", _PAIRS, "significant at smallest", empty=_UNTESTED),
        Column("significant_at_largest", pl.Int64, "pairs that differ significantly at the largest scale", _PAIRS,
               "significant at largest", empty=_UNTESTED),
        Column("significant_at_two", pl.Int64, "pairs that differ significantly at two scales of the line or more",
               _PAIRS, "significant at two", empty=_UNTESTED),
        Column("reversed", pl.Int64, "of these, pairs with opposite signs at two scales", _PAIRS, "reversed",
               empty=_UNTESTED),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=scale_orders,
    takes=("scale_groups", "bits_comparisons", "fewer"),
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
