"""Costs of language models over scale: inference per byte of text, and costs at equal bits.

Inference costs are counted and not measured: operations of the forward pass (two per weight and token, and all scores
of attention at the model's length; Kaplan et al. 2020, section 2.1), and bytes of the cache of keys and values. Both
are per byte of text, so that tokenizers are comparable: the cost of a token times tokens per byte.

Costs at equal bits follow the fitted line of a tokenizer (see :mod:`tokbench.statistics.scale.scaling`) to the bits per
byte of a model with the baseline. There is no extrapolation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

import polars as pl

from tokbench.statistics.scale.power_law import (
    Points,
    Weighted,
    exponential,
    exponential_of_end,
    interval_limit,
    line_weights,
    points_of,
    slope_weights,
    sum_of_logs,
    terms_of,
    value_of,
)
from tokbench.statistics.scale.scale_lines import AXES, AXIS, DOCUMENTS_OF, LEVEL, LINE, PETA, SEEDS_OF, ScaleGroup
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.undersized import LEFT_OUT, NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CORPUS, MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]
COSTS = (
    "parameters", "parameters_without_embeddings", "tokens_per_byte", "forward_flops_per_byte", "cache_bytes_per_byte"
)  # fmt: skip
FLAT = "the slope's interval includes zero: bits do not fall significantly along the line"
RISES = "bits do not fall along the line"


def model_costs(scale_groups: Sequence[ScaleGroup]) -> pl.DataFrame:
    """Return the costs of training and inference and the bits per byte of every model on a line of budgets or sizes.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
    """
    rows: dict[Row, dict[str, Any]] = {}
    for group in scale_groups:
        if group.line.varies == "checkpoint":
            continue
        for variant, models in sorted(group.bits.items()):
            for model in (name for name in group.line.models if name in models):
                costs = group.costs[variant, model]
                bits, low, high = level_of(group, variant, model)
                seeds = list(models[model])
                key = (group.corpus, model, group.suite, variant, group.size)
                flops = costs.get("flops")
                row = dict(zip(("corpus", "model", "suite", "variant", "size"), key, strict=True))
                row |= {name: costs.get(name) for name in (*COSTS, "text_bytes")}
                row |= {"petaflop": flops and flops / PETA, "bits_per_byte": bits, "low": low, "high": high}
                row |= {"seeds": len(seeds), "documents": len(group.bytes), "reason": interval_limit(group, seeds)}
                rows.setdefault(key, row)
    order = ("corpus", "suite", "size", "parameters_without_embeddings", "model", "variant")
    return MODEL_COSTS.frame(sorted(rows.values(), key=lambda row: tuple(row[name] for name in order)))


def level_of(group: ScaleGroup, variant: str, model: str) -> tuple[float, float | None, float | None]:
    """Return bits per byte of a model with their 95 % interval over its seeds and documents."""
    seeds = list(group.bits[variant][model])
    level = sum_of_logs([Weighted(1.0, group.stack(variant, model, seeds))], group.bytes)
    if not isinstance(level, Estimate):
        return exponential(level), None, None
    low, high = level.ends()
    return exponential(level.difference), exponential_of_end(low), exponential_of_end(high)


def cost_at_equal_bits(
    scale_groups: Sequence[ScaleGroup], baselines: Mapping[str, str], undersized: Undersized = NO_UNDERSIZED
) -> pl.DataFrame:
    """Return the cost of a tokenizer relative to the baseline, at the bits per byte of each model with the baseline.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        baselines: baseline by variant; without one, the first variant by name.
        undersized: variant and size of undersized vocabularies, which have no ratio (default: none).

    Returns:
        The columns of :data:`COST_AT_EQUAL_BITS`.
    """
    rows: list[dict[str, Any]] = []
    for group in scale_groups:
        for axis in filter(group.varying, AXES[group.line.varies]):
            for variant in sorted(group.bits):
                baseline = baselines.get(variant, min(group.bits))
                if variant == baseline or baseline not in group.bits:
                    continue
                points = points_of(group, axis, [variant, baseline])
                if not points:
                    continue
                small = any((name, group.size) in undersized for name in (variant, baseline))
                for place, model in enumerate(points[0].models):
                    ratio = LEFT_OUT if small else _ratio(group, variant, baseline, points, place)
                    values = (None, None, None, ratio) if isinstance(ratio, str) else ratio
                    seeds = points[0].seeds
                    row = group.head | {"variant": variant, "baseline": baseline, "axis": axis, "model": model}
                    row |= {"bits": exponential(_level(group, baseline, model, seeds))}
                    row |= dict(zip(("ratio", "low", "high", "reason"), values, strict=True))
                    rows.append(row | {"seeds": len(seeds), "documents": len(group.bytes)})
    return COST_AT_EQUAL_BITS.frame(rows)


def _level(group: ScaleGroup, variant: str, model: str, seeds: Sequence[int | None]) -> float:
    """Return the logarithm of bits per byte."""
    level = sum_of_logs([Weighted(1.0, group.stack(variant, model, seeds))], group.bytes, False)
    return value_of(level)


def _ratio(group: ScaleGroup, variant: str, baseline: str, points: list[Points], place: int) -> Row | str:
    """Return the ratio, its interval and its limit, or the reason why there is none.

    The line of the tokenizer is y = mean + slope (log x - mean x). It has the baseline's logarithm of bits at log x*,
    which is a function of all bits. Its linear terms are those of y(x*) and of the baseline, divided by the slope.
    """
    points_of_variant, points_of_baseline = points
    terms = terms_of(group, variant, points_of_variant, slope_weights(points_of_variant.logs))
    slope = sum_of_logs(terms, group.bytes, bool(points_of_variant.seeds))
    value = value_of(slope)
    if value >= 0:
        return RISES
    if isinstance(slope, Estimate) and (slope.ends()[1] or 0.0) >= 0:
        return FLAT
    model = points_of_variant.models[place]
    levels = [_level(group, variant, name, points_of_variant.seeds) for name in points_of_variant.models]
    level = _level(group, baseline, model, points_of_variant.seeds)
    at = fsum(points_of_variant.logs) / len(points_of_variant.logs) + (level - fsum(levels) / len(levels)) / value
    if not min(points_of_variant.logs) <= at <= max(points_of_variant.logs):
        side = "more bits than" if at < min(points_of_variant.logs) else "fewer bits than"
        return f"outside the data: the baseline has {side} the fitted line of {variant}"
    weights = [-weight / value for weight in line_weights(points_of_variant.logs, at)]
    terms = terms_of(group, variant, points_of_variant, weights)
    terms.append(Weighted(1 / value, group.stack(baseline, model, points_of_variant.seeds)))
    moved = sum_of_logs(terms, group.bytes, bool(points_of_variant.seeds))
    ratio = at - points_of_baseline.logs[place]
    limit = interval_limit(group, points_of_variant.seeds)
    if not isinstance(moved, Estimate):
        return exponential(ratio), None, None, limit
    low, high = map(exponential_of_end, replace(moved, difference=ratio).ends())
    return exponential(ratio), low, high, limit


MODEL_COSTS = TidyTable(
    "model_costs",
    "a model with a tokenizer, if other models differ from it only in scale",
    (
        CORPUS,
        MODEL,
        SUITE,
        VARIANT,
        SIZE,
        Column("parameters", pl.Float64, "parameters, with the embedding matrix and its padding", "parameters",
               "parameters", 0),
        Column("parameters_without_embeddings", pl.Float64, "parameters without the embedding matrix, which is also "
               "that of the softmax", "parameters", "without embeddings", 0),
        Column("tokens_per_byte", pl.Float64, "tokens per byte of the evaluation split, or of the training text if the "
               "split's tokens are not counted", "tokens per byte", "tokens per byte", 4, "the tokens are not known"),
        Column("forward_flops_per_byte", pl.Float64, "floating-point operations of the forward pass per byte of text: "
               "2 per weight and token, softmax included, and attention over the model's length, from a formula",
               "operations per byte", "operations per byte", 0, "the tokens are not known"),
        Column("cache_bytes_per_byte", pl.Float64, "bytes of keys and values per byte of text, in the model's "
               "precision", "bytes per byte", "cache per byte", 1, "the tokens are not known"),
        Column("text_bytes", pl.Float64, "bytes of text read in training, a mean over seeds", "bytes", "bytes of text",
               0, "not in the models' manifests"),
        Column("petaflop", pl.Float64, "floating-point operations of the training, a mean over seeds, from a formula",
               "10^15 operations", "PFLOP", empty="not in the models' manifests"),
        Column("bits_per_byte", pl.Float64, "bits per byte, a mean over seeds", LEVEL, "bits per byte", 4),
        Column("low", pl.Float64, "lower end of its 95 % interval over seeds and documents", LEVEL, "low", 4),
        Column("high", pl.Float64, "upper end of this interval", LEVEL, "high", 4),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=model_costs,
    takes=("scale_groups",),
    prints=(
        Print(
            "models",
            "Costs and bits per byte of models on {suite}, {corpus}. Costs are counted and not measured: operations "
            "of the forward pass, with attention over the model's length, and bytes of the cache of keys and values, "
            "both per byte of text. Intervals (95 %) of bits per byte cover seeds and documents.",
            (
                "variant", "size", "model", *COSTS, "text_bytes", "petaflop", "bits_per_byte", "low", "high", "seeds",
                "documents",
            ),
            by=("corpus", "suite"),
            folds_above=20,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
COST_AT_EQUAL_BITS = TidyTable(
    "cost_at_equal_bits",
    "a tokenizer and a model with the baseline on a line of models, and a quantity that varies on it",
    (
        *LINE,
        VARIANT,
        Column("baseline", pl.String, "variant that it is compared with"),
        AXIS,
        Column("model", pl.String, "model with the baseline whose bits per byte are reached"),
        Column("bits", pl.Float64, "bits per byte of this model, a mean over common seeds", LEVEL, "bits per byte", 4),
        Column("ratio", pl.Float64, "quantity at which the fitted line of the tokenizer has these bits per byte / "
               "quantity of the model with the baseline", "", "ratio", 3),
        Column("low", pl.Float64, "lower end of its 95 % interval, seeds and documents as crossed random effects", "",
               "low", 3),
        Column("high", pl.Float64, "upper end of this interval", "", "high", 3),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=cost_at_equal_bits,
    takes=("scale_groups", "baselines_of_all", "undersized"),
    prints=(
        Print(
            "models",
            "Cost at equal bits per byte over the {varies} of {models} on {suite}, at a vocabulary of {size}: the "
            "quantity at which the fitted line of a tokenizer reaches the bits per byte of a model with the baseline, "
            "divided by the quantity of that model. Below 1 is cheaper. Intervals (95 %) cover seeds and documents.",
            ("variant", "baseline", "axis", "model", "bits", "ratio", "low", "high", "seeds", "documents"),
            by=("corpus", "suite", "size", "varies"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
