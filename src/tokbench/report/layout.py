"""Tables: one frame and a description of its columns, laid out for every form in which they are printed.

A table carries its caption, which says what was measured, and the reason of every empty cell: nothing is left blank
without a word. All forms share one layout, so that they print the same digits, the same bold and the same notes.

What a section of the report shows: words, tables, drawings, and what is missing.
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
    """How one column of the frame is shown.

    Attributes:
        name: the column's name in the frame.
        header: what stands above it; the name itself when empty.
        kind: what it holds, see `tokbench.tabulation.table.Kind`.
        decimals: digits after the point, significant digits of p-values; fitted to the values when None (one for
            percentages, two for p-values).
        best: which end is set in bold; None for neither.
        at: keys that all cells of the column share, such as a vocabulary size, for the names of files.
        files: files that its numbers come from, where they are not those of the table, see `Source.files`.
        about: what the column holds, told where its header is pointed at.
        timed: whether its numbers are times, which differ from run to run.
        better: which end a first click on the header puts on top; ``best`` where None, and the lowest where both are.
        within: column whose groups stay together when the table is sorted by this one; empty for none.
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
        """The end that a first click on the header puts on top."""
        return self.better or self.best or "lowest"


@dataclass(frozen=True)
class NumberSource:
    """Where the numbers of a table come from, by paths within the experiment's folder.

    Attributes:
        tables: the tidy tables that hold them.
        files: the files that each number is from, with ``{variant}``, ``{size}`` and other columns of the row in
            braces; a key that neither row, column nor table tells stands for all that there are.
        at: keys that the whole table shares.
    """

    tables: Sequence[str]
    files: Sequence[str] = ()
    at: Mapping[str, object] = field(default_factory=dict)

    @property
    def parquet(self) -> dict[str, str]:
        """The path of the Parquet file of each table that is written as CSV."""
        return {path: path.removesuffix(".csv") + ".parquet" for path in self.tables if path.endswith(".csv")}

    @property
    def behind(self) -> str:
        """The files that each number is from, in words; empty where there are none."""
        shared = {key: str(value) for key, value in self.at.items()}
        return ", ".join(re.sub(r"{(\w+)}", lambda key: shared.get(key[1], key[1].upper()), one) for one in self.files)

    def __str__(self) -> str:
        return ", ".join(self.tables) + f", from {self.behind}" * bool(self.behind)


