"""Costs of language models over scale: inference per byte of text, costs at equal bits, and bits at equal arithmetic.

Inference costs are counted and not measured: operations of the forward pass (two per weight and token, and all scores
of attention at the model's length; Kaplan et al. 2020, section 2.1), and bytes of the cache of keys and values. Both
are per byte of text, so that tokenizers are comparable: the cost of a token times tokens per byte.

Costs at equal bits follow the fitted line of a tokenizer (see :mod:`tokbench.statistics.scale.scaling`) to the bits per
byte of a model with the baseline. There is no extrapolation.

Bits at equal arithmetic are compared with bytes per token, as in "Compute Optimal Tokenization" (Limisiewicz et al.
2026): at one budget of arithmetic, a tokenizer with longer tokens reads more text.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import fsum
from typing import Any

import numpy as np
import polars as pl

from tokbench.kernels.elementary import exponentials_of, logs_of
from tokbench.statistics.scale.scale_lines import AXES, LINE, Recipe, ScaleGroup, budget_of
from tokbench.statistics.scale.scaling import (
    AXIS,
    DOCUMENTS_OF,
    LEVEL,
    SEEDS_OF,
    Points,
    Weighted,
    kendall,
    line_weights,
    points_of,
    resampled_levels,
    slope_weights,
    sum_of_logs,
    tau_interval,
    terms_of,
    why_not,
)
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.undersized import LEFT_OUT, NONE, Undersized
from tokbench.tabulation.columns import CORPUS, MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]
COSTS = (
    "parameters", "parameters_without_embeddings", "tokens_per_byte", "forward_flops_per_byte", "cache_bytes_per_byte"
)  # fmt: skip
FLAT = "the slope's interval includes zero: bits do not fall significantly along the line"
UNPAIRED = "vocabulary sizes were tested on other documents"
PETA = 1e15
RISES = "bits do not fall along the line"
_AT = (
    CORPUS,
    SUITE,
    Column("models", pl.String, "model, or models of the line that are interpolated"),
    Column("petaflop", pl.Float64, "floating-point operations of the training", "10^15 operations", "PFLOP"),
)


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
            for model in (one for one in group.line.models if one in models):
                costs = group.costs[variant, model]
                bits, low, high = level_of(group, variant, model)
                seeds = list(models[model])
                key = (group.corpus, model, group.suite, variant, group.size)
                flops = costs.get("flops")
                row = dict(zip(("corpus", "model", "suite", "variant", "size"), key, strict=True))
                row |= {name: costs.get(name) for name in (*COSTS, "text_bytes")}
                row |= {"petaflop": flops and flops / PETA, "bits_per_byte": bits, "low": low, "high": high}
                row |= {"seeds": len(seeds), "documents": len(group.bytes), "reason": why_not(group, seeds)}
                rows.setdefault(key, row)
    order = ("corpus", "suite", "size", "parameters_without_embeddings", "model", "variant")
    return MODEL_COSTS.frame(sorted(rows.values(), key=lambda row: tuple(row[name] for name in order)))


def level_of(group: ScaleGroup, variant: str, model: str) -> tuple[float, float | None, float | None]:
    """Return bits per byte of a model with their 95 % interval over its seeds and documents."""
    seeds = list(group.bits[variant][model])
    level = sum_of_logs([Weighted(1.0, group.stacked(variant, model, seeds))], group.bytes)
    if not isinstance(level, Estimate):
        return _exp(level), None, None
    low, high = level.ends()
    return _exp(level.difference), _exp_of(low), _exp_of(high)


def _exp(value: float) -> float:
    return float(exponentials_of([value])[0])


def _exp_of(end: float | None) -> float | None:
    return None if end is None else _exp(end)


def cost_at_equal_bits(
    scale_groups: Sequence[ScaleGroup], baselines: Mapping[str, str], fewer: Undersized = NONE
) -> pl.DataFrame:
    """Return the cost of a tokenizer relative to the baseline, at the bits per byte of each model with the baseline.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        baselines: baseline by variant; without one, the first variant by name.
        fewer: variant and size of undersized vocabularies, which have no ratio (default: none).

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
                small = any((one, group.size) in fewer for one in (variant, baseline))
                for place, model in enumerate(points[0].models):
                    ratio = LEFT_OUT if small else _ratio(group, variant, baseline, points, place)
                    values = (None, None, None, ratio) if isinstance(ratio, str) else ratio
                    seeds = points[0].seeds
                    row = group.head | {"variant": variant, "baseline": baseline, "axis": axis, "model": model}
                    row |= {"bits": _exp(_level(group, baseline, model, seeds))}
                    row |= dict(zip(("ratio", "low", "high", "reason"), values, strict=True))
                    rows.append(row | {"seeds": len(seeds), "documents": len(group.bytes)})
    return COST_AT_EQUAL_BITS.frame(rows)


