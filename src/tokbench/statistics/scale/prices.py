"""Costs of tokenizers at target models: arithmetic, memory and hours per byte of text.

Costs are counted by formula and not measured, see :mod:`tokbench.statistics.scale.target_model`. They need tokens of
the evaluation split only, and no trained model. Relative costs are ratios of tokens per byte times ratios of costs per
token. Only the former vary with the text, so that their interval is over documents.
"""

from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import polars as pl

from tokbench.statistics.comparisons.scoreboard import tokens_of_documents
from tokbench.statistics.scale.scale_lines import ScaleGroup
from tokbench.statistics.scale.target_model import TERABYTE, TargetModel
from tokbench.statistics.significance.eligibility import LOSSY
from tokbench.statistics.significance.estimate import relative_difference
from tokbench.tabulation.columns import CORPUS, REASON, SIZE, VARIANT
from tokbench.tabulation.table import Column, Print, TidyTable

Row = dict[str, Any]
TARGET = Column("target", pl.String, "name of the target model in the configuration")
BASELINE = Column("baseline", pl.String, "variant that it is compared with")
NO_LINE = (
    "no bits per byte at equal total cost: no models with this corpus and size differ only in text, or only in size"
)
PER_BYTE = "operations per byte"
_HOURS = "the target has no device and utilisation"
_NO_BASELINE = "the baseline has no tokens on this corpus at this size"


def price_tokenizers(
    targets: Mapping[str, TargetModel],
    tokens_by_document: pl.DataFrame,
    vocabularies: Mapping[tuple[str, int], int],
    baselines_of_all: Mapping[str, str],
    scale_groups: Sequence[ScaleGroup],
    lossy: Set[str],
) -> pl.DataFrame:
    """Return the costs of every tokenizer at every target.

    Args:
        targets: target models by name.
        tokens_by_document: tokens of every document of the evaluation splits.
        vocabularies: tokens by variant and vocabulary size; the nominal size is used for others.
        baselines_of_all: baseline by variant.
        scale_groups: see :func:`tokbench.statistics.scale.scale_lines.scale_groups`.
        lossy: tokenizers that do not restore all of the text. They have no row's costs, because they price another
            text.

    Returns:
        The columns of :data:`PRICES`, in the order of the targets, then by corpus, size and variant.
    """
    lines = {(group.corpus, group.size) for group in scale_groups if group.line.varies != "checkpoint"}
    parts = tokens_by_document.sort("corpus", "size", "variant").group_by("corpus", "size", maintain_order=True)
    kept = [(str(corpus), int(str(size)), part) for (corpus, size), part in parts]
    rows: list[Row] = []
    for name, target in targets.items():
        for corpus, size, part in kept:
            for row in _rows(target, part, size, vocabularies, baselines_of_all, lossy):
                reason = row.get("reason") or (None if (corpus, size) in lines else NO_LINE)
                rows.append({"target": name, "corpus": corpus} | row | {"reason": reason})
    return PRICES.frame(rows)


def _rows(
    target: TargetModel,
    part: pl.DataFrame,
    size: int,
    vocabularies: Mapping[tuple[str, int], int],
    baselines: Mapping[str, str],
    lossy: Set[str],
) -> Iterator[Row]:
    """Yield the rows of the tokenizers of a corpus at a size."""
    # Tokens per byte of each tokenizer.
    totals = {
        variant: (tokens, size_in_bytes)
        for variant, tokens, size_in_bytes in part.group_by("variant").agg(pl.col("tokens", "bytes").sum()).iter_rows()
        if tokens and size_in_bytes
    }
    _, by_document = tokens_of_documents(part)
    for variant, (tokens, size_in_bytes) in sorted(totals.items()):
        baseline = baselines.get(variant, min(totals))
        vocabulary = vocabularies.get((variant, size), size)
        rate = tokens / size_in_bytes
        row: Row = {"variant": variant, "size": size, "baseline": baseline, "vocabulary": vocabulary}
        if variant in lossy:
            yield row | {"reason": LOSSY}
            continue
        # Costs of the tokenizer, and those relative to the baseline.
        row |= {"tokens_per_byte": rate} | target.costs(vocabulary, rate)
        if variant == baseline:
            yield row | {"relative": 0.0}
        elif baseline not in totals or baseline in lossy:
            yield row | {"reason": _NO_BASELINE}
        else:
            per_token = (
                target.transformer(vocabulary).forward_flops
                / target.transformer(vocabularies.get((baseline, size), size)).forward_flops
            )
            of_baseline = totals[baseline][0] / totals[baseline][1]
            row["relative"] = per_token * rate / of_baseline - 1
            # The interval is that of relative tokens.
            if variant in by_document and baseline in by_document:
                estimate = relative_difference(by_document[variant], by_document[baseline])
                ends = (None, None) if estimate is None else estimate.ends()
                row |= dict(
                    zip(
                        ("low", "high"),
                        (None if end is None else per_token * (1 + end) - 1 for end in ends),
                        strict=True,
                    )
                )
            yield row


