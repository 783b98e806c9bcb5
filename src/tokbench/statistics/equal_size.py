"""Vocabularies that have fewer tokens than others of their size: they are measured, and ranked beside none.

A text may yield fewer tokens than were asked for, by one construction and not by another. What such a vocabulary lacks
would count for or against how it was built.

Tokenizers that do not give back all of a text spell other documents than the rest, and are not compared with it.
"""

from collections.abc import Iterable, Sequence, Set

import polars as pl

from tokbench.statistics.cells import Cell

FEWER = "has fewer tokens than others of its size"
NOMINAL = "nominal vocabulary size"
"""What a definition calls the size that was asked for. A smaller vocabulary has no value of its own by it: it is
divided by tokens that it lacks."""
AS_MANY = " at a size of which neither has fewer tokens than others"
FEWER_AT = "has fewer tokens than others at"
LEFT_OUT = "left out, as one of the two has fewer tokens than others of the size"
Undersized = Set[tuple[str, int]]
"""Variant and size of each."""
NONE: Undersized = frozenset()


def undersized_vocabularies(intrinsic: pl.DataFrame) -> set[tuple[str, int]]:
    """Variant and size of vocabularies that a text did not fill as far as others of the size.

    Args:
        intrinsic: the tidy table of intrinsic metrics.
    """
    tokens = intrinsic.filter(metric="vocabulary_size")
    fewer = tokens.filter(pl.col("value") < pl.col("value").max().over("size"))
    return set(fewer.select("variant", "size").iter_rows())


def smaller_than_asked(intrinsic: pl.DataFrame) -> set[tuple[str, int]]:
    """Variant and size of vocabularies that have fewer tokens than the size that was asked for.

    Args:
        intrinsic: the tidy table of intrinsic metrics.
    """
    smaller = intrinsic.filter(pl.col("metric") == "vocabulary_size", pl.col("value") < pl.col("size"))
    return set(smaller.select("variant", "size").iter_rows())


def sizes_with_fewer(variants: Iterable[str], sizes: Iterable[int], fewer: Undersized) -> list[int]:
    """The sizes at which one of the variants has fewer tokens than others, ascending."""
    names = list(variants)
    return sorted(size for size in sizes if any((name, size) in fewer for name in names))


def fewer_at(sizes: Iterable[int]) -> str:
    """What is said of a number over several sizes that is not ranked."""
    return f"{FEWER_AT} {', '.join(f'{size:,}' for size in sizes)}"


def left_out(cells: Iterable[Cell], sizes: Iterable[int]) -> str | None:
    """Why cells are no part of a comparison of two: one has fewer tokens at their size; None where none is.

    Args:
        cells: that either of the two has.
        sizes: at which one of them has fewer tokens than others.
    """
    gone = sorted({size for size, _ in cells} & set(sizes))
    at = ", ".join(f"{size:,}" for size in gone)
    return f"{LEFT_OUT}: {at}" if gone else None


def given_back(documents: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """The documents of the tokenizers that give back all of every one.

    Args:
        documents: with the columns ``variant`` and ``bytes_lost``.
        key: columns by which the rows are apart that are compared with each other.
    """
    return documents.filter(pl.col("bytes_lost").sum().over(*key, "variant") == 0)