def _level(group: ScaleGroup, variant: str, model: str, seeds: Sequence[int | None]) -> float:
    """Return the logarithm of bits per byte."""
    level = sum_of_logs([Weighted(1.0, group.stacked(variant, model, seeds))], group.bytes, False)
    return level.difference if isinstance(level, Estimate) else level


def _ratio(group: ScaleGroup, variant: str, baseline: str, points: list[Points], place: int) -> Row | str:
    """Return the ratio, its interval and its limit, or the reason why there is none.

    The line of the tokenizer is y = mean + slope (log x - mean x). It has the baseline's logarithm of bits at log x*,
    which is a function of all bits. Its linear terms are those of y(x*) and of the baseline, divided by the slope.
    """
    own, other = points
    terms = terms_of(group, variant, own, slope_weights(own.logs))
    slope = sum_of_logs(terms, group.bytes, bool(own.seeds))
    value = slope.difference if isinstance(slope, Estimate) else slope
    if value >= 0:
        return RISES
    if isinstance(slope, Estimate) and (slope.ends()[1] or 0.0) >= 0:
        return FLAT
    model = own.models[place]
    levels = [_level(group, variant, one, own.seeds) for one in own.models]
    wanted = _level(group, baseline, model, own.seeds)
    at = fsum(own.logs) / len(own.logs) + (wanted - fsum(levels) / len(levels)) / value
    if not min(own.logs) <= at <= max(own.logs):
        side = "more bits than" if at < min(own.logs) else "fewer bits than"
        return f"outside the data: the baseline has {side} the fitted line of {variant}"
    weights = [-weight / value for weight in line_weights(own.logs, at)]
    terms = terms_of(group, variant, own, weights)
    terms.append(Weighted(1 / value, group.stacked(baseline, model, own.seeds)))
    moved = sum_of_logs(terms, group.bytes, bool(own.seeds))
    ratio = at - other.logs[place]
    limit = why_not(group, own.seeds)
    if not isinstance(moved, Estimate):
        return _exp(ratio), None, None, limit
    low, high = map(_exp_of, replace(moved, difference=ratio).ends())
    return _exp(ratio), low, high, limit


def _settings(groups: Sequence[ScaleGroup]) -> Iterator[tuple[Row, str, list[ScaleGroup]]]:
    """Yield corpus, suite and models, and the groups of a line over its vocabulary sizes, for lines with arithmetic."""
    by_line: dict[Row, list[ScaleGroup]] = {}
    for group in groups:
        if group.line.varies != "checkpoint":
            by_line.setdefault((group.corpus, group.suite, group.line), []).append(group)
    for (corpus, suite, line), part in by_line.items():
        yield (corpus, suite, line), line.varies, part


def equal_arithmetic(scale_groups: Sequence[ScaleGroup], model_recipes: Mapping[str, Recipe]) -> pl.DataFrame:
    """Return bits per byte and bytes per token of tokenizers at equal arithmetic of the training.

    Models with a budget of arithmetic are compared as they are. On a line of other budgets, bits are interpolated
    between the two neighbouring budgets, linearly in logarithms, at the largest arithmetic that every tokenizer and
    vocabulary size reaches.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        model_recipes: all options by common name of the models.

    Returns:
        The columns of :data:`EQUAL_ARITHMETIC`.
    """
    rows = [row for points in _equal(scale_groups, model_recipes) for row in points.rows]
    return pl.DataFrame(rows, schema=EQUAL_ARITHMETIC.schema, orient="row")


