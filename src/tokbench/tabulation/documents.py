"""Bits of every document of the evaluation split, by every model.

Tokens of every document.

Boundaries of every word of gold data.

Text of evaluation splits that is also in text that tokenizers and models are made from.
"""

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
    """Bits of every document, one row a model, tokenizer, suite and document.

    Args:
        results: see :class:`tokbench.tabulation.answers.Results`; of those that did not measure bits per byte there is
            no row. Results of older runs name neither corpus nor language, and number documents by their place.

    Returns:
        The columns of :data:`DOCUMENT_BITS`, ordered by corpus, model, suite, size, variant and document.

    Raises:
        TokbenchError: a file lacks a key or has a value of another type; the message names it.
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
                document.get("document", number),
                document.get("language", ""),
                *(
                    require_key(document, key, result.path, "bits_per_byte_of.by_document.")
                    for key in ("bytes", "bits")
                ),
                document.get("bytes_lost", 0),
            )
            for number, document in enumerate(
                require_key(of, "by_document", result.path, "bits_per_byte_of.", kind=list)
            )
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
        Column("bytes", pl.Int64, "text of the document", "bytes"),
        Column("bits", pl.Float64, "what the model spends on it", "bits"),
        LOST,
    ),
    maker=document_bits_table,
    takes=("results",),
    keys=("variant", "size", "model", "suite", "corpus", "document"),
    command="tabulate",
    of_models=True,
)


def tokens_by_document_table(token_files: Iterable[Path | str]) -> pl.DataFrame:
    """Tokens of every document, or group of them.

    Args:
        token_files: what ``tokbench count_tokens`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    return read_long_format(token_files, TOKENS_BY_DOCUMENT.schema)


TOKENS_BY_DOCUMENT = TidyTable(
    "tokens_by_document",
    "a document of the evaluation split, cut by a tokenizer; of more than 1,000 documents a group of neighbours",
    TOKENS,
    maker=tokens_by_document_table,
    takes=("token_files",),
    keys=("variant", "size", "corpus", "document"),
    command="tabulate",
)


def alignment_by_word_table(word_files: Iterable[Path | str]) -> pl.DataFrame:
    """Boundaries of every word that is scored, or of groups of them.

    Args:
        word_files: what ``tokbench measure_resource --by-word`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    return read_long_format(word_files, ALIGNMENT_BY_WORD.schema)


ALIGNMENT_BY_WORD = TidyTable(
    "alignment_by_word",
    "a word of gold data that a tokenizer is scored on: no token, while all its gold segments are; of more than 1,000 "
    "words a group of neighbours",
    BOUNDARIES,
    maker=alignment_by_word_table,
    takes=("word_files",),
    keys=("variant", "size", "corpus", "word"),
    command="tabulate",
)


def leakage_table(leakage_files: Iterable[Path | str]) -> pl.DataFrame:
    """Evaluation text that other splits have, too.

    Args:
        leakage_files: what ``tokbench find_leakage`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
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
    "the evaluation split of a corpus and a split that tokenizers or models are made from",
    (
        CORPUS,
        Column("other_corpus", pl.String, "corpus of the other split", "", "other corpus"),
        Column("split", pl.String, "the other split: `tokenizer`, `byte_lm` or `pretraining`", "", "split"),
        Column("documents", pl.Int64, "evaluation documents that were looked at", "documents", "documents"),
        Column("bytes", pl.Int64, "their text", "bytes", "bytes"),
        Column("read_bytes", pl.Int64, "bytes of the other split that were read; of more than 2 GB its first shards",
               "bytes", "bytes read of it"),
        Column("equal_documents", pl.Int64, "evaluation documents that the other split has, byte for byte", "documents",
               "equal documents"),
        Column("shared_documents", pl.Int64, "documents with a run of 50 bytes that the other split has", "documents",
               "with a shared run"),
        Column("shared_bytes", pl.Int64, "bytes in runs of 50 bytes or more that the other split has", "bytes",
               "bytes in shared runs"),
        Column("shared_share", pl.Float64, "their share of the bytes looked at", SHARE, "share (%)", 3),
        REASON,
    ),
    maker=leakage_table,
    takes=("leakage_files",),
    keys=("corpus", "other_corpus", "split"),
    command="tabulate",
    prints=(
        Print(
            "experiment",
            "Text of evaluation splits that is also in text that tokenizers and models are made from: equal documents, "
            "and runs of 50 bytes or more. Such text favours what was made from it.",
            arranged=True,
        ),
    ),
)  # fmt: skip
