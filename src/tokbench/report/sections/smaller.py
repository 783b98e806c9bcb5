"""What is said of vocabularies that have fewer tokens than the size that was asked for, or than others of it."""

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.layout import Table
from tokbench.report.wording import counted, few
from tokbench.statistics.correlation import SMALLER
from tokbench.statistics.equal_size import NOMINAL


def told_of_smaller(content: ReportContent, table: Table) -> Table:
    """A table of measures whose caption says how many tokenizers are left out of those by the nominal size.

    Args:
        content: what the report shows.
        table: one whose caption ends as declared, with :data:`tokbench.statistics.correlation.SMALLER`.
    """
    measured = content.frames.get("intrinsic")
    if measured is None or not content.smaller:
        return table
    by_size = measured.filter(pl.col("definition").str.contains(NOMINAL, literal=True)).drop_nulls("value")
    gone = set(by_size.select("variant", "size").iter_rows()) & content.smaller
    if not gone:
        return table
    out = f"{counted(len(gone), 'tokenizer')} {'is' if len(gone) == 1 else 'are'} left out"
    told = (
        "Tokenizers with fewer tokens than their size are among the others, but for measures that divide by the "
        f"nominal size, which is the one asked for: {out} of these."
    )
    return replace(table, caption=table.caption.replace(SMALLER, told))


def unequal(content: ReportContent, variants: Iterable[str], size: int) -> str:
    """What is said beside pairs of variants of which some have fewer tokens than others of the size; nothing of none.

    Args:
        content: what the report shows.
        variants: those of the pairs.
        size: that all were asked for.
    """
    names = [name for name in sorted(set(variants)) if (name, size) in content.fewer]
    if not names:
        return ""
    return f"Pairs with {few(names)} are not of equal size: fewer tokens than others came of the text."


def pairs_told_of_fewer(content: ReportContent, table: Table, size: int) -> Table:
    """A table of pairs, columns ``a`` and ``b``, with a note of those whose vocabularies are not of equal size."""
    note = unequal(content, [*table.frame["a"], *table.frame["b"]], size)
    return replace(table, notes=[*table.notes, note]) if note else table