class _Compared:
    """Tokenizers at one arithmetic, with their rows and the weighted logarithms of their bits."""

    def __init__(self, key: Row) -> None:
        self.key = key
        self.rows: list[Row] = []
        self.terms: list[tuple[ScaleGroup, str, list[tuple[str, float]]]] = []

    def add(self, group: ScaleGroup, variant: str, models: list[tuple[str, float]], how: str) -> None:
        """Add a tokenizer; its bits are a mean of those of some models, in logarithms."""
        names = [model for model, _ in models]
        rate = group.costs[variant, names[0]].get("tokens_per_byte")
        if not rate:
            return
        seeds = group.seeds([variant], names)
        terms = [Weighted(weight, group.stacked(variant, model, seeds)) for model, weight in models]
        level = sum_of_logs(terms, group.bytes, bool(seeds))
        ends = [*map(_exp_of, level.ends())] if isinstance(level, Estimate) else [None, None]
        bits = _exp(level.difference if isinstance(level, Estimate) else level)
        counts = (len(seeds), len(group.bytes))
        self.rows.append((*self.key, variant, group.size, 1 / rate, bits, *ends, how, *counts, why_not(group, seeds)))
        self.terms.append((group, variant, models))


def _equal(groups: Sequence[ScaleGroup], recipes: Mapping[str, Recipe]) -> list[_Compared]:
    found: dict[Row, _Compared] = {}
    for (corpus, suite, line), varies, part in _settings(groups):
        if budget_of(recipes[line.models[0]])[:1] == ("flops",):
            for model in line.models:
                key = (corpus, suite, model, float(recipes[model]["flops"]) / PETA)
                if key in found:
                    continue
                found[key] = _Compared(key)
                for group in part:
                    for variant in (one for one in sorted(group.bits) if model in group.of(one)):
                        found[key].add(group, variant, [(model, 1.0)], "trained")
        elif varies == "budget":
            ranges = {(g.size, one): x for g in part for one in sorted(g.bits) if len(x := g.on("flops", one)) > 1}
            if not ranges:
                continue
            at = min(max(x.values()) for x in ranges.values())
            key = (corpus, suite, ", ".join(line.models), at / PETA)
            found[key] = _Compared(key)
            for group in part:
                for variant in sorted(group.bits):
                    known = ranges.get((group.size, variant), {})
                    if known and min(known.values()) <= at:
                        found[key].add(group, variant, between(known, at), "interpolated")
    return [one for one in found.values() if len(one.rows) > 1]


def between(known: Mapping[str, float], at: float) -> list[tuple[str, float]]:
    """Return the two models between which a value lies, with their weights, linearly in logarithms; one if it is equal.

    Args:
        known: value of each model.
        at: a value between the smallest and the largest.
    """
    ordered = sorted(known, key=lambda model: known[model])
    above = next(place for place, model in enumerate(ordered) if known[model] >= at)
    if known[ordered[above]] == at:
        return [(ordered[above], 1.0)]
    low, high = ordered[above - 1], ordered[above]
    logs = logs_of([known[low], at, known[high]]).tolist()
    share = (logs[1] - logs[0]) / (logs[2] - logs[0])
    return [(low, 1 - share), (high, share)]


def equal_arithmetic_order(
    scale_groups: Sequence[ScaleGroup], model_recipes: Mapping[str, Recipe], fewer: Undersized = NONE
) -> pl.DataFrame:
    """Return Kendall's tau of bytes per token with bits per byte at equal arithmetic.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        model_recipes: all options by common name of the models.
        fewer: variant and size of undersized vocabularies, which are left out (default: none).

    Returns:
        The columns of :data:`EQUAL_ARITHMETIC_ORDER`.
    """
    rows: list[Row] = []
    for compared in _equal(scale_groups, model_recipes):
        chosen = [
            place for place, (group, variant, _) in enumerate(compared.terms) if (variant, group.size) not in fewer
        ]
        if len(chosen) < 3:
            few = f"{len(chosen)} tokenizers; three are needed"
            rows.append((*compared.key, len(chosen), None, None, None, None, None, few))
            continue
        terms = [compared.terms[place] for place in chosen]
        lengths = np.array([[compared.rows[place][6]] for place in chosen])
        tau = float(kendall(lengths, np.array([[compared.rows[place][7]] for place in chosen]))[0])
        seeds = _common(terms)
        low = high = None
        documents = {len(group.bytes) for group, _, _ in terms}
        paired = len({group.bytes.tobytes() for group, _, _ in terms}) == 1
        if seeds and paired and (len(seeds) > 1 or max(documents) > 1):
            drawn = _resampled(terms, seeds)
            low, high = tau_interval(kendall(np.broadcast_to(lengths, drawn.shape), drawn))
        reason = why_not(terms[0][0], seeds) if paired else UNPAIRED
        counts = (len(seeds), max(documents))
        rows.append((*compared.key, len(chosen), None if tau != tau else tau, low, high, *counts, reason))
    return pl.DataFrame(rows, schema=EQUAL_ARITHMETIC_ORDER.schema, orient="row")


