"""Tidy tables by document or word: model bits, token counts, morpheme boundaries, and evaluation text seen in
training."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.io.json import read_result
from tokbench.tabulation.answers import HEAD, Result
from tokbench.tabulation.columns import BOUNDARIES, CORPUS, LANGUAGE, REASON, TOKENS
from tokbench.tabulation.ngram_bits import LOST
from tokbench.tabulation.reading import AGAIN, read_long_format, require_key, to_frame
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable


def document_bits_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return bits of every document, one row per model, tokenizer, suite and document.

    Args:
        results: see :class:`tokbench.tabulation.answers.Results`. Results without bits per byte have no row.

    Returns:
        The columns of :data:`DOCUMENT_BITS`, ordered by corpus, model, suite, size, variant and document.

    Raises:
        TokbenchError: a key is missing or a value has another type; the message names the file.
    """
    frames = [to_frame([], DOCUMENT_BITS.schema, "")]
    for result in results:
        of = result.whole.get("bits_per_byte_of")
        if of is None:
            continue
        head = (*result.head.values(), result.whole.get("corpus", ""))
        rows: list[tuple[Any, ...]] = [
            (
                *head,
                *(
                    require_key(document, key, result.path, "bits_per_byte_of.by_document.")
                    for key in ("document", "language", "bytes", "bits")
                ),
                document.get("bytes_lost", 0),
            )
            for document in require_key(of, "by_document", result.path, "bits_per_byte_of.", kind=list)
        ]
        frames.append(to_frame(rows, DOCUMENT_BITS.schema, result.path))
    return pl.concat(frames).sort("corpus", "model", "suite", "size", "variant", "document")


DOCUMENT_BITS = TidyTable(
    "document_bits",
    "a document of the evaluation split under a model with a tokenizer, and the suite that measured it",
    (
        *HEAD,
        CORPUS,
        Column("document", pl.Int64, "position of the document in its source"),
        LANGUAGE,
        Column("bytes", pl.Int64, "bytes of the document's text", "bytes"),
        Column("bits", pl.Float64, "bits that the model needs for the document", "bits"),
        LOST,
    ),
    maker=document_bits_table,
    takes=("results",),
    keys=("variant", "size", "model", "suite", "corpus", "document"),
    command="tabulate",
    of_models=True,
)


def tokens_by_document_table(token_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return token counts of every document or group of documents.

    Args:
        token_files: results of ``tokbench count_tokens``, in any order.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    return read_long_format(token_files, TOKENS_BY_DOCUMENT.schema)


TOKENS_BY_DOCUMENT = TidyTable(
    "tokens_by_document",
    "a document of the evaluation split under a tokenizer; a group of neighbours if there are more than 1,000",
    TOKENS,
    maker=tokens_by_document_table,
    takes=("files.tokens",),
    keys=("variant", "size", "corpus", "document"),
    command="tabulate",
)


def alignment_by_word_table(word_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return boundary counts of every scored word or group of words.

    Args:
        word_files: results of ``tokbench measure_resource --by-word``, in any order.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    return read_long_format(word_files, ALIGNMENT_BY_WORD.schema)


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
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    frames = [to_frame([], LEAKAGE.schema, "")]
    for path in leakage_files:
        content = read_result(path, AGAIN)
        head = [require_key(content, key, path) for key in ("corpus", "documents", "bytes")]
        rows: list[tuple[Any, ...]] = []
        for other in require_key(content, "others", path, kind=list):
            names = [require_key(other, key, path, "others.") for key in ("corpus", "split")]
            counts = [
                require_key(other, key, path, "others.") for key in ("read", "equal_documents", "documents", "bytes")
            ]
            share = counts[-1] / head[-1] if head[-1] else None
            rows.append((head[0], *names, *head[1:], *counts, share, None if head[-1] else "no text"))
        frames.append(to_frame(rows, LEAKAGE.schema, path))
    return pl.concat(frames).sort("corpus", "other_corpus", "split")


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
