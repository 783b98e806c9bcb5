"""Tables as CSV, Markdown and LaTeX, with the escapes of plain text that these formats need."""

import csv
import io
import re
from pathlib import Path
from textwrap import wrap

from tokbench.io.atomic import atomic_file
from tokbench.io.tables import guard_cell
from tokbench.report.exhibits import UNEXPLAINED, Table
from tokbench.report.layout import PrintedTable, layout

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
    "≈": r"$\approx$",
    "★": r"$\star$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "○": r"$\circ$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "∩": r"$\cap$",
    "∪": r"$\cup$",
    "›": r"\guilsinglright{}",
    "…": r"\ldots{}",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "\n": " ",
}
_RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
_PAGE_ROWS = 40
"""Most rows of a table on one page; longer tables break between pages."""
_PAGE_WIDTH, _LETTER, _BETWEEN = 345.0, 5.0, 12.0
"""Width of a page of the class ``article``, of a letter, and of the space between columns, in points."""
_TYPE = ((1.0, ""), (0.9, r"\small"), (0.8, r"\footnotesize"), (0.7, r"\scriptsize"),
         (0.6, r"\scriptsize \setlength{\tabcolsep}{3pt}"))  # fmt: skip
_NARROW = r"\tiny \setlength{\tabcolsep}{2pt}"
"""Type size by share of the natural width, and the size of tables that are too wide for all of these."""
_TEXT_LETTERS = 40
"""Most letters in a line of a text column."""


def latex(text: str) -> str:
    """Escape plain text for LaTeX."""
    return re.sub(
        "[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+|.",
        lambda match: (
            rf"\textsuperscript{{{match[0].translate(_RAISED)}}}"
            if match[0][0] in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"
            else _LATEX.get(match[0], match[0])
        ),
        text,
        flags=re.DOTALL,
    )


def to_csv(table: Table) -> str:
    """Return a table as CSV: unrounded values under the frame's column names.

    The column ``marks`` has the signs of the row's numbers, ``missing`` the reasons of empty cells, ``remarks`` the
    notes on cells that have a value; each is left out if it would be empty. Text is guarded, see
    :mod:`tokbench.io.tables`.
    """
    # Reasons, marks and remarks have a column each, if there are any.
    names = [column.name for column in table.printed_columns]
    rows = table.frame.select(names).rows()
    missing = [
        "; ".join(
            f"{name}: {table.reasons.get((index, name), UNEXPLAINED)}"
            for name, value in zip(names, row, strict=True)
            if value is None
        )
        for index, row in enumerate(rows)
    ]
    signs: dict[int, list[str]] = {}
    for (index, name), mark in sorted(table.marks.items(), key=lambda item: (item[0][0], names.index(item[0][1]))):
        signs.setdefault(index, []).append(f"{name}: {mark}")
    marks = ["; ".join(signs.get(index, [])) for index in range(len(rows))]
    remarks = [
        "; ".join(f"{name}: {table.remarks[index, name]}" for name in names if (index, name) in table.remarks)
        for index in range(len(rows))
    ]
    said = {name: lines for name, lines in (("marks", marks), ("missing", missing), ("remarks", remarks)) if any(lines)}
    # Values as they are; text that a spreadsheet would run is guarded.
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, *said])
    for index, row in enumerate(rows):
        values = ["" if value is None else guard_cell(value) if isinstance(value, str) else value for value in row]
        writer.writerow([*values, *(lines[index] for lines in said.values())])
    return text.getvalue()


def to_markdown(table: Table) -> str:
    """Return a table in GitHub's Markdown: caption above, best in bold, notes below."""
    shape = layout(table)
    lines = [f"**{markdown(table.full_caption)}**", ""]
    lines.append("| " + " | ".join(map(markdown, shape.headers)) + " |")
    lines.append("| " + " | ".join("---:" if numeric else ":---" for numeric in shape.numeric) + " |")
    for row in shape.rows:
        cells = [
            (f"**{markdown(cell.text)}**" if cell.best else markdown(cell.text))
            + cell.mark
            + (f" ({cell.interval})" if cell.interval else "")
            + (f" [{cell.note}]" if cell.note else "")
            for cell in row
        ]
        lines.append("| " + " | ".join(cells) + " |")
    source = [f"Source: {table.source}."] if table.source else []
    for note in [f"[{letter}] {reason}" for letter, reason in shape.reasons] + [*table.written_notes, *source]:
        lines += ["", markdown(note)]
    return "\n".join(lines) + "\n"


