"""Tables: one frame and a description of its columns, printed as CSV, Markdown and LaTeX.

A table carries its caption, which says what was measured, and the reason of every empty cell: nothing is left blank
without a word. The three forms share one layout, so that they print the same digits, the same bold and the same notes.
"""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import polars as pl

from tokbench.registry import TokbenchError
from tokbench.report.numbers import Kind, fitting_decimals, printed
from tokbench.whole import whole_file

UNEXPLAINED = "no value was recorded"


@dataclass(frozen=True)
class Column:
    """How one column of the frame is shown.

    Attributes:
        name: the column's name in the frame.
        header: what stands above it; the name itself when empty.
        kind: what it holds, see `tokbench.report.numbers.Kind`.
        decimals: digits after the point, significant digits of p-values; fitted to the values when None (one for
            percentages, two for p-values).
        best: which end is set in bold; None for neither.
    """

    name: str
    header: str = ""
    kind: Kind = "text"
    decimals: int | None = None
    best: Literal["highest", "lowest"] | None = None


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
        notes: further lines below the table.
        folded: whether the HTML report shows it closed at first, as it does with long tables of detail.
    """

    name: str
    caption: str
    frame: pl.DataFrame
    columns: Sequence[Column] = ()
    reasons: Mapping[tuple[int, str], str] = field(default_factory=dict)
    reference_rows: frozenset[int] = frozenset()
    notes: Sequence[str] = ()
    folded: bool = False

    def __post_init__(self) -> None:
        for column in self.columns:
            if column.name not in self.frame.columns:
                raise TokbenchError(f"table {self.name}: no column '{column.name}' in {', '.join(self.frame.columns)}")

    @property
    def shown(self) -> list[Column]:
        """The columns as printed."""
        return list(self.columns) or [Column(name, kind=_kind(dtype)) for name, dtype in self.frame.schema.items()]


def _kind(dtype: pl.DataType) -> Kind:
    return "count" if dtype.is_integer() else "real" if dtype.is_numeric() else "text"


@dataclass(frozen=True)
class Cell:
    """One printed cell: its text, whether it is the best of its column, the letter of its note, its key for sorting."""

    text: str
    best: bool = False
    note: str = ""
    key: str = ""


@dataclass(frozen=True)
class Layout:
    """A table as printed: headers, which columns are numbers, rows of cells, (letter, reason) notes."""

    headers: list[str]
    numeric: list[bool]
    rows: list[list[Cell]]
    reasons: list[tuple[str, str]]


def layout(table: Table) -> Layout:
    """Print every cell, find the best of each column, give each distinct reason of an empty cell a letter.

    Cells that print alike to the best are best as well: a tie is a tie at the digits shown.
    """
    letters: dict[str, str] = {}
    columns: list[list[Cell]] = []
    for column in table.shown:
        values = table.frame[column.name].to_list()
        numbers = [value for value in values if isinstance(value, int | float)]
        decimals = column.decimals
        if decimals is None:
            fixed = {"percent": 1, "p": 2}.get(column.kind)
            decimals = fitting_decimals(numbers) if fixed is None else fixed
        eligible = [v for i, v in enumerate(values) if v is not None and v == v and i not in table.reference_rows]
        best = None
        if column.best and len(eligible) > 1:
            best = printed(max(eligible) if column.best == "highest" else min(eligible), column.kind, decimals)
        cells = []
        for index, value in enumerate(values):
            if value is None:
                reason = table.reasons.get((index, column.name), UNEXPLAINED)
                cells.append(Cell("–", note=letters.setdefault(reason, _letter(len(letters)))))
            else:
                text = printed(value, column.kind, decimals)
                cells.append(Cell(text, text == best and index not in table.reference_rows, key=str(value)))
        columns.append(cells)
    return Layout(
        headers=[column.header or column.name for column in table.shown],
        numeric=[column.kind != "text" for column in table.shown],
        rows=[list(row) for row in zip(*columns, strict=True)],
        reasons=[(letter, reason) for reason, letter in letters.items()],
    )


def _letter(index: int) -> str:
    return chr(ord("a") + index) if index < 26 else _letter(index // 26 - 1) + _letter(index % 26)


def to_csv(table: Table) -> str:
    """Unrounded values under the frame's own column names; the column ``missing`` gives each empty cell's reason."""
    names = [column.name for column in table.shown]
    rows = table.frame.select(names).rows()
    missing = [
        "; ".join(
            f"{name}: {table.reasons.get((index, name), UNEXPLAINED)}"
            for name, value in zip(names, row, strict=True)
            if value is None
        )
        for index, row in enumerate(rows)
    ]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names + ["missing"] * any(missing))
    for row, why in zip(rows, missing, strict=True):
        writer.writerow(["" if value is None else value for value in row] + [why] * any(missing))
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """GitHub's pipe table: caption above, best in bold, notes below."""
    shape = layout(table)
    lines = [f"**{_markdown(table.caption)}**", ""]
    lines.append("| " + " | ".join(map(_markdown, shape.headers)) + " |")
    lines.append("| " + " | ".join("---:" if numeric else ":---" for numeric in shape.numeric) + " |")
    for row in shape.rows:
        cells = [
            f"**{_markdown(cell.text)}**"
            if cell.best
            else _markdown(cell.text) + (f" [{cell.note}]" if cell.note else "")
            for cell in row
        ]
        lines.append("| " + " | ".join(cells) + " |")
    for note in [f"[{letter}] {reason}" for letter, reason in shape.reasons] + list(table.notes):
        lines += ["", _markdown(note)]
    return "\n".join(lines) + "\n"


