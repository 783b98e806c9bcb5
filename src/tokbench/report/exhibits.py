"""Exhibits of the report: tables, drawings, split sentences and headings, and the sections that have them.

A table is a frame with a description of its columns, a caption, and a reason for every empty cell.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.tabulation.table import Kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UNEXPLAINED = "no value was recorded"


@dataclass(frozen=True)
class PrintedColumn:
    """Format of one printed column.

    Attributes:
        name: name of the column in the frame.
        header: header in print (default: the name).
        kind: print format, see `tokbench.tabulation.table.Kind` (default: text).
        decimals: digits after the point, or significant digits of p-values (default: fitted to the values; one for
            percentages, two for p-values).
        best: end set in bold (default: None, neither).
        at: keys that all cells of the column share, such as a vocabulary size, for the names of files.
        files: files of the column's numbers, see :class:`NumberSource` (default: those of the table).
        about: definition of the column, shown as the tooltip of its header.
        timed: True if its numbers are times, which differ from run to run (default: False).
        better: end that a first click on the header sorts to the top (default: ``best``; if that is None, lowest).
        within: column whose groups stay together when the table is sorted by this one (default: none).
    """

    name: str
    header: str = ""
    kind: Kind = "text"
    decimals: int | None = None
    best: Literal["highest", "lowest"] | None = None
    at: Mapping[str, object] = field(default_factory=dict)
    files: Sequence[str] = ()
    about: str = ""
    timed: bool = False
    better: Literal["highest", "lowest"] | None = None
    within: str = ""

    @property
    def first_end(self) -> str:
        """End that a first click on the header sorts to the top."""
        return self.better or self.best or "lowest"


@dataclass(frozen=True)
class NumberSource:
    """Source of a table's numbers: paths within the experiment's folder.

    Attributes:
        tables: tidy tables with the numbers.
        files: files of the stages behind each number, with columns of the row in braces, such as ``{variant}`` or
            ``{size}``. A key that is in neither row, column nor table means all files.
        at: keys that all cells share.
    """

    tables: Sequence[str]
    files: Sequence[str] = ()
    at: Mapping[str, object] = field(default_factory=dict)

    @property
    def parquet(self) -> dict[str, str]:
        """Path of the Parquet file of each table that is written as CSV."""
        return {path: path.removesuffix(".csv") + ".parquet" for path in self.tables if path.endswith(".csv")}

    @property
    def files_in_words(self) -> str:
        """Files behind each number, in words; empty if there are none."""
        shared = {key: str(value) for key, value in self.at.items()}
        return ", ".join(
            re.sub(r"{(\w+)}", lambda key: shared.get(key[1], key[1].upper()), file) for file in self.files
        )

    def __str__(self) -> str:
        return ", ".join(self.tables) + f", from {self.files_in_words}" * bool(self.files_in_words)


@dataclass(frozen=True)
class Table:
    """A table ready to print.

    Attributes:
        name: letters, digits, ``-`` and ``_``: stem of its files and LaTeX label.
        caption: measured quantity, split, definition and n.
        frame: one row per row of the table.
        columns: columns to show, in order (default: all, with the format of their types).
        reasons: reasons of empty cells, by (row index, column name).
        reference_rows: indices of rows that others are compared with, such as a random baseline; never bold.
        best_within: column whose groups of equal values each have a best (default: one group).
        marks: signs after values, by (row index, column name); ``notes`` explain them.
        paths: text for a cell in the names of files if it differs from the cell's, by (row index, column name).
        definitions: definitions of the columns: part of the caption in print, a list below the table on the page.
        notes: further lines below the table.
        source: source of the numbers (default: none).
        folded: True if the page shows the table closed at first (default: False).
        finding: finding in the line of a folded table, after its number of rows (default: the best value).
        best: bold cells in addition to those that ``columns`` define, by (row index, column name).
        intervals: lower and upper end next to a value, by (row index, column name).
        small_print: text next to a value in place of an interval, by (row index, column name).
        remarks: lettered notes on cells that have a value, by (row index, column name).
        key: signs of the table and their meanings; above the table on the page, a note in print.
        bars: length and side of a bar in a cell, from -1 to 1, by (row index, column name); on the page only.
        groups: columns whose change begins a group of rows.
        choose: columns by whose values the reader may filter rows on the page.
        see: names of tables that the page links to after the caption.
        unranked: cells that are not ranked and never bold, by (row index, column name).

    Raises:
        TokbenchError: a column is not in the frame.
    """

    name: str
    caption: str
    frame: pl.DataFrame
    columns: Sequence[PrintedColumn] = ()
    reasons: Mapping[tuple[int, str], str] = field(default_factory=dict)
    reference_rows: frozenset[int] = frozenset()
    best_within: str = ""
    marks: Mapping[tuple[int, str], str] = field(default_factory=dict)
    paths: Mapping[tuple[int, str], str] = field(default_factory=dict)
    definitions: Sequence[str] = ()
    notes: Sequence[str] = ()
    source: NumberSource | None = None
    folded: bool = False
    finding: str = ""
    best: frozenset[tuple[int, str]] = frozenset()
    intervals: Mapping[tuple[int, str], tuple[float, float]] = field(default_factory=dict)
    small_print: Mapping[tuple[int, str], str] = field(default_factory=dict)
    remarks: Mapping[tuple[int, str], str] = field(default_factory=dict)
    key: Sequence[tuple[str, str]] = ()
    bars: Mapping[tuple[int, str], float] = field(default_factory=dict)
    groups: Sequence[str] = ()
    choose: Sequence[str] = ()
    see: Sequence[str] = ()
    unranked: frozenset[tuple[int, str]] = frozenset()

    def __post_init__(self) -> None:
        for column in self.columns:
            if column.name not in self.frame.columns:
                raise TokbenchError(f"table {self.name}: no column '{column.name}' in {', '.join(self.frame.columns)}")

    @property
    def printed_columns(self) -> list[PrintedColumn]:
        """Columns as printed."""
        return list(self.columns) or [
            PrintedColumn(name, kind=_kind(dtype)) for name, dtype in self.frame.schema.items()
        ]

    @property
    def written_notes(self) -> list[str]:
        """Notes in print; the first is the key."""
        signs = "; ".join(f"{sign} {meaning}" for sign, meaning in self.key)
        return [*[f"{signs}."] * bool(self.key), *self.notes]

    @property
    def full_caption(self) -> str:
        """Caption with the definitions of the columns."""
        return " ".join([self.caption, *self.definitions])

    @property
    def files(self) -> list[tuple[str, str]]:
        """Name and path of each form in which it is written, relative to the experiment's folder."""
        forms = {"CSV": "csv", "Markdown": "md", "LaTeX": "tex"}
        return [(form, f"typeset/{self.name}.{suffix}") for form, suffix in forms.items()]


