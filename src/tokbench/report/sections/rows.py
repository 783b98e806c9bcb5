"""Tables printed as declared, notes on undersized vocabularies, and sources of numbers."""

from collections.abc import Iterable
from dataclasses import replace

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import UNEXPLAINED, NumberSource, PrintedColumn, Table
from tokbench.report.wording import join_some, pluralise, slug
from tokbench.statistics.accuracies.correlation import SMALLER
from tokbench.statistics.accuracies.seeds import SEVERAL
from tokbench.statistics.significance.verdicts import IN_WORDS
from tokbench.statistics.undersized import NOMINAL
from tokbench.tabulation import table as tidy
from tokbench.tabulation.table import TidyTable


def with_excluded_count(content: ReportContent, table: Table) -> Table:
    """Return a table whose caption gives the number of tokenizers left out of measures by nominal size.

    Args:
        content: content of the report.
        table: table whose caption ends with :data:`tokbench.statistics.accuracies.correlation.SMALLER`.
    """
    measured = content.frames.get("intrinsic")
    if measured is None or not content.smaller_than_requested:
        return table
    by_size = measured.filter(pl.col("definition").str.contains(NOMINAL, literal=True)).drop_nulls("value")
    gone = set(by_size.select("variant", "size").iter_rows()) & content.smaller_than_requested
    if not gone:
        return table
    out = f"{pluralise(len(gone), 'tokenizer')} {'is' if len(gone) == 1 else 'are'} left out"
    sentence = (
        "Tokenizers with fewer tokens than requested are included, except in measures that divide by the nominal "
        f"(requested) size: {out} of these."
    )
    return replace(table, caption=table.caption.replace(SMALLER, sentence))


def unequal_sizes_note(content: ReportContent, variants: Iterable[str], size: int) -> str:
    """Return a note on pairs with undersized vocabularies; empty if there are none.

    Args:
        content: content of the report.
        variants: variants of the pairs.
        size: requested vocabulary size.
    """
    names = [name for name in sorted(set(variants)) if (name, size) in content.undersized]
    if not names:
        return ""
    return f"Pairs with {join_some(names)} are not of equal size: fewer tokens than others of this size."


def with_unequal_sizes_note(content: ReportContent, table: Table, size: int) -> Table:
    """Return a table of pairs, columns ``a`` and ``b``, with a note on pairs of unequal size."""
    note = unequal_sizes_note(content, [*table.frame["a"], *table.frame["b"]], size)
    return replace(table, notes=[*table.notes, note]) if note else table


LEAST_DRAWN = 6
"""Fewest numbers for a figure in addition to a table."""
LEAST_CORRELATED = 10
"""Fewest points for a correlation to be drawn or called a finding."""
_MAX_SIZES = 4
"""Most vocabulary sizes for one figure per size."""


def drawn_sizes(sizes: Iterable[int]) -> list[int]:
    """Return the vocabulary sizes for figures of one size: all if there are at most four, else the largest."""
    ordered = sorted(set(sizes))
    return ordered if len(ordered) <= _MAX_SIZES else ordered[-1:]


TEXT, RESOURCE = "intrinsic/{variant}/{size}.json", "intrinsic/{variant}/{size}/{corpus}.json"
EMBEDDINGS = "embeddings/{model}/{variant}/{size}/measurements.json"
_COMPARED = ("relative_", "dropped_", "added_", "common_", "venn_", "partition_cover_ratio")
_BOUNDED = ("gap", "partition_cover_attained")
_EMBEDDED = ("embedding_norm", "mean_embedding_norm", "mean_token_probability", "undertrained_tokens", "unseen_tokens")


def source_of(table: TidyTable, which: int = 0, **at: object) -> NumberSource:
    """Return the source of one print of a table: its path and the files behind it.

    Args:
        table: the declaration.
        which: number of the print (default: 0).
        at: values of columns that all rows share; a model with several seeds has several files and is ignored.
    """
    shared = {key: value for key, value in at.items() if not SEVERAL.search(str(value))}
    return NumberSource([path_of(table)], table.prints[which].files, shared)


def path_of(table: TidyTable) -> str:
    """Return the path of a table."""
    return f"{table.folder}/{table.name}.csv"


def files_of_metric(metric: str) -> tuple[str, ...]:
    """Return the files of an intrinsic metric that needs more than one tokenizer and one text; empty for others."""
    if metric.startswith(_EMBEDDED):
        return (EMBEDDINGS,)
    if metric in _BOUNDED:
        return ("bounds/{corpus}/*/{size}.json", "tokenizers/*/{size}/tokens.vocab", TEXT)
    return ("tokenizers/*/{size}/tokens.vocab", TEXT) if metric.startswith(_COMPARED) else ()


def column_of(declared: tidy.Column) -> PrintedColumn:
    """Return the printed column of a declared column."""
    return PrintedColumn(declared.name, declared.heading, declared.kind, declared.decimals)


def rows(table: TidyTable, frame: pl.DataFrame, which: int = 0, **at: object) -> Table:
    """Return a table as one of its prints declares.

    Args:
        table: the declaration.
        frame: rows to print, with the columns that are shown.
        which: number of the print (default: 0).
        at: values of the columns that the table is split by.
    """
    place = table.prints[which]
    shown = place.columns(table)
    if "verdict" in frame.columns:
        frame = frame.with_columns(pl.col("verdict").replace(IN_WORDS))
    reasons = {
        (index, column.name): row.get("reason") or column.empty or UNEXPLAINED
        for index, row in enumerate(frame.iter_rows(named=True))
        for column in shown
    }
    return Table(
        slug((place.name or table.name).replace("_", "-"), *at.values()),
        place.caption.format(**at),
        frame,
        [column_of(column) for column in shown],
        reasons,
        source=source_of(table, which, **at),
        folded=place.folds_above is not None and frame.height > place.folds_above,
    )


def in_order(content: ReportContent, table: TidyTable, frame: pl.DataFrame, which: int = 0, **at: object) -> Table:
    """Return a table as :func:`rows` does, with variants, the first column shown, in the order of reading."""
    chosen = frame.select([column.name for column in table.prints[which].columns(table)])
    ordered = [dict(zip(chosen.columns, row, strict=True)) for row in content.sort_rows(chosen.rows())]
    return rows(table, pl.DataFrame(ordered, chosen.schema), which, **at)


def split(content: ReportContent, table: TidyTable, which: int = 0, **at: object) -> list[Table]:
    """Return the table of the rows with given values, as one of its prints declares; empty if there are none.

    Args:
        content: content of the report.
        table: the declaration.
        which: number of the print (default: 0).
        at: values of columns.
    """
    frame = content.part(table.name)
    part = None if frame is None else frame.filter(**at) if at else frame
    return [] if part is None or part.is_empty() else [rows(table, content.sort_variants(part), which, **at)]


def split_all(content: ReportContent, table: TidyTable, which: int = 0) -> list[Table]:
    """Return a table for each value of the columns that a table is split by; empty if it has no rows."""
    frame, by = content.part(table.name), table.prints[which].by
    if frame is None:
        return []
    keys = frame.select(by).unique(maintain_order=True).rows(named=True) if by else [{}]
    return [part for at in keys for part in split(content, table, which, **at)]


def remaining_tables(content: ReportContent, section: str) -> list[Table]:
    """Return the tables that are declared for a section and that its module does not arrange."""
    made: list[Table] = []
    for table in content.declared:
        for which, place in enumerate(table.prints):
            if not place.arranged and place.section == section:
                made += split_all(content, table, which)
    return made
