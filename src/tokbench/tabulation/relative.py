"""Intrinsic metrics relative to a named variant, as Picky BPE reports token counts relative to threshold 1.0."""

import polars as pl

from tokbench.errors import TokbenchError, unknown
from tokbench.tidy.columns import INTRINSIC
from tokbench.tidy.table import require, schema


def relative_to(intrinsic: pl.DataFrame, metric: str, baseline: str) -> pl.DataFrame:
    """Divide a metric by the baseline variant's value at the same size, corpus, language and definition.

    Args:
        intrinsic: the tidy table of intrinsic metrics, see :data:`tokbench.tidy.columns.INTRINSIC`.
        metric: the metric to divide, for example ``corpus_token_count``.
        baseline: the variant to divide by.

    Returns:
        Rows of the same columns with the metric ``relative_{metric}``; where either value is missing, or the baseline's
        is zero, the value is null and ``reason`` says why.

    Raises:
        TokbenchError: no such metric or variant, or a missing column.
    """
    require(intrinsic, INTRINSIC, "intrinsic table")
    for name, column in ((metric, "metric"), (baseline, "variant")):
        if name not in (known := intrinsic[column].unique().to_list()):
            raise TokbenchError(f"intrinsic table: {unknown(name, column, known)}")
    rows = intrinsic.select(list(schema(INTRINSIC))).filter(pl.col("metric") == metric)
    keys = ["size", "corpus", "language", "definition"]
    theirs = rows.filter(pl.col("variant") == baseline).select(*keys, pl.col("value").alias("baseline"))
    without = pl.col("baseline").is_null() | (pl.col("baseline") == 0)
    reason = (
        pl.when(pl.col("value").is_null())
        .then(pl.coalesce("reason", pl.lit("no value")))
        .when(without)
        .then(pl.lit(f"{baseline} has no value to divide by at this size"))
    )
    return (
        rows.join(theirs, on=keys, how="left", validate="m:1", maintain_order="left")
        .with_columns(
            metric=pl.lit(f"relative_{metric}"),
            definition=pl.col("definition") + f", relative to {baseline}",
            value=pl.when(~without).then(pl.col("value") / pl.col("baseline")),
            reason=reason,
        )
        .select(list(schema(INTRINSIC)))
    )