def _common(terms: Sequence[tuple[ScaleGroup, str, list[tuple[str, float]]]]) -> list[int | None]:
    """Return the seeds that all models have."""
    every = [group.bits[variant][model] for group, variant, models in terms for model, _ in models]
    return [seed for seed in every[0] if all(seed in one for one in every)]


def _resampled(
    terms: Sequence[tuple[ScaleGroup, str, list[tuple[str, float]]]], seeds: Sequence[int | None]
) -> np.ndarray:
    """Return resampled logarithms of bits per byte, float64 [tokenizers, resamples]."""
    runs = [(group, variant, model) for group, variant, models in terms for model, _ in models]
    bits = [group.stacked(variant, model, seeds) for group, variant, model in runs]
    logs = iter(logs_of(resampled_levels(bits, terms[0][0].bytes)))
    return np.stack([sum(weight * next(logs) for _, weight in models) for _, _, models in terms])


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
    takes=("scale_groups", "baselines_of_all", "fewer"),
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
EQUAL_ARITHMETIC = TidyTable(
    "equal_arithmetic",
    "a tokenizer at one arithmetic of the training",
    (
        *_AT,
        VARIANT,
        SIZE,
        Column("bytes_per_token", pl.Float64, "bytes per token of the evaluation split, or of the training text if the "
               "split's tokens are not counted", "bytes per token", "bytes per token", 3),
        Column("bits_per_byte", pl.Float64, "bits per byte at this arithmetic, a mean over seeds", LEVEL,
               "bits per byte", 4),
        Column("low", pl.Float64, "lower end of its 95 % interval over seeds and documents", LEVEL, "low", 4),
        Column("high", pl.Float64, "upper end of this interval", LEVEL, "high", 4),
        Column("how", pl.String, "trained with this arithmetic, or interpolated between two budgets"),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=equal_arithmetic,
    takes=("scale_groups", "model_recipes"),
    prints=(
        Print(
            "models",
            "Bytes per token and bits per byte on {suite} at equal arithmetic of the training, {petaflop:.4g} PFLOP, "
            "by {models}. Intervals (95 %) cover seeds and documents.",
            ("variant", "size", "bytes_per_token", "bits_per_byte", "low", "high", "how", "seeds", "documents"),
            by=("corpus", "suite", "petaflop"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
EQUAL_ARITHMETIC_ORDER = TidyTable(
    "equal_arithmetic_order",
    "an arithmetic of the training at which tokenizers are compared",
    (
        *_AT,
        Column("tokenizers", pl.Int64, "tokenizers, without undersized vocabularies", "tokenizers"),
        Column("tau", pl.Float64, "Kendall's tau-b of bytes per token with bits per byte; -1 if longer tokens always "
               "go with fewer bits", "", "Kendall's tau", 2),
        Column("low", pl.Float64, "lower end of its 95 % interval by the bootstrap, with seeds and documents drawn "
               "independently", "", "low", 2),
        Column("high", pl.Float64, "upper end of this interval", "", "high", 2),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=equal_arithmetic_order,
    takes=("scale_groups", "model_recipes", "fewer"),
    prints=(
        Print(
            "models",
            "Kendall's tau of bytes per token with bits per byte at equal arithmetic of the training; below zero, "
            "longer tokens go with fewer bits. 95 % intervals are over seeds and documents and treat the tokenizers "
            "as fixed; with few seeds they are too narrow.",
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