def markdown(text: str) -> str:
    """Escape plain text for one line of Markdown or reStructuredText.

    The result has no tag, link, image, entity, formula or line break. It also contains none of the web addresses that
    GitHub links automatically (GitHub Flavored Markdown, section 6.9); mail addresses cannot be escaped.
    """
    text = re.sub(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", " ", text)
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    text = re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text)
    return re.sub(r"([\\`*_|<~$]|\](?=[(\[:])|:(?=//)|(?i:(?<=www))\.)", r"\\\1", text)


def to_latex(table: Table) -> str:
    r"""Return a table in LaTeX: a ``table``, or a ``longtable`` if it has more than 40 rows.

    It has rules of ``booktabs``, the label ``tab:name``, the best in bold, and definitions and notes below the rule.
    Long headers and text break into several lines; wide tables have smaller type.
    """
    shape = layout(table)
    columns, headers, type_size = _column_layout(shape)
    rows = []
    for row in shape.rows:
        cells = [
            (rf"\textbf{{{latex(cell.text)}}}" if cell.best else latex(cell.text))
            + "".join(rf"\textsuperscript{{{latex(sign)}}}" for sign in (cell.mark, cell.note) if sign)
            + (rf" {{\scriptsize({latex(cell.interval)})}}" if cell.interval else "")
            for cell in row
        ]
        rows.append(f"    {' & '.join(cells)} " + r"\\")
    # Definitions of columns, letters of cells, and notes have a paragraph each, so that the caption stays short.
    letters = [rf"\textsuperscript{{{letter}}}\,{latex(reason)}" for letter, reason in shape.reasons]
    paragraphs = [latex(" ".join(table.definitions)), "; ".join(letters), *map(latex, table.written_notes)]
    notes = [rf"  \par\smallskip {{\footnotesize\raggedright {note}\par}}" for note in paragraphs if note]
    head = [r"    \toprule", f"    {headers} " + r"\\", r"    \midrule"]
    caption = rf"  \caption{{{latex(table.caption)}}} \label{{tab:{table.name}}}"
    if len(rows) > _PAGE_ROWS:
        lines = [
            r"\begingroup", rf"  \setlength{{\LTcapwidth}}{{\linewidth}}{type_size}",
            rf"  \begin{{longtable}}{{{columns}}}", caption + r"\\", *head, r"    \endfirsthead", *head,
            r"    \endhead", r"    \bottomrule", r"    \endfoot", *rows, r"  \end{longtable}", *notes, r"\endgroup",
        ]  # fmt: skip
    else:
        lines = [
            r"\begin{table}[t]", rf"  \centering{type_size}", caption, r"  \par\medskip",
            rf"  \begin{{tabular}}{{{columns}}}", *head, *rows,
            r"    \bottomrule", r"  \end{tabular}", *notes, r"\end{table}",
        ]  # fmt: skip
    source = [f"% Source: {' '.join(str(table.source).split())}"] if table.source else []
    return "\n".join([*source, "% Packages: array, booktabs, longtable", *lines]) + "\n"


def _column_layout(shape: PrintedTable) -> tuple[str, str, str]:
    """Return column types, headers, and the type size that fits a page."""
    kinds, headers, width = [], [], 0.0
    for place, (header, numeric) in enumerate(zip(shape.headers, shape.numeric, strict=True)):
        longest = max((len(row[place].text) for row in shape.rows), default=1)
        letters = min(longest, _TEXT_LETTERS)
        broken = wrap(header, max(letters, 7), break_long_words=False) or [""]
        side = "r" if numeric else "l"
        wide = not numeric and longest > letters
        kinds.append(rf">{{\raggedright\arraybackslash}}p{{{letters // 2}em}}" if wide else side)
        stacked = r" \\ ".join(map(latex, broken))
        headers.append(rf"\shortstack[{side}]{{{stacked}}}" if len(broken) > 1 else stacked)
        width += _LETTER * max(letters, *map(len, broken)) + _BETWEEN
    type_size = next((size for share, size in _TYPE if share * width <= _PAGE_WIDTH), _NARROW)
    return "".join(kinds), " & ".join(headers), type_size


def write_table(table: Table, stem: Path | str) -> list[Path]:
    """Write ``stem``.csv, ``stem``.md and ``stem``.tex atomically, and return their paths."""
    written = []
    for suffix, text in (("csv", to_csv(table)), ("md", to_markdown(table)), ("tex", to_latex(table))):
        path = Path(f"{stem}.{suffix}")
        with atomic_file(path) as partial:
            partial.write_text(text, encoding="utf-8")
        written.append(path)
    return written
