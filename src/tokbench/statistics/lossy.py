"""Tokenizers that do not give back all of a text spell other documents than the rest, and are not compared with it."""

from collections.abc import Sequence

import polars as pl


def given_back(documents: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The documents of the tokenizers that give back all of every one.

    Args:
        documents: with the columns ``variant`` and ``bytes_lost``.
        key: columns by which the rows are apart that are compared with each other.
    """
    return documents.filter(pl.col("bytes_lost").sum().over(*key, "variant") == 0)
