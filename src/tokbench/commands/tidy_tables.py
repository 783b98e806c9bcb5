"""The tidy tables of an experiment: what every stage wrote, gathered, and what compares the tokenizers."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

import polars as pl

from tokbench.downstream.tables import boundary_table, outcome_table, read_results, text_table
from tokbench.errors import TokbenchError
from tokbench.inputs.frames import read_frame
from tokbench.inputs.numbers import WHOLE
from tokbench.intrinsic.comparison import (
    ALL_RESOURCES,
    Compared,
    exchanged_embeddings,
    exchanged_tokens,
    mean_over_resources,
    partition_cover_ratio,
    venn_tokens,
)
from tokbench.intrinsic.overlap import overlaps_by_size, venn_by_size
from tokbench.statistics.cells import INTRINSIC
from tokbench.statistics.embedding_norms import embedding_norms
from tokbench.statistics.relative import relative_to
from tokbench.statistics.tables import accuracy_table, bits_per_byte_table, curve_table, intrinsic_table
from tokbench.tokenizer import Tokenizer

Key = tuple[str, int]
"""Variant and vocabulary size."""
ORDER = ("corpus", "language", "metric", "definition", "size", "variant")


def tidy_tables(
    intrinsic: Sequence[str],
    tokenizers: Sequence[str],
    embeddings: Sequence[str],
    models: Sequence[str],
    downstream: Sequence[str],
    baselines: Sequence[str],
    venn: Sequence[str],
) -> dict[str, pl.DataFrame]:
    """The tables by name; the arguments are those of the command.

    Raises:
        TokbenchError: a folder or a baseline is not named as the command expects, or a file is not what it should be.
    """
    _expect_runs("--embeddings", embeddings)
    _expect_runs("--model", models)
    loaded = {
        (tokenizer.name, int(tokenizer.origin["requested_size"])): tokenizer
        for tokenizer in map(Tokenizer.load, tokenizers)
    }
    vocabularies = {key: tokenizer.vocabulary for key, tokenizer in loaded.items()}
    measured = intrinsic_table([*intrinsic, *(f"{folder}/measurements.json" for folder in embeddings)])
    tokens = _tables_of_tokens(embeddings)
    results = read_results(downstream)
    compared = _compared(measured, loaded, _by_corpus(baselines), venn, tokens)
    return {
        "intrinsic": pl.concat([measured, *compared]).sort(ORDER),
        "overlaps": overlaps_by_size(vocabularies),
        "venn": venn_by_size(vocabularies, venn),
        "accuracy": accuracy_table(downstream),
        "bits_per_byte": bits_per_byte_table(downstream),
        "boundaries": boundary_table(results),
        "outcomes": outcome_table(results),
        "texts": text_table(results),
        "curves": curve_table(models),
        "embedding_norms": embedding_norms(tokens),
    }


def _expect_runs(flag: str, folders: Sequence[str]) -> None:
    for folder in map(Path, folders):
        if len(folder.parts) < 3 or not WHOLE.fullmatch(folder.name):
            raise TokbenchError(f"{flag} {folder}: expected a folder MODEL/VARIANT/SIZE")


def _by_corpus(baselines: Sequence[str]) -> dict[str, str]:
    for baseline in baselines:
        if "=" not in baseline:
            raise TokbenchError(f"--baseline {baseline}: expected CORPUS=VARIANT")
    named = [baseline.split("=", 1) for baseline in baselines]
    for corpus, variant in named:
        if [corpus, variant] != next(one for one in named if one[0] == corpus):
            raise TokbenchError(f"--baseline {corpus}={variant}: this corpus has another one already; name one")
    return dict(named)


def _tables_of_tokens(folders: Sequence[str]) -> dict[str, dict[Key, pl.DataFrame]]:
    """The tokens of trained models with their embeddings' norms, by model, then by variant and size."""
    tables: dict[str, dict[Key, pl.DataFrame]] = {}
    for folder in map(Path, folders):
        model, variant, size = folder.parts[-3:]
        tables.setdefault(model, {})[variant, int(size)] = read_frame(
            folder / "tokens.parquet", "measure the embeddings again"
        )
    return tables


def _compared(
    measured: pl.DataFrame,
    loaded: Mapping[Key, Tokenizer],
    baselines: Mapping[str, str],
    venn: Sequence[str],
    tokens: Mapping[str, Mapping[Key, pl.DataFrame]],
) -> list[pl.DataFrame]:
    """Rows that compare tokenizers: corpus by corpus, and over all resources."""
    frames = [_rows(mean_over_resources(measured), ALL_RESOURCES)]
    covering = [key for key, tokenizer in loaded.items() if _construction(tokenizer) == "greedwmc"]
    for corpus, baseline in baselines.items():
        part = measured.filter(corpus=corpus)
        keys = set(part.filter(metric="corpus_token_count").select("variant", "size").iter_rows())
        vocabularies = {key: loaded[key].vocabulary for key in sorted(keys & loaded.keys())}
        rows = exchanged_tokens(vocabularies, baseline) + venn_tokens(vocabularies, venn)
        for model, tables in tokens.items():
            rows += exchanged_embeddings(tables, vocabularies, baseline, model)
        frames.append(_rows(rows + partition_cover_ratio(part, covering), corpus))
        if baseline in part["variant"]:
            frames.append(relative_to(part, "corpus_token_count", baseline))
    return frames


def _construction(tokenizer: Tokenizer) -> str:
    return str(tokenizer.origin.get("construction", {}).get("method", ""))


def _rows(compared: Compared, corpus: str) -> pl.DataFrame:
    """Measurements as rows of the table of intrinsic metrics, of the whole corpus."""
    rows = []
    for (variant, size), measurement in compared:
        metric, definition, value, n, reason = astuple(measurement)
        rows.append((variant, size, corpus, "", metric, definition, value, n, reason))
    return pl.DataFrame(rows, schema=INTRINSIC, orient="row")
