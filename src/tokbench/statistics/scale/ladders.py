"""Ladders of models: how exactly some sizes predict the difference of two tokenizers at the next size.

A ladder is the largest models of a line, one or more. It predicts the difference at the next scale, whose ratio to the
largest is that of the largest to the one before. One model predicts that the relative difference stays the same,
several by the power law of each tokenizer, as in :mod:`tokbench.statistics.scale.back_test`. The prediction is a sum of
logarithms of bits per byte, so its variance over seeds and documents is measured on the models of the line. It does not
contain the error of the rule.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import fsum, sqrt
from typing import Any

import polars as pl

from tokbench.statistics.scale.power_law import Points, Weighted, interval_limit, line_weights, log_parts, points_of
from tokbench.statistics.scale.scale_lines import AXES, AXIS, DOCUMENTS_OF, LEVEL, LINE, PETA, SEEDS_OF, ScaleGroup
from tokbench.statistics.significance.estimate import Spread, ratio_over_both
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import REASON
from tokbench.tabulation.table import EXCESS, Column, Print, TidyTable

Row = dict[str, Any]
_PREDICTION = "of a predicted relative difference of two tokenizers"


def measure_ladders(scale_groups: Sequence[ScaleGroup], undersized: Undersized = NO_UNDERSIZED) -> pl.DataFrame:
    """Measure the errors of the predictions of each ladder, pooled over all pairs of tokenizers.

    Args:
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        undersized: variant and size of undersized vocabularies, which are left out (default: none).

    Returns:
        The columns of :data:`SCALE_LADDERS`, a row per line and ladder. The quantity of the laws is the first that
        varies on the line.
    """
    rows: list[Row] = []
    for group in scale_groups:
        variants = [variant for variant in sorted(group.bits) if (variant, group.size) not in undersized]
        axis = next(filter(group.varying, AXES[group.line.varies]), None)
        if axis is None or len(variants) < 2:
            continue
        # Tokenizers that have all models of the line, with the seeds that all have.
        of_all = points_of(group, axis, variants)
        if not of_all:
            continue
        points = dict(zip(variants, of_all, strict=True))
        for number in range(1, len(of_all[0].models) + 1):
            row = group.head | {"axis": axis, "ladder": ", ".join(of_all[0].models[-number:])}
            rows.append(row | _ladder(group, points, number))
    return SCALE_LADDERS.frame(rows)


def _ladder(group: ScaleGroup, points: dict[str, Points], number: int) -> Row:
    """Return the columns from ``at`` to ``reason`` of the ladder of the largest models."""
    of_all = list(points.values())
    seeds, models = of_all[0].seeds, of_all[0].models[-number:]
    at = [of.values[-1] * of.values[-1] / of.values[-2] for of in of_all]
    flops = [fsum(group.costs[variant, model].get("flops", 0.0) for model in models) for variant in points]
    bits = fsum(group.stack(variant, models[-1], seeds).mean(0).sum() for variant in points) / len(points)
    row: Row = {"at": fsum(at) / len(at), "tokenizers": len(points), "bits_per_byte": bits / fsum(group.bytes.tolist())}
    row |= {"petaflop": fsum(flops) / len(flops) / PETA or None}
    row |= {"seeds": len(seeds), "documents": len(group.bytes), "reason": interval_limit(group, seeds)}
    if row["reason"] is None:
        spreads = [*_spreads(group, points, number)]
        for name in ("seed_deviation", "document_error"):
            row[name] = sqrt(fsum(getattr(spread, name) ** 2 for spread in spreads) / len(spreads))
    return row


def _spreads(group: ScaleGroup, points: dict[str, Points], number: int) -> Iterator[Spread]:
    """Yield the components of variance of the prediction for each pair of tokenizers."""
    for pair in combinations(points, 2):
        terms = [
            Weighted(sign * weight, group.stack(variant, model, points[variant].seeds))
            for variant, sign in zip(pair, (1.0, -1.0), strict=True)
            for model, weight in zip(points[variant].models[-number:], _weights(points[variant], number), strict=True)
        ]
        yield ratio_over_both(log_parts(terms, group.bytes), group.bytes)


def _weights(points: Points, number: int) -> list[float]:
    """Return the weights of the logarithms of bits in the prediction at the next scale."""
    *_, before, last = points.logs
    logs = points.logs[-number:]
    return [1.0] if len(set(logs)) == 1 else line_weights(logs, 2 * last - before)


SCALE_LADDERS = TidyTable(
    "scale_ladders",
    "a line of models with two tokenizers or more, and a number of its largest models",
    (
        *LINE,
        AXIS,
        Column("ladder", pl.String, "models that predict: the largest of the line, one or more"),
        Column("at", pl.Float64, "the next scale, for which the difference is predicted, a mean over tokenizers",
               "that of the quantity", "predicted at"),
        Column("tokenizers", pl.Int64, "tokenizers with all models of the line", "tokenizers"),
        Column("bits_per_byte", pl.Float64, "bits per byte of the largest model, a mean over tokenizers", LEVEL,
               "bits at largest", 4),
        Column("seed_deviation", pl.Float64, f"standard deviation {_PREDICTION} between seeds, pooled over pairs",
               EXCESS, "deviation between seeds (%)", 3),
        Column("document_error", pl.Float64, f"standard error {_PREDICTION} over the documents, pooled over pairs",
               EXCESS, "error by documents (%)", 3),
        Column("petaflop", pl.Float64, "floating-point operations of the ladder's trainings from one seed, a mean over "
               "tokenizers, from a formula", "PFLOP", "arithmetic", empty="not known"),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=measure_ladders,
    takes=("scale_groups", "undersized"),
    prints=(
        Print(
            "models",
            "Errors of a predicted difference of two tokenizers at the next scale, by the models that predict it. They "
            "cover seeds and documents, and not the error of the rule.",
            (
                "corpus", "suite", "size", "varies", "ladder", "at", "tokenizers", "bits_per_byte", "seed_deviation",
                "document_error", "petaflop", "seeds", "documents",
            ),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
