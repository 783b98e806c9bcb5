"""Table of intrinsic metrics: measurements of each tokenizer, and comparisons of several tokenizers.

Token counts may be divided by those of a named variant, as Picky BPE reports them relative to threshold 1.0.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import polars as pl

from tokbench.errors import TokbenchError, unknown
from tokbench.metric.measurement import Measurement
from tokbench.metric.usage import UNKNOWN_VOCABULARY
from tokbench.tabulation.bounds import Bounds, attained, gaps
from tokbench.tabulation.columns import INTRINSIC as COLUMNS
from tokbench.tabulation.reading import table_of_results
from tokbench.tabulation.table import Print, TidyTable, require, schema
from tokbench.tabulation.tokenizer_pairs import (
    ALL_RESOURCES,
    Compared,
    exchanged_embeddings,
    exchanged_tokens,
    mean_over_resources,
    partition_cover_ratio,
    venn_tokens,
)
from tokbench.tokenizer import Tokenizer

Key = tuple[str, int]
"""Variant and vocabulary size."""
ORDER = ("corpus", "language", "metric", "definition", "size", "variant")


def relative_to(intrinsic: pl.DataFrame, metric: str, baseline: str) -> pl.DataFrame:
    """Divide a metric by the baseline variant's value at the same size, corpus, language and definition.

    Args:
        intrinsic: table of intrinsic metrics, see :data:`tokbench.tabulation.columns.INTRINSIC`.
        metric: metric to divide, for example ``corpus_token_count``.
        baseline: variant to divide by.

    Returns:
        Rows of the same columns with the metric ``relative_{metric}``. If either value is missing or the baseline's
        value is zero, the value is null and ``reason`` says why.

    Raises:
        TokbenchError: the metric, the variant or a column is missing.
    """
    require(intrinsic, COLUMNS, "intrinsic table")
    for name, column in ((metric, "metric"), (baseline, "variant")):
        if name not in (known := intrinsic[column].unique().to_list()):
            raise TokbenchError(f"intrinsic table: {unknown(name, column, known)}")
    rows = intrinsic.select(list(schema(COLUMNS))).filter(pl.col("metric") == metric)
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
        .select(list(schema(COLUMNS)))
    )


def intrinsic_and_compared(
    measurements: Iterable[Path | str],
    tokenizers: Mapping[Key, Tokenizer],
    bounds: Bounds,
    baselines: Mapping[str, str],
    venn: Sequence[Sequence[str]],
    tokens: Mapping[str, Mapping[Key, pl.DataFrame]],
) -> pl.DataFrame:
    """Return every measurement, and rows that compare tokenizers by corpus and over all resources.

    Args:
        measurements: files, see :func:`intrinsic_table`.
        tokenizers: tokenizers by variant and size.
        bounds: proven minimum of tokens, by corpus, language, pre-tokenizer and size.
        baselines: baseline variant by corpus.
        venn: three variants per Venn diagram.
        tokens: tokens of trained models with norms of their embeddings, by model, then by variant and size.
    """
    measured = intrinsic_table(measurements)
    return pl.concat([measured, *_compared(measured, tokenizers, bounds, baselines, venn, tokens)]).sort(ORDER)


def intrinsic_table(measurements: Iterable[Path | str]) -> pl.DataFrame:
    """Return intrinsic metrics of every tokenizer.

    Args:
        measurements: files ``{"variant", "size", "corpus", "measurements": [{"language", "metric", "definition",
            "value", "n", "reason"}, ...]}``, in any order.

    Returns:
        The columns of :data:`INTRINSIC`, ordered by corpus, language, metric, definition, size and variant.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    return table_of_results(measurements, INTRINSIC, lambda result: result["measurements"], *ORDER).fill_nan(None)


def _compared(
    measured: pl.DataFrame,
    loaded: Mapping[Key, Tokenizer],
    bounds: Bounds,
    baselines: Mapping[str, str],
    venn: Sequence[Sequence[str]],
    tokens: Mapping[str, Mapping[Key, pl.DataFrame]],
) -> list[pl.DataFrame]:
    frames = [_rows(mean_over_resources(measured), ALL_RESOURCES)]
    covering = [key for key, tokenizer in loaded.items() if _construction(tokenizer) == "greedwmc"]
    for corpus, baseline in baselines.items():
        part = measured.filter(corpus=corpus)
        keys = set(part.filter(metric="corpus_token_count").select("variant", "size").iter_rows())
        here = {key: loaded[key] for key in sorted(keys & loaded.keys())}
        vocabularies = {key: made.vocabulary for key, made in here.items() if not made.library_name}
        rows = exchanged_tokens(vocabularies, baseline)
        rows += _without_vocabulary(rows, here)
        for triple in venn:
            rows += venn_tokens(vocabularies, triple)
        for model, tables in tokens.items():
            rows += exchanged_embeddings(tables, vocabularies, baseline, model)
        for language in part.filter(metric="corpus_token_count")["language"].unique().sort():
            excesses = gaps(part, loaded, bounds, corpus, language)
            frames.append(_rows(excesses, corpus, language))
            if not language:
                frames.append(_rows(attained(part, excesses, loaded, bounds, corpus), corpus))
        frames.append(_rows(rows + partition_cover_ratio(part, covering), corpus))
        if baseline in part["variant"]:
            frames.append(relative_to(part, "corpus_token_count", baseline))
    return frames


def _without_vocabulary(rows: Compared, tokenizers: Mapping[Key, Tokenizer]) -> Compared:
    """Return the same rows without values for tokenizers that run through other libraries."""
    named = dict.fromkeys((row.metric, row.definition) for _, row in rows)
    return [
        (key, Measurement(metric, definition, None, 0, UNKNOWN_VOCABULARY.format(tokenizer.library_name)))
        for key, tokenizer in tokenizers.items()
        if tokenizer.library_name
        for metric, definition in named
    ]


def _construction(tokenizer: Tokenizer) -> str:
    """Return the name of the construction that a tokenizer was built by; empty for an external one."""
    return str(tokenizer.origin.get("construction", {}).get("method", ""))


def _rows(compared: Compared, corpus: str, language: str = "") -> pl.DataFrame:
    """Return measurements as rows of the table; an empty language means the full corpus."""
    return INTRINSIC.frame(
        {**asdict(measurement), "variant": variant, "size": size, "corpus": corpus, "language": language}
        for (variant, size), measurement in compared
    )


INTRINSIC = TidyTable(
    "intrinsic",
    "a metric with one definition, of a tokenizer on a corpus",
    COLUMNS,
    maker=intrinsic_and_compared,
    takes=("measurements", "tokenizers", "proven", "baselines", "venn_triples", "tokens"),
    keys=("variant", "size", "corpus", "language", "metric", "definition"),
    command="tabulate",
    prints=(
        Print(
            "intrinsic",
            "{metrics}, measured on {texts}.",
            by=("corpus",),
            files=("intrinsic/{variant}/{size}.json",),
            arranged=True,
        ),
    ),
)