PRICES = TidyTable(
    "prices",
    "a tokenizer at a target model",
    (
        TARGET,
        CORPUS,
        VARIANT,
        SIZE,
        BASELINE,
        Column("vocabulary", pl.Int64, "tokens of the tokenizer, without special ones", "tokens", "vocabulary"),
        Column("tokens_per_byte", pl.Float64, "tokens per byte of the evaluation split", "tokens per byte",
               "tokens per byte", 4),
        Column("training_flops_per_byte", pl.Float64, "floating-point operations of training per byte of text: 3 "
               "forward passes", PER_BYTE, "training per byte"),
        Column("serving_flops_per_byte", pl.Float64, "floating-point operations of serving per byte of text: a forward "
               "pass, attention over the context or window and softmax included", PER_BYTE, "serving per byte"),
        Column("relative", pl.Float64, "cost of training, and of serving, per byte / that of the baseline − 1",
               "ratio less 1", "cost, to the baseline (%)", 1),
        Column("low", pl.Float64, "lower end of its 95 % interval over documents", "ratio less 1", "low", 1,
               "the baseline, or no interval"),
        Column("high", pl.Float64, "upper end of this interval", "ratio less 1", "high", 1,
               "the baseline, or no interval"),
        Column("softmax_share", pl.Float64, "share of the softmax's matrix in a forward pass", "share", "softmax (%)",
               1),
        Column("cache_bytes_per_byte", pl.Float64, "bytes of keys and values per byte of text", "bytes per byte",
               "cache per byte", 0),
        Column("cache_bytes_at_context", pl.Float64, "bytes of keys and values of a full context, or window", "bytes",
               "cache at full context", 0),
        Column("embedding_bytes", pl.Float64, "bytes of the embedding matrix and, if it is another one, of the "
               "softmax's", "bytes", "embedding and head", 0),
        Column("context_bytes", pl.Float64, "bytes of text in a full context", "bytes", "text in a context", 0),
        Column("training_hours", pl.Float64, f"hours of one device for training on {TERABYTE:.0e} bytes of text, at "
               "the target's utilisation", "hours per terabyte", "hours of training", 0, _HOURS),
        Column("serving_hours", pl.Float64, f"hours of one device for serving {TERABYTE:.0e} bytes of text, at the "
               "target's utilisation", "hours per terabyte", "hours of serving", 0, _HOURS),
        REASON,
    ),
    maker=price_tokenizers,
    takes=("targets", "tokens_by_document", "vocabularies", "baselines_of_all", "scale_groups", "lossy"),
    prints=(
        Print(
            "models",
            "Costs at the target model {target}, on {corpus}: floating-point operations and bytes by formula, not "
            "measured. Hours are those of one device for a terabyte of text. Intervals (95 %) are over documents.",
            (
                "variant", "size", "tokens_per_byte", "training_flops_per_byte", "serving_flops_per_byte", "relative",
                "low", "high", "softmax_share", "cache_bytes_per_byte", "cache_bytes_at_context", "embedding_bytes",
                "context_bytes", "training_hours", "serving_hours",
            ),
            by=("target", "corpus"),
            folds_above=20,
            arranged=True,
        ),
    ),
    keys=("target", "variant", "size", "corpus"),
)  # fmt: skip
