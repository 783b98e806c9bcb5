"""Bits per byte at equal total cost: training and serving of a target model, paid for the same text served.

A tokenizer whose tokens cost less per byte of text than those of the baseline saves cost in training and in serving. At
the total cost of the target with the baseline, it can read more training text, or have more layers. How many bits that
saves follows from the fitted line of its small models (see :mod:`tokbench.statistics.scale.scaling`): on a line of
budgets, the text of a model with the baseline is multiplied by the affordable text; on a line of sizes, its parameters
by the affordable layers. The target gives only these multiples. The bits are those of the small models.

Lines are laws of the range of their models. More than 5 % beyond it, values are extrapolated up to a factor of two and
never tested; farther there are none. Laws that are fitted at usual numbers of tokens per parameter overrate more tokens
(Sardana et al. 2024, arXiv 2401.00448).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from tokbench.statistics.comparisons.judgement_columns import judgement_columns
from tokbench.statistics.scale.power_law import exponential, exponential_of_end, interval_limit, sum_of_logs
from tokbench.statistics.scale.prices import BASELINE, TARGET
from tokbench.statistics.scale.scale_lines import DOCUMENTS_OF, EQUAL, LEVEL, LINE, SEEDS_OF, ScaleGroup
from tokbench.statistics.scale.target_model import TargetModel
from tokbench.statistics.scale.total_cost import MOST_EXTRAPOLATED, anchors_of
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.judgements import reversed_row
from tokbench.statistics.significance.verdicts import NOT_TESTED, in_full
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import REASON, VARIANT, A, B
from tokbench.tabulation.table import Column, Print, TidyTable

Row = dict[str, Any]


def bits_at_equal_cost(
    targets: Mapping[str, TargetModel],
    scale_groups: Sequence[ScaleGroup],
    baselines_of_all: Mapping[str, str],
    vocabularies: Mapping[tuple[str, int], int],
    equal_cost_comparisons: pl.DataFrame,
) -> pl.DataFrame:
    """Return bits per byte of tokenizers at the total cost of each model with the baseline.

    Args:
        targets: target models by name.
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`. Checkpoints are left out.
        baselines_of_all: baseline by variant; without one, the first variant by name.
        vocabularies: tokens by variant and vocabulary size; the nominal size is used for others.
        equal_cost_comparisons: differences and verdicts, see :func:`compare_at_equal_cost`.

    Returns:
        The columns of :data:`BITS_AT_EQUAL_COST`.
    """
    keys = [*(column.name for column in (TARGET, *LINE, _COST_OF)), "a", "b"]
    compared = {tuple(row[key] for key in keys): row for row in equal_cost_comparisons.iter_rows(named=True)}
    rows: list[Row] = []
    for anchor in anchors_of(targets, scale_groups, baselines_of_all, vocabularies):
        group, baseline = anchor.group, anchor.baseline
        for variant in sorted(group.bits):
            row = anchor.head | {"variant": variant, "baseline": baseline}
            spent = anchor.spend(variant, [variant, baseline])
            if isinstance(spent, str):
                rows.append(row | {"reason": spent})
                continue
            # Text or layers at this cost.
            row |= {"multiple": spent.multiple, "quantity": spent.quantity}
            row["extrapolation"] = max(spent.extrapolation, 1.0)
            row |= {"seeds": len(spent.points.seeds), "documents": len(group.bytes)}
            if spent.extrapolation > MOST_EXTRAPOLATED:
                rows.append(row | {"reason": spent.reason})
                continue
            # Bits of the line there, and the difference to the baseline.
            level = sum_of_logs(spent.terms(1.0), group.bytes, bool(spent.points.seeds))
            ends = replace(level, difference=spent.log_bits).ends() if isinstance(level, Estimate) else (None, None)
            row |= dict(zip(("low", "high"), map(exponential_of_end, ends), strict=True))
            row |= {"bits": exponential(spent.log_bits), "reason": spent.reason}
            if variant != baseline:
                pair = (*(row[key] for key in keys[:-2]), *sorted((variant, baseline)))
                row |= _difference_columns(compared[pair], variant)
            rows.append(row | {"reason": row["reason"] or interval_limit(group, spent.points.seeds)})
    return BITS_AT_EQUAL_COST.frame(rows)


def _difference_columns(compared: Row, variant: str) -> Row:
    """Return the columns of a tokenizer's difference to the baseline."""
    row = compared if compared["a"] == variant or compared["difference"] is None else reversed_row(compared)
    ends = {"difference_low": row["low"], "difference_high": row["high"]}
    return {"difference": row["difference"], **ends, "verdict": row["verdict"], "reason": row["reason"]}


def clearest_model(part: pl.DataFrame) -> str:
    """Return the model at whose total cost most tokenizers are inside their lines; the largest one of several.

    Args:
        part: rows of :data:`BITS_AT_EQUAL_COST` of one target and line, in their order.
    """
    inside = part.group_by("model", maintain_order=True).agg((pl.col("extrapolation") <= EQUAL).sum())
    return max(enumerate(inside.rows()), key=lambda entry: (entry[1][1], entry[0]))[1][0]


def compare_at_equal_cost(
    targets: Mapping[str, TargetModel],
    scale_groups: Sequence[ScaleGroup],
    baselines_of_all: Mapping[str, str],
    vocabularies: Mapping[tuple[str, int], int],
    undersized: Undersized = NO_UNDERSIZED,
) -> pl.DataFrame:
    """Compare every two tokenizers at the total cost of each model with the baseline.

    Args:
        targets, scale_groups, baselines_of_all, vocabularies: see :func:`bits_at_equal_cost`.
        undersized: variant and size of undersized vocabularies, which are not tested (default: none).

    Returns:
        The columns of :data:`EQUAL_COST_COMPARISONS`. All pairs at the cost of one model are one family of tests.
    """
    rows: list[Row] = []
    for anchor in anchors_of(targets, scale_groups, baselines_of_all, vocabularies):
        for (a, b), judged in anchor.judgements(baselines_of_all, undersized).items():
            row = anchor.head | {"a": a, "b": b, "documents": len(anchor.group.bytes)}
            if isinstance(judged, str):
                rows.append(row | {"verdict": NOT_TESTED, "reason": in_full(judged)})
                continue
            judgement, seeds = judged
            columns = (column.name for column in JUDGED)
            rows.append(row | {name: getattr(judgement, name) for name in columns} | {"seeds": seeds})
    return EQUAL_COST_COMPARISONS.frame(rows)


_COST_OF = Column("model", pl.String, "model with the baseline whose total cost is spent, scaled to the target")
JUDGED = judgement_columns("seeds and documents as crossed random effects",
                           "all pairs of the line at the cost of the model")  # fmt: skip
BITS_AT_EQUAL_COST = TidyTable(
    "bits_at_equal_cost",
    "a tokenizer at the total cost of a model with the baseline, at a target model",
    (
        TARGET,
        *LINE,
        _COST_OF,
        VARIANT,
        BASELINE,
        Column("multiple", pl.Float64, "training text (on a line of budgets) or layers (on a line of sizes) of the "
               "target with the tokenizer at equal total cost / those with the baseline", "", "affordable", 3),
        Column("quantity", pl.Float64, "text or parameters at which the line of the tokenizer is read: the multiple of "
               "those of the model with the baseline", "bytes or parameters", "read at", 0),
        Column("extrapolation", pl.Float64, "factor by which this is outside the models of the line; 1 if it is "
               "inside", "", "beyond the line", 2),
        Column("bits", pl.Float64, "bits per byte of the tokenizer's fitted line there", LEVEL, "bits per byte", 4),
        Column("low", pl.Float64, "lower end of its 95 % interval over seeds and documents", LEVEL, "low", 4),
        Column("high", pl.Float64, "upper end of this interval", LEVEL, "high", 4),
        Column("difference", pl.Float64, "bits per byte minus those of the baseline at the same total cost", LEVEL,
               "to the baseline", 4, "the baseline"),
        Column("difference_low", pl.Float64, "lower end of its 95 % interval, paired by seed and document", LEVEL,
               "low ", 4, "the baseline"),
        Column("difference_high", pl.Float64, "upper end of this interval", LEVEL, "high ", 4, "the baseline"),
        Column("verdict", pl.String, "verdict on the tokenizer against the baseline: better (fewer bits), worse, no "
               "significant difference, or not tested; Holm's correction is over all pairs", "", "it is", None,
               "the baseline"),
        SEEDS_OF,
        DOCUMENTS_OF,
        REASON,
    ),
    maker=bits_at_equal_cost,
    takes=("targets", "scale_groups", "baselines_of_all", "vocabularies", "equal_cost_comparisons"),
    prints=(
        Print(
            "models",
            "Bits per byte on {suite} at equal total cost of the target model {target}, at a vocabulary of {size}, "
            "read off the fitted lines over the {varies} of {models}. Affordable: text or layers at the total cost of "
            "the baseline, relative to its own. The bits are those of these models and no promise for the target. "
            "Intervals (95 %) cover seeds and documents.",
            (
                "model", "variant", "multiple", "extrapolation", "bits", "low", "high", "difference", "difference_low",
                "difference_high", "verdict", "seeds", "documents",
            ),
            by=("target", "corpus", "suite", "size"),
            folds_above=20,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
EQUAL_COST_COMPARISONS = TidyTable(
    "equal_cost_comparisons",
    "two tokenizers at the total cost of a model with the baseline, at a target model",
    (TARGET, *LINE, _COST_OF, A, B, *JUDGED, SEEDS_OF, DOCUMENTS_OF),
    maker=compare_at_equal_cost,
    takes=("targets", "scale_groups", "baselines_of_all", "vocabularies", "undersized"),
    prints=(
        Print(
            "models",
            "Bits per byte of a minus those of b at equal total cost of the target model {target} on {suite}, at a "
            "vocabulary of {size}, over the {varies} of {models}. Intervals (95 %) cover seeds and documents; Holm's "
            "correction is over all pairs at the cost of one model.",
            ("model", "a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "detectable", "seeds",
             "documents"),
            by=("target", "corpus", "suite", "size"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
