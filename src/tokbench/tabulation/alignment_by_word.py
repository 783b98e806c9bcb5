"""Boundaries of every word of gold data."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.tabulation.reading import thing_by_thing
from tokbench.tidy.documents import BOUNDARIES
from tokbench.tidy.table import TidyTable


def alignment_by_word_table(word_files: Iterable[Path | str]) -> pl.DataFrame:
    """Boundaries of every word that is scored, or of groups of them.

    Args:
        word_files: what ``tokbench measure_resource --by-word`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    return thing_by_thing(word_files, ALIGNMENT_BY_WORD.schema)


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
