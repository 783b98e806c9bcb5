"""Exhibits of the report (tables, drawings, split sentences, headings) and the layout of tables.

A table is a frame with a description of its columns, a caption, and a reason for every empty cell. The page, CSV,
Markdown and LaTeX share one layout, and so the same digits, bold cells and notes.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.report.wording import fitting_decimals, printed
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
    def first(self) -> str:
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
    def behind(self) -> str:
        """Files behind each number, in words; empty if there are none."""
        shared = {key: str(value) for key, value in self.at.items()}
        return ", ".join(
            re.sub(r"{(\w+)}", lambda key: shared.get(key[1], key[1].upper()), file) for file in self.files
        )

    def __str__(self) -> str:
        return ", ".join(self.tables) + f", from {self.behind}" * bool(self.behind)


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
    def shown(self) -> list[PrintedColumn]:
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
    def stated(self) -> str:
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
class PrintedCell:
    """One printed cell.

    Attributes:
        text: the value.
        best: True if it is bold.
        note: letter of its note; empty for none.
        key: sort key; empty for an empty cell.
        mark: sign after the value.
        path: text for the cell in the names of files; empty if it is the cell's.
        interval: interval or other small print.
        bar: length and side of a bar, from -1 to 1; None for none.
    """

    text: str
    best: bool = False
    note: str = ""
    key: str = ""
    mark: str = ""
    path: str = ""
    interval: str = ""
    bar: float | None = None


@dataclass(frozen=True)
class PrintedTable:
    """A table as printed: headers, True for each column of numbers, rows of cells, (letter, reason) notes."""

    headers: list[str]
    numeric: list[bool]
    rows: list[list[PrintedCell]]
    reasons: list[tuple[str, str]]


def layout(table: Table) -> PrintedTable:
    """Print every cell, mark the best of each column, and give each distinct reason and remark a letter.

    Ties are decided at the printed digits: cells that print like the best are also best.
    """
    # Letters of notes count over the entire table, column by column.
    letters: dict[str, str] = {}
    columns: list[list[PrintedCell]] = []
    for column in table.shown:
        values = table.frame[column.name].to_list()
        numbers = [value for value in values if isinstance(value, int | float)]
        decimals = column.decimals
        if decimals is None:
            fixed = {"percent": 1, "p": 2}.get(column.kind)
            decimals = fitting_decimals(numbers) if fixed is None else fixed
        # Cells of the column: a dash with a reason, or a value with its marks.
        best = _best(table, column, values, decimals)
        cells = []
        for index, value in enumerate(values):
            if value is None:
                reason = table.reasons.get((index, column.name), UNEXPLAINED)
                cells.append(PrintedCell("–", note=letters.setdefault(reason, _letter(len(letters)))))
            else:
                text, place = printed(value, column.kind, decimals), (index, column.name)
                mark, path = table.marks.get(place, ""), table.paths.get(place, "")
                ends = [printed(end, column.kind, decimals) for end in table.intervals.get(place, ())]
                small = table.small_print.get(place, " to ".join(ends))
                bold = index in best or (place in table.best and index not in table.reference_rows)
                remark = table.remarks.get(place)
                note = "" if remark is None else letters.setdefault(remark, _letter(len(letters)))
                cells.append(PrintedCell(text, bold, note, _key(value), mark, path, small, table.bars.get(place)))
        columns.append(cells)
    # Columns become rows.
    return PrintedTable(
        headers=[column.header or column.name for column in table.shown],
        numeric=[column.kind != "text" for column in table.shown],
        rows=[list(row) for row in zip(*columns, strict=True)],
        reasons=[(letter, reason) for reason, letter in letters.items()],
    )


def _key(value: Any) -> str:
    """Return the sort key of a cell, which its tooltip also shows."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _best(table: Table, column: PrintedColumn, values: Sequence[Any], decimals: int) -> set[int]:
    """Return rows of a column that print like the best of their group; none for a group with one value."""
    if not column.best:
        return set()
    within = table.frame[table.best_within].to_list() if table.best_within else [None] * len(values)
    groups: dict[object, list[int]] = {}
    for index, value in enumerate(values):
        if value is None or value != value or index in table.reference_rows:
            continue
        if (index, column.name) not in table.unranked:
            groups.setdefault(within[index], []).append(index)
    rows: set[int] = set()
    for group in groups.values():
        end = (max if column.best == "highest" else min)(values[index] for index in group)
        text = printed(end, column.kind, decimals)
        rows |= {index for index in group if len(group) > 1 and printed(values[index], column.kind, decimals) == text}
    return rows


def main_finding(table: Table, printed: PrintedTable) -> str:
    """Return the finding for the line of a folded table: best value, number of verdicts, or range of a column.

    Args:
        table: a table.
        printed: its layout.

    Returns:
        ``best at 2,048: bpe, 3.196 bytes per token`` for the largest size and its first group; or ``worse: 3``; or
        ``length from 3.1 to 4.2``; empty if there is no such column.
    """
    return _best_value(table, printed) or _verdicts(table) or _range(table, printed)


def _verdicts(table: Table) -> str:
    if "verdict" not in table.frame.columns:
        return ""
    counts = Counter(table.frame["verdict"].drop_nulls().to_list())
    return "; ".join(f"{verdict}: {number:,}" for verdict, number in sorted(counts.items()))


def _range(table: Table, printed: PrintedTable) -> str:
    """Return the least and the greatest value of the first column of numbers except counts and p-values."""
    for place, column in enumerate(table.shown):
        known = [row[place] for row in printed.rows if row[place].key]
        if column.kind in ("real", "percent") and len({cell.text for cell in known}) > 1:
            low, high = (end(known, key=lambda cell: float(cell.key)).text for end in (min, max))
            return f"{printed.headers[place]} from {low} to {high}"
    return ""


def _best_value(table: Table, printed: PrintedTable) -> str:
    names = [column.name for column in table.shown]
    label = next((names.index(name) for name in ("variant", "tokenizers", "a") if name in names), None)
    sizes: list[Any] = table.frame["size"].to_list() if "size" in names else [None] * len(printed.rows)
    for place, header in enumerate(printed.headers):
        rows = [index for index, row in enumerate(printed.rows) if row[place].best]
        if label is None or not rows:
            continue
        size: Any = max(filter(None, (sizes[index] for index in rows)), default=None)
        row = next(index for index in rows if sizes[index] == size)
        at = f" at {size:,}" if size is not None and len(set(sizes)) > 1 else ""
        return f"best{at}: {printed.rows[row][label].text}, {printed.rows[row][place].text} {header}"
    return ""


def _letter(index: int) -> str:
    return chr(ord("a") + index) if index < 26 else _letter(index // 26 - 1) + _letter(index % 26)


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
