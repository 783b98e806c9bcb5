"""Tables of translation: scores of models on tests, scores of sentences, and counts of corpus cleaning."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.io.atomic import reject_altered
from tokbench.io.json import read_json
from tokbench.tabulation.columns import PARALLEL, SENTENCES, SYSTEM, TOKENIZERS, TRANSLATION_METRIC
from tokbench.tabulation.reading import Row, size_of, table_of_results
from tokbench.tabulation.table import Column, Print, TidyTable


def score_table(files: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Return scores of every model on every test, with their intervals.

    Args:
        files: results of ``tokbench score_translation``.
        own_sizes: sizes of external tokenizers, by variant.

    Raises:
        TokbenchError: a file is not such a result, or a tokenizer's size is not known.
    """
    rows = partial(_scores, own_sizes=own_sizes)
    return table_of_results(files, TRANSLATION_SCORES, rows)


def _scores(result: Any, own_sizes: Mapping[str, int]) -> Iterator[Row]:
    """Yield a row for each metric."""
    for score in result["scores"]:
        yield {**score, **_system(result, own_sizes), "n": result["n"]}


def sentence_table(files: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Return scores of every sentence, and the counts from which scores of any sample are computed.

    Args:
        files: see :func:`score_table`.
        own_sizes: sizes of external tokenizers, by variant.

    Raises:
        TokbenchError: see :func:`score_table`.
    """
    rows = partial(_sentences, own_sizes=own_sizes)
    return table_of_results(files, TRANSLATION_SENTENCES, rows)


def _sentences(result: Any, own_sizes: Mapping[str, int]) -> Iterator[Row]:
    """Yield a row for each metric and sentence."""
    system, sentences = _system(result, own_sizes), result["sentences"]
    for metric in (score["metric"] for score in result["scores"]):
        counts = sentences.get(f"{metric} statistics") or [None] * result["n"]
        for pair, value, numbers in zip(sentences["pair"], sentences[metric], counts, strict=True):
            statistics = None if numbers is None else " ".join(map(str, numbers))
            yield {**system, "metric": metric, "pair": pair, "value": value, "statistics": statistics}


def _system(result: Any, own_sizes: Mapping[str, int]) -> dict[str, Any]:
    """Return the columns of a result that identify a translation model on a test."""
    source, target = result["source_variant"], result["target_variant"]
    system = {column.name: result[column.name] for column in SYSTEM}
    size = size_of(f"scores of {system['model']} on {system['test']}", system["size"], source, own_sizes)
    return {**system, "size": size, "tokenizers": source if source == target else f"{source} + {target}"}


def cleaning_table(folders: Iterable[Path | str]) -> pl.DataFrame:
    """Return the pairs of every split of parallel corpora: read, left out by each rule, kept.

    Raises:
        TokbenchError: a folder was not written by ``tokbench prepare_parallel``, or the file was altered.
    """
    rows = []
    for folder in map(Path, folders):
        file = folder / "counts.json"
        reject_altered(file, "delete its folder and run the workflow again")
        for split, counts in read_json(file, "prepare the parallel corpus again").items():
            for pairs, number in counts.items():
                rows.append({"parallel": folder.name, "split": split, "pairs": pairs, "n": number})
    return PARALLEL_CORPORA.frame(rows)


TRANSLATION_SCORES = TidyTable(
    "translation_scores",
    "a translation model on a test by a metric",
    (
        *SYSTEM,
        TOKENIZERS,
        TRANSLATION_METRIC,
        Column("value", pl.Float64, "score of the complete test", decimals=2, heading="score"),
        Column("low", pl.Float64, "lower end of a 95 % interval (bootstrap over sentences)", decimals=2),
        Column("high", pl.Float64, "upper end of this interval", decimals=2),
        Column("signature", pl.String, "sacrebleu's signature, or the file of the COMET model"),
        Column("n", pl.Int64, "sentences of the test", "sentences"),
    ),
    maker=score_table,
    takes=("files.translation", "own_sizes"),
    command="tabulate",
    prints=(
        Print(
            "translation",
            "Translations of {parallel} from {source_language} into {target_language}, test {test}: scores from 0 to "
            "100 (COMET on a different scale) with 95 % intervals, from 1,000 bootstrap samples of the sentences.",
            shown=("model", "tokenizers", "size", "metric", "value", "low", "high", "n", "signature"),
            by=("parallel", "source_language", "target_language", "test"),
            files=("translation_scores/{model}/{parallel}/{source_language}/{target_language}/",),
            arranged=True,
        ),
    ),
    of_models=True,
    keys=(*(column.name for column in SYSTEM), "tokenizers", "metric"),
)
TRANSLATION_SENTENCES = TidyTable(
    "translation_sentences",
    "a sentence translated by a model, by a metric",
    SENTENCES,
    maker=sentence_table,
    takes=("files.translation", "own_sizes"),
    command="tabulate",
    of_models=True,
)  # fmt: skip
PARALLEL_CORPORA = TidyTable(
    "parallel_corpora",
    "a count of sentence pairs of a split",
    (
        PARALLEL,
        Column("split", pl.String, "train, dev, or the name of a test"),
        Column("pairs", pl.String, "read, kept, drawn for other splits, or the rule by which they were left out"),
        Column("n", pl.Int64, "number of such pairs", "pairs"),
    ),
    maker=cleaning_table,
    takes=("files.parallel",),
    command="tabulate",
    prints=(
        Print(
            "translation",
            "Sentence pairs of the parallel corpora: how many were read, left out of training by each rule, and kept.",
            files=("parallel/{parallel}/counts.json",),
            arranged=True,
        ),
    ),
)