def _kind(dtype: pl.DataType) -> Kind:
    return "count" if dtype.is_integer() else "real" if dtype.is_numeric() else "text"


@dataclass(frozen=True)
class Drawing:
    """A figure to be drawn at any width.

    Attributes:
        name: stem of its files.
        caption: measured quantity, split, definition and n.
        draw: function that returns the figure, called with ``width`` in inches.
        source: source of the numbers (default: none).
        variants: variants that it shows.
        says: finding in a sentence, for readers who do not see the figure (default: the caption).
        size: vocabulary size, if the figure is of one size.
        series: common name of figures that differ only in size, of which the page shows one (default: none).
        folded: True if the page shows it closed at first, under its finding (default: False).
    """

    name: str
    caption: str
    draw: Callable[..., "Figure"]
    source: NumberSource | None = None
    variants: Sequence[str] = ()
    says: str = ""
    size: int | None = None
    series: str = ""
    folded: bool = False

    @property
    def files(self) -> list[tuple[str, str]]:
        """Name and path of each form in which it is written, relative to the experiment's folder."""
        return [(suffix.upper(), f"figures/{self.name}.{suffix}") for suffix in ("svg", "png")]


@dataclass(frozen=True)
class ShownToken:
    """A token on the page.

    Attributes:
        text: its bytes in visible characters.
        id: its id.
        data: its bytes in hexadecimal.
        differs: True if the baseline has no token with the same bounds.
    """

    text: str
    id: int
    data: str
    differs: bool


@dataclass(frozen=True)
class Cutting:
    """A sentence as several tokenizers split it.

    Attributes:
        number: number of the sentence in its table.
        caption: source of the sentence.
        text: the sentence in visible characters.
        direction: ``ltr`` or ``rtl``, the direction of its first letter.
        rows: name and tokens of each tokenizer.
    """

    number: int
    caption: str
    text: str
    direction: str
    rows: Sequence[tuple[str, Sequence[ShownToken]]]


@dataclass(frozen=True)
class Heading:
    """A heading among the exhibits of a section.

    Attributes:
        identifier: anchor of its link.
        title: text of the heading.
        text: sentence below it (default: none).
    """

    identifier: str
    title: str
    text: str = ""


Exhibit = Table | Drawing | Cutting | Heading


@dataclass(frozen=True)
class Section:
    """One section of the report.

    Attributes:
        identifier: anchor of its link.
        title: text of its heading.
        paragraphs: text before the exhibits.
        exhibits: exhibits in order of reading.
        after: sentences after the first table, or at the end.
        folded: summary and paragraphs of a fold after these sentences (default: none).
        missing: missing parts as ``NAME: REASON``; the page prints each reason once.
        verbatim: preformatted text at the end (default: none).
    """

    identifier: str
    title: str
    paragraphs: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    after: Sequence[str] = ()
    folded: tuple[str, Sequence[str]] | None = None
    missing: Sequence[str] = ()
    verbatim: str = ""
