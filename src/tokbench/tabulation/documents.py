"""Bits of every document of the evaluation split, by every model.

Tokens of every document.

Boundaries of every word of gold data.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.tabulation.answers import HEAD, Result
from tokbench.tabulation.columns import BOUNDARIES, CORPUS, LANGUAGE, TOKENS
from tokbench.tabulation.ngram_bits import LOST
from tokbench.tabulation.reading import read_long_format, require_key, to_frame
from tokbench.tabulation.table import Column, TidyTable


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
