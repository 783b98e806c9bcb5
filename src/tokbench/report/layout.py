"""Layout of tables. The page, CSV, Markdown and LaTeX share it, and so the same digits, bold cells and notes."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.report.exhibits import UNEXPLAINED, PrintedColumn, Table
from tokbench.report.wording import fitting_decimals, format_value


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
    for column in table.printed_columns:
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
                text, place = format_value(value, column.kind, decimals), (index, column.name)
                mark, path = table.marks.get(place, ""), table.paths.get(place, "")
                ends = [format_value(end, column.kind, decimals) for end in table.intervals.get(place, ())]
                small = table.small_print.get(place, " to ".join(ends))
                bold = index in best or (place in table.best and index not in table.reference_rows)
                remark = table.remarks.get(place)
                note = "" if remark is None else letters.setdefault(remark, _letter(len(letters)))
                cells.append(PrintedCell(text, bold, note, _key(value), mark, path, small, table.bars.get(place)))
        columns.append(cells)
    # Columns become rows.
    return PrintedTable(
        headers=[column.header or column.name for column in table.printed_columns],
        numeric=[column.kind != "text" for column in table.printed_columns],
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
        text = format_value(end, column.kind, decimals)
        rows |= {
            index for index in group if len(group) > 1 and format_value(values[index], column.kind, decimals) == text
        }
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
    for place, column in enumerate(table.printed_columns):
        known = [row[place] for row in printed.rows if row[place].key]
        if column.kind in ("real", "percent") and len({cell.text for cell in known}) > 1:
            low, high = (end(known, key=lambda cell: float(cell.key)).text for end in (min, max))
            return f"{printed.headers[place]} from {low} to {high}"
    return ""


def _best_value(table: Table, printed: PrintedTable) -> str:
    names = [column.name for column in table.printed_columns]
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
