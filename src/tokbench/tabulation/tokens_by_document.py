"""Tokens of every document."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.tabulation.reading import thing_by_thing
from tokbench.tidy.documents import TOKENS
from tokbench.tidy.table import TidyTable


def tokens_by_document_table(token_files: Iterable[Path | str]) -> pl.DataFrame:
    """Tokens of every document, or group of them.

    Args:
        token_files: what ``tokbench count_tokens`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    return thing_by_thing(token_files, TOKENS_BY_DOCUMENT.schema)


TOKENS_BY_DOCUMENT = TidyTable(
    "tokens_by_document",
    "a document of the evaluation split, cut by a tokenizer; of more than 1,000 documents a group of neighbours",
    TOKENS,
    maker=tokens_by_document_table,
    takes=("token_files",),
    keys=("variant", "size", "corpus", "document"),
    command="tabulate",
)
