"""Agreement of cheap measures with language models on the order of two tokenizers."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tokbench.metric import Direction, direction
from tokbench.statistics.accuracies.correlation import SMALLER
from tokbench.statistics.significance.verdicts import ALPHA, BETTER, NOT_TESTED, WORSE
from tokbench.statistics.undersized import NOMINAL, below_nominal
from tokbench.tabulation.columns import CORPUS, DEFINITION, METRIC, MODEL, REASON, SUITE
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable

Row = tuple[Any, ...]
Point = tuple[str, int]
NGRAM = "ngram_bits_per_byte"
CLAIMED: Mapping[str, Direction] = {"renyi_efficiency": "highest", "gap": "lowest", NGRAM: "lowest"}
"""Better ends of measures that their authors claim, by the beginning of a measure's name: Rényi efficiency by Zouhar et
al. 2023, few tokens by the papers on compression. Metrics with an undisputed direction are not listed."""
NO_PAIR = "no pair of language models differs significantly"


def measures_against_models(
    bits_comparisons: pl.DataFrame, intrinsic: pl.DataFrame, ngram_bits: pl.DataFrame
) -> pl.DataFrame:
    """Count how many significant differences between language models a measure orders in the same way.

    Args:
        bits_comparisons: see :data:`tokbench.statistics.comparisons.model_bits.BITS_COMPARISONS`.
        intrinsic: table of intrinsic metrics.
        ngram_bits: table of bits per byte of token n-gram models.

    Returns:
        The columns of :data:`MEASURES`, a row per model, suite, measure and text that it was measured on. Measures
        without a claimed better end are left out.
    """
    measures = list(_measures(intrinsic, ngram_bits))
    rows: list[dict[str, Any]] = []
    for (model, suite), part in bits_comparisons.group_by("model", "suite", maintain_order=True):
        significant = part.filter(pl.col("verdict").is_in([BETTER, WORSE])).select("a", "b", "size", "verdict").rows()
        tested_pairs = part.filter(pl.col("verdict").is_not_null(), pl.col("verdict") != NOT_TESTED)
        why = NO_PAIR if tested_pairs.height else next(iter(part["reason"].drop_nulls()), NO_PAIR)
        for name, end, values in measures:
            of_these = [
                (values[a, size] - values[b, size], verdict)
                for a, b, size, verdict in significant
                if (a, size) in values and (b, size) in values
            ]
            if not of_these and significant:
                continue
            corpus, metric, definition = name
            head = {"model": model, "suite": suite, "corpus": corpus, "metric": metric, "definition": definition}
            rows.append(head | {"end": end} | _agreement(of_these, end, why))
    return MEASURES.frame(rows).sort(
        "model", "suite", pl.col("share").fill_null(-1), descending=[False, False, True], maintain_order=True
    )


def claimed_end(metric: str) -> Direction | None:
    """Return the claimed better end of a measure; None if there is none or a row repeats another metric."""
    if metric.startswith("relative_"):
        return None
    return direction(metric) or next((end for name, end in CLAIMED.items() if metric.startswith(name)), None)


def clopper_pearson(hits: int, of: int, alpha: float = ALPHA) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934)."""
    from tokbench.statistics.significance.distributions import beta

    low = float(beta.ppf(alpha / 2, hits, of - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - alpha / 2, hits + 1, of - hits)) if hits < of else 1.0
    return low, high


def _agreement(pairs: list[tuple[float, str]], end: Direction, why_none: str) -> dict[str, Any]:
    """Return the columns from ``pairs`` on."""
    if not pairs:
        return {"pairs": 0, "reason": why_none}
    sign = 1 if end == "highest" else -1
    agreed = sum(sign * difference > 0 if verdict == BETTER else sign * difference < 0 for difference, verdict in pairs)
    tied = sum(not difference for difference, _ in pairs)
    low, high = clopper_pearson(agreed, len(pairs))
    counts = {"pairs": len(pairs), "agreed": agreed, "tied": tied}
    return counts | {"share": agreed / len(pairs), "low": low, "high": high}


def _measures(
    intrinsic: pl.DataFrame, ngram_bits: pl.DataFrame
) -> Iterator[tuple[tuple[str, str, str], Direction, dict[Point, float]]]:
    """Yield corpus, metric and definition of each measure, its better end, and its value by tokenizer.

    Measures that divide by a nominal size have no value for smaller vocabularies.
    """
    smaller = below_nominal(intrinsic)
    one_language = pl.col("language").n_unique().over("corpus") == 1
    whole = intrinsic.filter((pl.col("language") == "") | one_language).drop_nulls("value")
    for (corpus, metric, definition), part in whole.group_by("corpus", "metric", "definition", maintain_order=True):
        if (end := claimed_end(str(metric))) is not None:
            values = _values(part)
            if NOMINAL in str(definition):
                values = {point: value for point, value in values.items() if point not in smaller}
            yield (str(corpus), str(metric), str(definition)), end, values
    for (corpus, order, budget), part in ngram_bits.filter(language="").group_by(
        "corpus", "order", "training_bytes", maintain_order=True
    ):
        definition = f"order {order}, trained on {budget:,} bytes"
        yield (str(corpus), NGRAM, definition), CLAIMED[NGRAM], _values(part)


def _values(part: pl.DataFrame) -> dict[Point, float]:
    return {(variant, size): value for variant, size, value in part.select("variant", "size", "value").iter_rows()}


MEASURES = TidyTable(
    "measures",
    "a measure of tokenizers, compared with a model and suite",
    (
        MODEL,
        SUITE,
        CORPUS,
        METRIC,
        DEFINITION,
        Column("end", pl.String, "claimed better end: highest or lowest", "", "better"),
        Column("pairs", pl.Int64, "pairs of tokenizers at one size with the measure whose language models differ "
               "significantly", "pairs", "pairs"),
        Column("agreed", pl.Int64, "pairs that the measure orders in the same way", "pairs", "alike"),
        Column("tied", pl.Int64, "pairs with equal values of the measure; they count as differently ordered", "pairs",
               "tied"),
        Column("share", pl.Float64, "agreed / pairs", SHARE, "share (%)", 0),
        Column("low", pl.Float64, "lower end of an exact 95 % interval of the share (Clopper and Pearson), for "
               "independent pairs", SHARE, "low", 0),
        Column("high", pl.Float64, "upper end of this interval", SHARE, "high", 0),
        REASON,
    ),
    maker=measures_against_models,
    takes=("bits_comparisons", "intrinsic", "ngram_bits"),
    prints=(
        Print(
            "statistics",
            "Measures that order tokenizers as the bits per byte of {model} do ({suite}). Of the pairs that these bits "
            "separate significantly after Holm's correction: how many the measure orders in the same way, with an "
            "exact binomial interval; chance gives one half. Pairs share tokenizers, so the interval is rather too "
            "narrow than too wide. " + SMALLER,
            ("corpus", "metric", "definition", "end", "pairs", "agreed", "tied", "share", "low", "high"),
            by=("model", "suite"),
            folds_above=40,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
