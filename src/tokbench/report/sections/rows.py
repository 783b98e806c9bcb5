"""Tables printed row by row, as they are declared."""

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.layout import UNEXPLAINED, Column, Table
from tokbench.report.sections.origins import source_of
from tokbench.report.wording import slug
from tokbench.statistics.verdicts import IN_WORDS
from tokbench.tidy import table as tidy
from tokbench.tidy.table import TidyTable


def column_of(declared: tidy.Column) -> Column:
    """How a declared column is shown."""
    return Column(declared.name, declared.heading, declared.kind, declared.decimals)


def rows(table: TidyTable, frame: pl.DataFrame, which: int = 0, **at: object) -> Table:
    """A table as one of its prints says.

    Args:
        table: the declaration.
        frame: the rows to print, with the columns that are shown.
        which: number of the print.
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
    """The same with variants, the first column shown, in the order of the configuration."""
    chosen = frame.select([column.name for column in table.prints[which].columns(table)])
    return rows(table, pl.DataFrame(content.in_order(chosen.rows()), chosen.schema, orient="row"), which, **at)


def split(content: ReportContent, table: TidyTable, which: int = 0, **at: object) -> list[Table]:
    """The rows with these values in the columns by which a table is split; nothing where there are none."""
    frame = content.part(table.name)
    part = None if frame is None else frame.filter(**at) if at else frame
    return [] if part is None or part.is_empty() else [rows(table, content.read(part), which, **at)]


def split_all(content: ReportContent, table: TidyTable, which: int = 0) -> list[Table]:
    """A table for each value of the columns by which a table is split; nothing where there are none."""
    frame, by = content.part(table.name), table.prints[which].by
    if frame is None:
        return []
    keys = frame.select(by).unique(maintain_order=True).rows(named=True) if by else [{}]
    return [one for at in keys for one in split(content, table, which, **at)]


def remaining(content: ReportContent, section: str) -> list[Table]:
    """What is declared for a section and no module of it arranges."""
    made: list[Table] = []
    for table in content.declared:
        for which, place in enumerate(table.prints):
            if not place.arranged and place.section == section:
                made += split_all(content, table, which)
    return made