@dataclass(frozen=True)
class Table:
    """A table ready to print.

    Attributes:
        name: letters, digits, ``-`` and ``_``: the stem of its files and its LaTeX label.
        caption: what was measured: split, definition, n.
        frame: one row per row of the table.
        columns: the columns to show, in order; all, after the frame's types, when none is named.
        reasons: why a cell is empty, by (row index, column name).
        reference_rows: indices of rows that are compared against, such as a random baseline, and never set in bold.
        best_within: column in whose groups of equal values the best are found; the whole table when empty.
        marks: signs after what is printed, by (row index, column name); ``notes`` say what they mean.
        best: cells set in bold beside those that columns find, by (row index, column name).
        intervals: lower and upper end beside what is printed, likewise.
        small_print: text next to the value in place of an interval, by (row index, column name).
        remarks: notes with a letter on cells that have a value, by (row index, column name).
        paths: what stands for a cell in the names of files where that is not what the cell holds, likewise.
        definitions: what the columns hold: part of the caption in print, a list below the table on a page.
        key: signs of the table and their meanings; above the table on a page, a note in print.
        bars: length and side of a bar in a cell, from -1 to 1, by (row index, column name); on the page only.
        groups: columns whose change begins a group of rows.
        notes: further lines below the table.
        source: where its numbers come from.
        folded: whether the HTML report shows it closed at first, as it does with long tables of detail.
        finding: what the line of a folded table says after its number of rows; its best value where empty.
        choose: columns by whose values the page lets the reader choose rows.
        see: names of tables that the caption speaks of, to which the page links.
        unranked: cells that are compared with no others and never set in bold, by (row index, column name).
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
        """The columns as printed."""
        return list(self.columns) or [
            PrintedColumn(name, kind=_kind(dtype)) for name, dtype in self.frame.schema.items()
        ]

    @property
    def written_notes(self) -> list[str]:
        """The notes in print, the first of which is the key."""
        signs = "; ".join(f"{sign} {meaning}" for sign, meaning in self.key)
        return [*[f"{signs}."] * bool(self.key), *self.notes]

    @property
    def stated(self) -> str:
        """The caption with the definitions of the columns."""
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
    """One printed cell: its text, whether it is the best, the letter of its note, its key for sorting, its sign,
    what stands for it in the names of files where that is not what it holds, its interval or other small print, and its
    bar."""

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
    """A table as printed: headers, which columns are numbers, rows of cells, (letter, reason) notes."""

    headers: list[str]
    numeric: list[bool]
    rows: list[list[PrintedCell]]
    reasons: list[tuple[str, str]]


def layout(table: Table) -> PrintedTable:
    """Print every cell, find the best of each column, give each distinct reason of an empty cell a letter.

    Cells that print alike to the best are best as well: a tie is a tie at the digits shown.
    """
    letters: dict[str, str] = {}
    columns: list[list[PrintedCell]] = []
    for column in table.shown:
        values = table.frame[column.name].to_list()
        numbers = [value for value in values if isinstance(value, int | float)]
        decimals = column.decimals
        if decimals is None:
            fixed = {"percent": 1, "p": 2}.get(column.kind)
            decimals = fitting_decimals(numbers) if fixed is None else fixed
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
    return PrintedTable(
        headers=[column.header or column.name for column in table.shown],
        numeric=[column.kind != "text" for column in table.shown],
        rows=[list(row) for row in zip(*columns, strict=True)],
        reasons=[(letter, reason) for reason, letter in letters.items()],
    )


def _key(value: Any) -> str:
    """What a cell is sorted by, and what is told of it where it is pointed at."""
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def _best(table: Table, column: PrintedColumn, values: Sequence[Any], decimals: int) -> set[int]:
    """Rows of a column that print like the best of their group; none where a group has one value."""
    if not column.best:
        return set()
    within = table.frame[table.best_within].to_list() if table.best_within else [None] * len(values)
    groups: dict[object, list[int]] = {}
    for index, value in enumerate(values):
        if value is None or value != value or index in table.reference_rows:
            continue
        if (index, column.name) not in table.unranked:
            groups.setdefault(within[index], []).append(index)
    found: set[int] = set()
    for group in groups.values():
        end = (max if column.best == "highest" else min)(values[index] for index in group)
        text = printed(end, column.kind, decimals)
        found |= {index for index in group if len(group) > 1 and printed(values[index], column.kind, decimals) == text}
    return found


def main_finding(table: Table, printed: PrintedTable) -> str:
    """What the line of a folded table says: its best value, how many pairs differ, or the range of its first numbers.

    Args:
        table: a table.
        printed: its layout.

    Returns:
        ``best at 2,048: bpe, 3.196 bytes per token``, of the largest size and its first group; or ``worse: 3``; or
        ``length from 3.1 to 4.2``; empty where there is no such column.
    """
    return _best_value(table, printed) or _verdicts(table) or _range(table, printed)


def _verdicts(table: Table) -> str:
    if "verdict" not in table.frame.columns:
        return ""
    counts = Counter(table.frame["verdict"].drop_nulls().to_list())
    return "; ".join(f"{verdict}: {number:,}" for verdict, number in sorted(counts.items()))


def _range(table: Table, printed: PrintedTable) -> str:
    """The least and the greatest value of the first column of numbers that are neither counts nor p-values."""
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
        name: the stem of its files.
        caption: what is drawn: split, definition, n.
        draw: gives the figure when called with ``width``, in inches.
        says: the finding in a sentence, for those who do not see it; the caption where empty.
        source: where its numbers come from.
        variants: whose numbers it shows.
        size: vocabulary size of a figure of a series.
        series: name of the figures that are the same but for the size, one of which the page shows; empty for none.
        folded: whether the page shows it closed at first, under its finding.
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
        text: its bytes, visible.
        id: its id.
        data: its bytes in hexadecimal.
        differs: whether the tokenizer compared with has no token with the same bounds.
    """

    text: str
    id: int
    data: str
    differs: bool


@dataclass(frozen=True)
class Cutting:
    """A sentence as several tokenizers cut it.

    Attributes:
        number: of the sentence, in its table.
        caption: where it is from.
        text: the sentence, visible.
        direction: ``ltr`` or ``rtl``, that of its first letter.
        rows: a tokenizer's name and its tokens.
    """

    number: int
    caption: str
    text: str
    direction: str
    rows: Sequence[tuple[str, Sequence[ShownToken]]]


@dataclass(frozen=True)
class Heading:
    """A heading among the exhibits of a section, with a link of its own.

    Attributes:
        identifier: of the link.
        title: the words.
        text: a sentence below it.
    """

    identifier: str
    title: str
    text: str = ""


Exhibit = Table | Drawing | Cutting | Heading


@dataclass(frozen=True)
class Section:
    """One section: paragraphs, exhibits in order of reading, sentences after these, what is folded below them under a
    line of its own, what is missing, verbatim text.

    What is missing is ``NAME: REASON``; the page says each reason once.
    """

    identifier: str
    title: str
    paragraphs: Sequence[str] = ()
    exhibits: Sequence[Exhibit] = ()
    after: Sequence[str] = ()
    folded: tuple[str, Sequence[str]] | None = None
    missing: Sequence[str] = ()
    verbatim: str = ""