def _markdown(text: str) -> str:
    return re.sub(r"([\\`*_|<])", r"\\\1", text).replace("\n", " ")


def to_latex(table: Table) -> str:
    r"""A ``table`` environment for ``booktabs``: caption and ``tab:name`` label, best in bold, notes below the rule."""
    shape = layout(table)
    lines = [
        r"\begin{table}[t]",
        r"  \centering",
        rf"  \caption{{{latex(table.caption)}}}",
        rf"  \label{{tab:{table.name}}}",
        rf"  \begin{{tabular}}{{{''.join('r' if numeric else 'l' for numeric in shape.numeric)}}}",
        r"    \toprule",
        "    " + " & ".join(map(latex, shape.headers)) + r" \\",
        r"    \midrule",
    ]
    for row in shape.rows:
        cells = [
            rf"\textbf{{{latex(cell.text)}}}"
            if cell.best
            else latex(cell.text) + (rf"\textsuperscript{{{cell.note}}}" if cell.note else "")
            for cell in row
        ]
        lines.append("    " + " & ".join(cells) + r" \\")
    lines += [r"    \bottomrule", r"  \end{tabular}"]
    notes = [rf"\textsuperscript{{{letter}}}\,{latex(reason)}" for letter, reason in shape.reasons]
    lines += [rf"  \par\smallskip {{\footnotesize {note}}}" for note in notes + [latex(note) for note in table.notes]]
    return "\n".join([*lines, r"\end{table}"]) + "\n"


_LATEX = {mark: rf"\{mark}" for mark in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "−": "$-$",
    "×": r"$\times$",
    "∞": r"$\infty$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "›": r"\guilsinglright{}",
    "…": r"\ldots{}",
    "\n": " ",
}
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def latex(text: str) -> str:
    """Plain text with every character that LaTeX would read as a command written so that it prints."""
    return re.sub(
        "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|.",
        lambda found: (
            rf"\textsuperscript{{{found[0].translate(_RAISED)}}}"
            if found[0][0] in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
            else _LATEX.get(found[0], found[0])
        ),
        text,
        flags=re.DOTALL,
    )


def write_table(table: Table, stem: Path | str) -> list[Path]:
    """Write ``stem``.csv, ``stem``.md and ``stem``.tex, each whole or not at all; the paths written."""
    written = []
    for suffix, text in (("csv", to_csv(table)), ("md", to_markdown(table)), ("tex", to_latex(table))):
        path = Path(f"{stem}.{suffix}")
        with whole_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
        written.append(path)
    return written
