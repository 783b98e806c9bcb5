"""Bits of every document of the evaluation split, by every model."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from tokbench.tabulation.answers import HEAD, Result
from tokbench.tabulation.reading import framed, taken
from tokbench.tidy.columns import CORPUS, LANGUAGE
from tokbench.tidy.table import Column, TidyTable


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
    frames = [framed([], DOCUMENT_BITS.schema, "")]
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
                *(taken(document, key, result.path, "bits_per_byte_of.by_document.") for key in ("bytes", "bits")),
            )
            for number, document in enumerate(taken(of, "by_document", result.path, "bits_per_byte_of.", kind=list))
        ]
        frames.append(framed(rows, DOCUMENT_BITS.schema, result.path))
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
    ),
    maker=document_bits_table,
    takes=("results",),
    keys=("variant", "size", "model", "suite", "corpus", "document"),
    command="tabulate",
    of_models=True,
)
