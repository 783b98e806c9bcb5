"""The table of intrinsic metrics: what was measured of every tokenizer, and what only several of them together tell."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple
from pathlib import Path

import polars as pl

from tokbench.intrinsic.encoded_text import WITHOUT_PHASES
from tokbench.intrinsic.measurement import Measurement
from tokbench.result_files import read_result
from tokbench.tabulation.between_tokenizers import (
    ALL_RESOURCES,
    Compared,
    exchanged_embeddings,
    exchanged_tokens,
    mean_over_resources,
    partition_cover_ratio,
    venn_tokens,
)
from tokbench.tabulation.gap import Bounds, attained, gaps
from tokbench.tabulation.reading import AGAIN, framed, taken
from tokbench.tabulation.relative import relative_to
from tokbench.tidy.columns import INTRINSIC as COLUMNS
from tokbench.tidy.table import Print, TidyTable
from tokbench.tokenizer import Tokenizer

Key = tuple[str, int]
"""Variant and vocabulary size."""
ORDER = ("corpus", "language", "metric", "definition", "size", "variant")


def intrinsic_and_compared(
    measurements: Iterable[Path | str],
    tokenizers: Mapping[Key, Tokenizer],
    bounds: Bounds,
    baselines: Mapping[str, str],
    venn: tuple[str, ...],
    tokens: Mapping[str, Mapping[Key, pl.DataFrame]],
) -> pl.DataFrame:
    """Every measurement, and rows that compare tokenizers: corpus by corpus, and over all resources.

    Args:
        measurements: as for :func:`intrinsic_table`.
        tokenizers: by variant and size.
        bounds: tokens that any vocabulary needs at least, by corpus, language, pre-tokenization and size.
        baselines: variant that others are relative to, by corpus.
        venn: three variants of a Venn diagram; with any other number it has no rows.
        tokens: the tokens of trained models with their embeddings' norms, by model, then by variant and size.
    """
    measured = intrinsic_table(measurements)
    return pl.concat([measured, *_compared(measured, tokenizers, bounds, baselines, venn, tokens)]).sort(ORDER)


def intrinsic_table(measurements: Iterable[Path | str]) -> pl.DataFrame:
    """Intrinsic metrics of every tokenizer.

    Args:
        measurements: files ``{"variant", "size", "corpus", "measurements": [{"language", "metric", "definition",
            "value", "n", "reason"}, ...]}``, in any order.

    Returns:
        The columns of :data:`INTRINSIC`, ordered by corpus, language, metric, definition,
        size and variant.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [framed([], INTRINSIC.schema, "")]
    for path in measurements:
        content = read_result(path, AGAIN, lenient=True)
        head = [taken(content, key, path) for key in ("variant", "size", "corpus")]
        rows = []
        for index, row in enumerate(taken(content, "measurements", path, kind=list)):
            keys = ("language", "metric", "definition", "value", "n", "reason")
            rows.append((*head, *(taken(row, key, path, f"measurements[{index}].") for key in keys)))
        frames.append(framed(rows, INTRINSIC.schema, path))
    return pl.concat(frames).sort(ORDER)


def _compared(
    measured: pl.DataFrame,
    loaded: Mapping[Key, Tokenizer],
    bounds: Bounds,
    baselines: Mapping[str, str],
    venn: tuple[str, ...],
    tokens: Mapping[str, Mapping[Key, pl.DataFrame]],
) -> list[pl.DataFrame]:
    frames = [_rows(mean_over_resources(measured), ALL_RESOURCES)]
    covering = [key for key, tokenizer in loaded.items() if _construction(tokenizer) == "greedwmc"]
    for corpus, baseline in baselines.items():
        part = measured.filter(corpus=corpus)
        keys = set(part.filter(metric="corpus_token_count").select("variant", "size").iter_rows())
        here = {key: loaded[key] for key in sorted(keys & loaded.keys())}
        vocabularies = {key: one.vocabulary for key, one in here.items() if not one.library_name}
        rows = exchanged_tokens(vocabularies, baseline)
        rows += _without_vocabulary(rows, here) + venn_tokens(vocabularies, venn)
        for model, tables in tokens.items():
            rows += exchanged_embeddings(tables, vocabularies, baseline, model)
        for language in part.filter(metric="corpus_token_count")["language"].unique().sort():
            told = gaps(part, loaded, bounds, corpus, language)
            frames.append(_rows(told, corpus, language))
            if not language:
                frames.append(_rows(attained(part, told, loaded, bounds, corpus), corpus))
        frames.append(_rows(rows + partition_cover_ratio(part, covering), corpus))
        if baseline in part["variant"]:
            frames.append(relative_to(part, "corpus_token_count", baseline))
    return frames


def _without_vocabulary(rows: Compared, tokenizers: Mapping[Key, Tokenizer]) -> Compared:
    """The same rows of tokenizers that work through other libraries, without values."""
    named = dict.fromkeys((row.metric, row.definition) for _, row in rows)
    return [
        (key, Measurement(metric, definition, None, 0, WITHOUT_PHASES.format(one.library_name)))
        for key, one in tokenizers.items()
        if one.library_name
        for metric, definition in named
    ]


def _construction(tokenizer: Tokenizer) -> str:
    return str(tokenizer.origin.get("construction", {}).get("method", ""))


def _rows(compared: Compared, corpus: str, language: str = "") -> pl.DataFrame:
    """Measurements as rows of the table of intrinsic metrics, of a language or of the whole corpus."""
    rows = []
    for (variant, size), measurement in compared:
        metric, definition, value, n, reason = astuple(measurement)
        rows.append((variant, size, corpus, language, metric, definition, value, n, reason))
    return pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row")


INTRINSIC = TidyTable(
    "intrinsic",
    "a metric in one definition, of a tokenizer on a corpus",
    COLUMNS,
    maker=intrinsic_and_compared,
    takes=("measurements", "tokenizers", "proven", "baselines", "venn_variants", "tokens"),
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
