"""Tables of translation: scores of models on tests, scores of sentences, and counts of corpus cleaning."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.io.atomic import reject_altered
from tokbench.io.json import read_json, read_result
from tokbench.tabulation.columns import PARALLEL, SENTENCES, SYSTEM, TOKENIZERS, TRANSLATION_METRIC
from tokbench.tabulation.reading import size_of
from tokbench.tabulation.table import Column, Print, TidyTable

REMEDY = "score the translations again"


def score_table(files: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Return scores of every model on every test, with their intervals.

    Args:
        files: results of ``tokbench score_translation``.
        own_sizes: sizes of external tokenizers, by variant.

    Raises:
        TokbenchError: a file is not such a result, or a tokenizer's size is not known.
    """
    rows = [
        {**of, **{key: one[key] for key in ("metric", "value", "low", "high", "signature")}, "n": whole["n"]}
        for of, whole in (_read(file, own_sizes) for file in files)
        for one in whole["scores"]
    ]
    return pl.DataFrame(rows, schema=TRANSLATION_SCORES.schema)


def sentence_table(files: Iterable[Path | str], own_sizes: Mapping[str, int]) -> pl.DataFrame:
    """Return scores of every sentence, and the counts from which scores of any sample are computed.

    Args:
        files: see :func:`score_table`.
        own_sizes: sizes of external tokenizers, by variant.

    Raises:
        TokbenchError: see :func:`score_table`.
    """
    return pl.DataFrame(
        [row for file in files for row in _sentences(file, own_sizes)], schema=TRANSLATION_SENTENCES.schema
    )


def _sentences(file: Path | str, own_sizes: Mapping[str, int]) -> Iterator[dict[str, Any]]:
    of, whole = _read(file, own_sizes)
    own = whole["sentences"]
    for score in whole["scores"]:
        metric = score["metric"]
        counts = own.get(f"{metric} statistics") or [None] * whole["n"]
        for pair, value, numbers in zip(own["pair"], own[metric], counts, strict=True):
            spelt = None if numbers is None else " ".join(map(str, numbers))
            yield {**of, "metric": metric, "pair": pair, "value": value, "statistics": spelt}


def _read(file: Path | str, own_sizes: Mapping[str, int]) -> tuple[dict[str, Any], dict[str, Any]]:
    whole = read_result(Path(file), REMEDY)
    try:
        of = {column.name: whole[column.name] for column in SYSTEM}
        names = (whole["source_variant"], whole["target_variant"])
        of["size"] = size_of(file, of["size"], names[0], own_sizes)
        of["tokenizers"] = names[0] if names[0] == names[1] else " + ".join(names)
        return of, {key: whole[key] for key in ("n", "scores", "sentences")}
    except (KeyError, TypeError):
        raise TokbenchError(f"{file}: not scores of translations; {REMEDY}") from None


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
            rows += [(folder.name, split, what, number) for what, number in counts.items()]
    return pl.DataFrame(rows, schema=PARALLEL_CORPORA.schema, orient="row")


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
