"""Undersized vocabularies (fewer tokens than others of their size), and tokenizers that lose text, in tables."""

from collections.abc import Iterable, Sequence, Set

import polars as pl

from tokbench.statistics.cells import Cell

NOMINAL = "nominal vocabulary size"
"""Name of the requested size in definitions of metrics. Smaller vocabularies have no value for such a metric, because
it would divide by tokens that they lack."""
AS_MANY = " at a size of which neither has fewer tokens than others"
FEWER_AT = "has fewer tokens than others at"
LEFT_OUT = "one of the two has fewer tokens than others of the size"
Undersized = Set[tuple[str, int]]
"""Variant and size of undersized vocabularies."""
NO_UNDERSIZED: Undersized = frozenset()


def undersized_vocabularies(intrinsic: pl.DataFrame) -> set[tuple[str, int]]:
    """Return variant and size of vocabularies with fewer tokens than the largest vocabulary of their size.

    Args:
        intrinsic: table of intrinsic metrics.
    """
    tokens = intrinsic.filter(metric="vocabulary_size")
    undersized = tokens.filter(pl.col("value") < pl.col("value").max().over("size"))
    return set(undersized.select("variant", "size").iter_rows())


def below_nominal(intrinsic: pl.DataFrame) -> set[tuple[str, int]]:
    """Return variant and size of vocabularies with fewer tokens than the requested size.

    Args:
        intrinsic: table of intrinsic metrics.
    """
    smaller = intrinsic.filter(pl.col("metric") == "vocabulary_size", pl.col("value") < pl.col("size"))
    return set(smaller.select("variant", "size").iter_rows())


def undersized_sizes(variants: Iterable[str], sizes: Iterable[int], undersized: Undersized) -> list[int]:
    """Return the sizes at which one of the variants is undersized, ascending."""
    names = list(variants)
    return sorted(size for size in sizes if any((name, size) in undersized for name in names))


def undersized_at(sizes: Iterable[int]) -> str:
    """Return the reason why a number over several sizes is not ranked."""
    return f"{FEWER_AT} {', '.join(f'{size:,}' for size in sizes)}"


def left_out_reason(cells: Iterable[Cell], sizes: Iterable[int]) -> str | None:
    """Return the reason why cells are excluded from a comparison of two variants; None if none are.

    Args:
        cells: cells that either variant has.
        sizes: sizes at which one of them is undersized.
    """
    excluded = sorted({size for size, _ in cells} & set(sizes))
    at = ", ".join(f"{size:,}" for size in excluded)
    return f"left out, as {LEFT_OUT}: {at}" if excluded else None


def lossy_tokenizers(imported: pl.DataFrame) -> set[str]:
    """Return the external tokenizers that do not restore all documents, or whose losses are not known.

    Args:
        imported: table of external tokenizers.
    """
    return set(imported.filter(pl.col("documents_changed").fill_null(1) > 0)["variant"])


def lossless_documents(documents: pl.DataFrame, key: Sequence[str]) -> pl.DataFrame:
    """Return the documents of tokenizers that decode all documents without loss.

    Args:
        documents: table with the columns ``variant`` and ``bytes_lost``.
        key: columns that identify a group of rows that are compared.
    """
    return documents.filter(pl.col("bytes_lost").sum().over(*key, "variant") == 0)
