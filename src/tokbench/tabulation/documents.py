"""Tidy tables by document or word: model bits, token counts, morpheme boundaries, and evaluation text seen in
training."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.metric.language_tokens import BY_LANGUAGE
from tokbench.tabulation.answers import MEASURED
from tokbench.tabulation.columns import BOUNDARIES, CORPUS, EXTERNAL_TOKENS_COLUMNS, LANGUAGE, REASON, TOKENS
from tokbench.tabulation.ngram_bits import LOST
from tokbench.tabulation.reading import Row, rows_of_lists, table_of_results
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable


def document_bits_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits of every document, one row per model, tokenizer, suite and document.

    Args:
        downstream: downstream result files, in any order. Results without bits per byte have no row.

    Returns:
        The columns of :data:`DOCUMENT_BITS`, ordered by corpus, model, suite, size, variant and document.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """

    def rows(result: Any) -> Any:
        return [] if result.get("bits_per_byte_of") is None else result["bits_per_byte_of"]["by_document"]

    order = ("corpus", "model", "suite", "size", "variant", "document")
    return table_of_results(downstream, DOCUMENT_BITS, rows, *order).fill_nan(None)


DOCUMENT_BITS = TidyTable(
    "document_bits",
    "a document of the evaluation split under a model with a tokenizer, and the suite that measured it",
    (
        *MEASURED,
        CORPUS,
        Column("document", pl.Int64, "position of the document in its source"),
        LANGUAGE,
        Column("bytes", pl.Int64, "bytes of the document's text", "bytes"),
        Column("bits", pl.Float64, "bits that the model needs for the document", "bits"),
        LOST,
    ),
    maker=document_bits_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "corpus", "document"),
    command="tabulate",
    of_models=True,
)


def tokens_by_document_table(token_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return token counts of every document or group of documents, ordered by corpus, size, variant and document.

    Args:
        token_files: results of ``tokbench count_tokens``, in any order.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return _table_of_lists(token_files, TOKENS_BY_DOCUMENT)


def _table_of_lists(paths: Iterable[Path | str], table: TidyTable) -> pl.DataFrame:
    """Return a table of results with a list for each of its columns after variant, size and corpus."""
    names = list(table.schema)[3:]
    return table_of_results(
        paths, table, lambda result: rows_of_lists(result, names), "corpus", "size", "variant", names[0]
    )


TOKENS_BY_DOCUMENT = TidyTable(
    "tokens_by_document",
    "a document of the evaluation split under a tokenizer; a group of neighbours if there are more than 1,000",
    TOKENS,
    maker=tokens_by_document_table,
    takes=("files.tokens",),
    keys=("variant", "size", "corpus", "document"),
    command="tabulate",
)


def external_tokens_table(token_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return token counts of external tokenizers on the documents of each language.

    Args:
        token_files: results of ``tokbench count_tokens``, in any order. Results of other tokenizers have no row.

    Returns:
        The columns of :data:`EXTERNAL_TOKENS`, ordered by corpus, size, variant, language and document.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    names = list(EXTERNAL_TOKENS.schema)[3:]

    def rows(result: Any) -> Iterable[Row]:
        return rows_of_lists(result[BY_LANGUAGE], names) if BY_LANGUAGE in result else ()

    return table_of_results(token_files, EXTERNAL_TOKENS, rows, "corpus", "size", "variant", "language", "document")


EXTERNAL_TOKENS = TidyTable(
    "external_tokens",
    "a document of the evaluation split under an external tokenizer; a group of documents of a language if it has more "
    "than 1,000",
    EXTERNAL_TOKENS_COLUMNS,
    maker=external_tokens_table,
    takes=("files.tokens",),
    keys=("variant", "size", "corpus", "language", "document"),
    command="tabulate",
)


def alignment_by_word_table(word_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return boundary counts of every scored word or group of words, ordered by corpus, size, variant and word.

    Args:
        word_files: results of ``tokbench measure_resource --by-word``, in any order.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return _table_of_lists(word_files, ALIGNMENT_BY_WORD)


ALIGNMENT_BY_WORD = TidyTable(
    "alignment_by_word",
    "a word of gold data that a tokenizer is scored on (all its gold segments are tokens, the word is not); a group of "
    "neighbours if there are more than 1,000 words",
    BOUNDARIES,
    maker=alignment_by_word_table,
    takes=("files.words",),
    keys=("variant", "size", "corpus", "word"),
    command="tabulate",
)


def leakage_table(leakage_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return the overlap of evaluation text with the text of other splits.

    Args:
        leakage_files: results of ``tokbench find_leakage``, in any order.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return table_of_results(leakage_files, LEAKAGE, _overlaps, "corpus", "other_corpus", "split").fill_nan(None)


def _overlaps(result: Any) -> Iterator[Row]:
    """Yield a row for each split that the evaluation text was searched in."""
    size = result["bytes"]
    for other in result["others"]:
        yield {
            "corpus": result["corpus"],
            "other_corpus": other["corpus"],
            "split": other["split"],
            "documents": result["documents"],
            "bytes": size,
            "read_bytes": other["read"],
            "equal_documents": other["equal_documents"],
            "shared_documents": other["documents"],
            "shared_bytes": other["bytes"],
            "shared_share": other["bytes"] / size if size else None,
            "reason": None if size else "no text",
        }


LEAKAGE = TidyTable(
    "leakage",
    "the evaluation split of a corpus and a split that tokenizers or models are trained on",
    (
        CORPUS,
        Column("other_corpus", pl.String, "corpus of the other split", "", "other corpus"),
        Column("split", pl.String, "the other split: `tokenizer`, `byte_lm` or `pretraining`", "", "split"),
        Column("documents", pl.Int64, "evaluation documents that were checked", "documents", "documents"),
        Column("bytes", pl.Int64, "bytes of their text", "bytes", "bytes"),
        Column("read_bytes", pl.Int64, "bytes read of the other split; its first shards if it has more than 2 GB",
               "bytes", "bytes read of it"),
        Column("equal_documents", pl.Int64, "evaluation documents with an identical copy in the other split",
               "documents", "equal documents"),
        Column("shared_documents", pl.Int64, "documents that share a run of 50 bytes with the other split", "documents",
               "with a shared run"),
        Column("shared_bytes", pl.Int64, "bytes in runs of at least 50 bytes that the other split has", "bytes",
               "bytes in shared runs"),
        Column("shared_share", pl.Float64, "shared bytes / bytes checked", SHARE, "share (%)", 3),
        REASON,
    ),
    maker=leakage_table,
    takes=("files.leakage",),
    keys=("corpus", "other_corpus", "split"),
    command="tabulate",
    prints=(
        Print(
            "experiment",
            "Text of evaluation splits that is also in text that tokenizers and models are trained on: equal "
            "documents, and runs of 50 bytes or more. Such text favours the tokenizers and models trained on it.",
            arranged=True,
        ),
    ),
)  # fmt: skip
