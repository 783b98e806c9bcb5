"""Bits per byte of tokenizers at equal arithmetic of the training (IsoFLOP, Hoffmann et al. 2022).

Bits at equal arithmetic are compared with bytes per token, as in "Compute Optimal Tokenization" (Limisiewicz et al.
2026): at one budget of arithmetic, a tokenizer with longer tokens reads more text.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tokbench.kernels.elementary import logs_of
from tokbench.statistics.scale.power_law import (
    Weighted,
    ends_of,
    exponential,
    exponential_of_end,
    interval_limit,
    sum_of_logs,
    value_of,
)
from tokbench.statistics.scale.rank_order import kendall, resampled_levels, tau_interval
from tokbench.statistics.scale.scale_lines import DOCUMENTS_OF, LEVEL, PETA, SEEDS_OF, Recipe, ScaleGroup, budget_of
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CORPUS, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]
UNPAIRED = "vocabulary sizes were tested on other documents"
_AT = (
    CORPUS,
    SUITE,
    Column("models", pl.String, "model, or models of the line that are interpolated"),
    Column("petaflop", pl.Float64, "floating-point operations of the training", "10^15 operations", "PFLOP"),
)


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
    return EQUAL_ARITHMETIC.frame(row for points in _at_equal_flops(scale_groups, model_recipes) for row in points.rows)


class EqualFlops:
    """Tokenizers at one arithmetic, with their rows and the weighted logarithms of their bits."""

    def __init__(self, key: Row) -> None:
        self.head: dict[str, Any] = {column.name: value for column, value in zip(_AT, key, strict=True)}
        self.rows: list[dict[str, Any]] = []
        self.terms: list[tuple[ScaleGroup, str, list[tuple[str, float]]]] = []

    def add(self, group: ScaleGroup, variant: str, models: list[tuple[str, float]], how: str) -> None:
        """Add a tokenizer; its bits are a mean of those of some models, in logarithms."""
        names = [model for model, _ in models]
        rate = group.costs[variant, names[0]].get("tokens_per_byte")
        if not rate:
            return
        seeds = group.seeds([variant], names)
        terms = [Weighted(weight, group.stack(variant, model, seeds)) for model, weight in models]
        level = sum_of_logs(terms, group.bytes, bool(seeds))
        low, high = map(exponential_of_end, ends_of(level))
        row = self.head | {"variant": variant, "size": group.size, "bytes_per_token": 1 / rate, "how": how}
        row |= {"bits_per_byte": exponential(value_of(level))}
        row |= {"low": low, "high": high, "seeds": len(seeds), "documents": len(group.bytes)}
        self.rows.append(row | {"reason": interval_limit(group, seeds)})
        self.terms.append((group, variant, models))


def _at_equal_flops(groups: Sequence[ScaleGroup], recipes: Mapping[str, Recipe]) -> list[EqualFlops]:
    comparisons: dict[Row, EqualFlops] = {}
    for (corpus, suite, line), varies, part in _settings(groups):
        if budget_of(recipes[line.models[0]])[:1] == ("flops",):
            for model in line.models:
                key = (corpus, suite, model, float(recipes[model]["flops"]) / PETA)
                if key in comparisons:
                    continue
                comparisons[key] = EqualFlops(key)
                for group in part:
                    for variant in (name for name in sorted(group.bits) if model in group.of(name)):
                        comparisons[key].add(group, variant, [(model, 1.0)], "trained")
        elif varies == "budget":
            ranges = {(g.size, name): x for g in part for name in sorted(g.bits) if len(x := g.on("flops", name)) > 1}
            if not ranges:
                continue
            at = min(max(x.values()) for x in ranges.values())
            key = (corpus, suite, ", ".join(line.models), at / PETA)
            comparisons[key] = EqualFlops(key)
            for group in part:
                for variant in sorted(group.bits):
                    known = ranges.get((group.size, variant), {})
                    if known and min(known.values()) <= at:
                        comparisons[key].add(group, variant, neighbours(known, at), "interpolated")
    return [comparison for comparison in comparisons.values() if len(comparison.rows) > 1]


def neighbours(known: Mapping[str, float], at: float) -> list[tuple[str, float]]:
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
    scale_groups: Sequence[ScaleGroup], model_recipes: Mapping[str, Recipe], undersized: Undersized = NO_UNDERSIZED
) -> pl.DataFrame:
    """Return Kendall's tau of bytes per token with bits per byte at equal arithmetic.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        model_recipes: all options by common name of the models.
        undersized: variant and size of undersized vocabularies, which are left out (default: none).

    Returns:
        The columns of :data:`EQUAL_ARITHMETIC_ORDER`.
    """
    rows: list[dict[str, Any]] = []
    for compared in _at_equal_flops(scale_groups, model_recipes):
        chosen = [
            place for place, (group, variant, _) in enumerate(compared.terms) if (variant, group.size) not in undersized
        ]
        row = compared.head | {"tokenizers": len(chosen)}
        if len(chosen) < 3:
            rows.append(row | {"reason": f"{len(chosen)} tokenizers; three are needed"})
            continue
        terms = [compared.terms[place] for place in chosen]
        lengths = np.array([[compared.rows[place]["bytes_per_token"]] for place in chosen])
        tau = float(kendall(lengths, np.array([[compared.rows[place]["bits_per_byte"]] for place in chosen]))[0])
        seeds = _common_seeds(terms)
        low = high = None
        documents = {len(group.bytes) for group, _, _ in terms}
        paired = len({group.bytes.tobytes() for group, _, _ in terms}) == 1
        if seeds and paired and (len(seeds) > 1 or max(documents) > 1):
            levels = _resample(terms, seeds)
            low, high = tau_interval(kendall(np.broadcast_to(lengths, levels.shape), levels))
        row |= {"tau": None if tau != tau else tau, "low": low, "high": high}
        row |= {"seeds": len(seeds), "documents": max(documents)}
        rows.append(row | {"reason": interval_limit(terms[0][0], seeds) if paired else UNPAIRED})
    return EQUAL_ARITHMETIC_ORDER.frame(rows)


def _common_seeds(terms: Sequence[tuple[ScaleGroup, str, list[tuple[str, float]]]]) -> list[int | None]:
    """Return the seeds that all models have."""
    by_run = [group.bits[variant][model] for group, variant, models in terms for model, _ in models]
    return [seed for seed in by_run[0] if all(seed in of_run for of_run in by_run)]


def _resample(
    terms: Sequence[tuple[ScaleGroup, str, list[tuple[str, float]]]], seeds: Sequence[int | None]
) -> np.ndarray:
    """Return resampled logarithms of bits per byte, float64 [tokenizers, resamples]."""
    runs = [(group, variant, model) for group, variant, models in terms for model, _ in models]
    bits = [group.stack(variant, model, seeds) for group, variant, model in runs]
    logs = iter(logs_of(resampled_levels(bits, terms[0][0].bytes)))
    return np.stack([sum(weight * next(logs) for _, weight in models) for _, _, models in terms])


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
    takes=("scale_groups", "model_recipes", "undersized"),
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
