"""Tokens of every document."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.inputs.json import read_json
from tokbench.tabulation.reading import AGAIN, framed, taken
from tokbench.tidy.documents import TOKENS
from tokbench.tidy.table import TidyTable


def tokens_by_document_table(token_files: Iterable[Path | str]) -> pl.DataFrame:
    """Tokens of every document, or group of them.

    Args:
        token_files: what ``tokbench count_tokens`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [framed([], TOKENS_BY_DOCUMENT.schema, "")]
    for path in token_files:
        content = read_json(path, AGAIN, lenient=True)
        head = tuple(taken(content, key, path) for key in ("variant", "size", "corpus"))
        counts = [taken(content, key, path, kind=list) for key in ("document", "documents", "bytes", "tokens")]
        rows = [(*head, *row) for row in zip(*counts, strict=False)]
        frames.append(framed(rows, TOKENS_BY_DOCUMENT.schema, path))
    return pl.concat(frames).sort("corpus", "size", "variant", "document")


TOKENS_BY_DOCUMENT = TidyTable(
    "tokens_by_document",
    "a document of the evaluation split, cut by a tokenizer; of more than 1,000 documents a group of neighbours",
    TOKENS,
    maker=tokens_by_document_table,
    takes=("token_files",),
    keys=("variant", "size", "corpus", "document"),
    command="tabulate",
)
