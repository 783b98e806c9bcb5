"""Rankings of tokenizers as tables in text, Markdown, LaTeX and CSV."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.errors import shortened
from tokbench.report.wording import MINUS, format_value, pluralise
from tokbench.statistics.significance.eligibility import LOSSY
from tokbench.statistics.significance.verdicts import ALPHA, BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE, in_full

Row = Mapping[str, Any]
LONGEST_LABEL = 32
"""Most characters of a pre-tokenizer's label in a table; the options of a longer one are left out."""
BEST, EQUAL, UNTESTED = "★", "≈", "○"
"""Signs of a language's cells: the fewest tokens, no significant difference from it, and not tested."""
LEGEND = (
    f"{BEST} fewest tokens of the language, {EQUAL} no significant difference from it, {UNTESTED} not tested; "
    "the others are significantly worse."
)
NO_VALUE = "–"
FEWEST = "fewest tokens"
SIGNS = {FEWEST: BEST, BETTER: "↑", WORSE: "↓", NO_DIFFERENCE: EQUAL, NOT_TESTED: UNTESTED}
"""Signs of verdicts in LaTeX, where words are too wide."""


@dataclass(frozen=True)
class RankingTable:
    """A table in print.

    Attributes:
        caption: subject of the table.
        head: names of the columns.
        rows: cells, one list for each row.
        text_columns: numbers of the columns that are aligned to the left.
        notes: sentences below the table.
        verdicts: number of the column of verdicts; None if there is none. Default: None.
    """

    caption: str
    head: list[str]
    rows: list[list[str]]
    text_columns: frozenset[int]
    notes: list[str]
    verdicts: int | None = None


def ranking_tables(rows: Sequence[Row], source: str, size: str = "") -> list[RankingTable]:
    """Return the tables of a ranking: of all documents, by language, and of premiums.

    Args:
        rows: rows of :func:`tokbench.inspection.comparison.ranking.ranking_rows`.
        source: description of the documents, such as the name of their file.
        size: vocabulary size, for captions (default: none).
    """
    at = f", size {size}" if size else ""
    total = [row for row in rows if row["language"] is None]
    by_language = [row for row in rows if row["language"] is not None]
    order = [row["name"] for row in sorted(total, key=_place)]
    tables = list(_tables_of_all(sorted(total, key=_place), total[0]["name"], source + at))
    if by_language:
        tables.append(_by_language(by_language, order, f"Bytes per token by language{at}", _bytes_per_token, [LEGEND]))
    if any(row["premium"] is not None for row in by_language):
        others = {row["language"] for row in by_language if row["premium"] != 1}
        reference = next(row["language"] for row in by_language if row["language"] not in others)
        caption = f"Premium by language: tokens relative to those of the same text in {reference}{at}"
        tables.append(_by_language(by_language, order, caption, _premium, []))
    return tables


def _place(row: Row) -> tuple[bool, int, str]:
    """Return the place of a tokenizer: tokenizers that lose text are last."""
    return bool(row["changed"]), row["tokens"], row["name"]


def _tables_of_all(rows: Sequence[Row], first: str, source: str) -> Iterator[RankingTable]:
    """Yield the table of all documents, and that of differences from the first tokenizer if it is not the best.

    One table with both differences would be wider than a page and most terminals.
    """
    best = next((row["name"] for row in rows if row.get("verdict_best", NOT_TESTED) is None), None)
    suffix, other = ("", first) if best is None else ("_best", best)
    labels = _labels([row["pretokenization"] for row in rows])
    cells = []
    for row, label in zip(rows, labels, strict=True):
        size = NO_VALUE if row["size"] is None else f"{row['size']:,}"
        per_token = NO_VALUE if row["bytes_per_token"] is None else format_value(row["bytes_per_token"], "real", 3)
        start = [row["name"], size, label, f"{row['tokens']:,}", per_token]
        cells.append([*start, *_difference(row, suffix, other)])
    documents = max(row["documents"] or 0 for row in rows)
    caption = f"Tokens of {pluralise(documents, 'document')}: {source}"
    head = ["", "size", "pre-tokenizer", "tokens", "bytes/token", *_head(other)]
    further = best not in (None, first)
    notes = _notes(rows, [suffix, ""] if further else [suffix])
    yield RankingTable(caption, head, cells, frozenset({0, 2, 7}), notes, verdicts=7)
    if further:
        cells = [[row["name"], *_difference(row, "", first)] for row in rows]
        caption = f"Tokens relative to those of {first}"
        yield RankingTable(caption, ["", *_head(first)], cells, frozenset({0, 3}), [], verdicts=3)


def _head(name: str) -> list[str]:
    """Return the heads of the columns of :func:`_difference`."""
    return [f"{MINUS} {name}", "95 % interval", "verdict"]


def _labels(labels: Sequence[str]) -> list[str]:
    """Return labels of pre-tokenizers: a long one without its options, unless two would then be equal."""
    without = [label.partition(" (")[0] if len(label) > LONGEST_LABEL else label for label in labels]
    distinct = len(set(without)) == len(set(labels))
    return [shortened(label, LONGEST_LABEL) for label in (without if distinct else labels)]


def _difference(row: Row, suffix: str, name: str | None) -> list[str]:
    """Return difference, interval and verdict of a row against another tokenizer."""
    if row["name"] == name:
        return [NO_VALUE, "", FEWEST if suffix else ""]
    difference, low, high = (row[f"{key}{suffix}"] for key in ("difference", "low", "high"))
    interval = "" if low is None else f"{_percent(low)} to {_percent(high)}"
    return [NO_VALUE if difference is None else f"{_percent(difference)} %", interval, row[f"verdict{suffix}"] or ""]


def _percent(value: float) -> str:
    return ("+" if value > 0 else "") + format_value(value, "percent", 1)


def _notes(rows: Sequence[Row], suffixes: Sequence[str]) -> list[str]:
    """Return sentences on what differs between the tokenizers, on reasons without a test, and on the rule."""
    notes = []
    differ = [
        what
        for what, key in (("vocabulary size", "size"), ("pre-tokenizer", "pretokenization"))
        if len({row[key] for row in rows}) > 1
    ]
    if differ:
        cause = "; a larger vocabulary alone needs fewer tokens" if "vocabulary size" in differ else ""
        notes.append(f"The tokenizers differ in {' and '.join(differ)}{cause}.")
    notes += [
        f"{row['name']} {LOSSY} ({row['changed']:,} of {pluralise(row['documents'], 'document')}), so its tokens are "
        "not ranked."
        for row in rows
        if row["changed"]
    ]
    reasons = {
        in_full(row[f"reason{suffix}"]).removeprefix(f"{NOT_TESTED}: ")
        for row in rows
        for suffix in suffixes
        if row[f"reason{suffix}"] and not row["changed"] and LOSSY not in row[f"reason{suffix}"]
    }
    notes += [f"Not tested: {reason}." for reason in sorted(reasons)]
    if any(row[f"holm{suffix}"] is not None for row in rows for suffix in suffixes):
        notes.append(f"Better and worse: p ≤ {ALPHA} after Holm's correction for all pairs.")
    return notes


def _by_language(
    rows: Sequence[Row], names: Sequence[str], caption: str, cell: Callable[[Row], str], notes: list[str]
) -> RankingTable:
    """Return a table with a row for each language and a column for each tokenizer."""
    values = {(row["language"], row["name"]): row for row in rows}
    languages = sorted({row["language"] for row in rows})
    cells = []
    for language in languages:
        documents = max(values[language, name]["documents"] or 0 for name in names)
        cells.append([language, f"{documents:,}", *(cell(values[language, name]) for name in names)])
    return RankingTable(caption, ["", "documents", *names], cells, frozenset({0}), notes)


def _bytes_per_token(row: Row) -> str:
    if row["bytes_per_token"] is None:
        return NO_VALUE
    verdict = row.get("verdict_best", NOT_TESTED)
    sign = {None: BEST, NO_DIFFERENCE: EQUAL, NOT_TESTED: UNTESTED}.get(verdict, " ")
    return f"{format_value(row['bytes_per_token'], 'real', 2)} {sign}"


def _premium(row: Row) -> str:
    return NO_VALUE if row["premium"] is None else format_value(row["premium"], "real", 2)


def tables_text(tables: Sequence[RankingTable]) -> str:
    """Return tables as text for a terminal."""
    return "\n".join(map(_text, tables))


def _text(table: RankingTable) -> str:
    rows = [table.head, *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [table.caption]
    for row in rows:
        cells = (
            cell.ljust(width) if place in table.text_columns else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append(f"  {'  '.join(cells)}".rstrip())
    return "\n".join([*lines, *(f"  {note}" for note in table.notes)]) + "\n"


def tables_markdown(tables: Sequence[RankingTable]) -> str:
    """Return tables in Markdown, each with its caption above and its notes below."""
    return "\n".join(map(_markdown, tables))


def _markdown(table: RankingTable) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.strip().replace('|', chr(92) + '|') for cell in cells)} |"

    rules = ("---" if place in table.text_columns else "---:" for place in range(len(table.head)))
    lines = [f"**{table.caption}**", "", line(table.head), line(rules), *map(line, table.rows)]
    return "\n".join([*lines, "", *table.notes, *[""] * bool(table.notes)])


def tables_latex(tables: Sequence[RankingTable]) -> str:
    """Return tables as LaTeX environments ``table``. They need the packages ``adjustbox`` and ``booktabs``."""
    return "\n".join(map(_latex, tables))


def _latex(table: RankingTable) -> str:
    from tokbench.report.typeset import latex

    columns = "".join("l" if place in table.text_columns else "r" for place in range(len(table.head)))
    head, rows, notes = table.head, table.rows, table.notes
    # Verdicts are signs, with a key in the caption.
    if (place := table.verdicts) is not None:
        head = [*head[:place], "", *head[place + 1 :]]
        verdicts = {row[place]: SIGNS.get(row[place], "") for row in rows}
        rows = [[*row[:place], verdicts[row[place]], *row[place + 1 :]] for row in rows]
        notes = [*notes, ", ".join(f"{verdicts[name]} {name}" for name in SIGNS if name in verdicts) + "."]

    def line(cells: Iterable[str]) -> str:
        return "  " + " & ".join(latex(cell.strip()) for cell in cells) + r" \\"

    return "\n".join(
        [
            "% Packages: adjustbox, booktabs",
            r"\begin{table}",
            r"  \centering\small",
            rf"  \caption{{{latex(' '.join([f'{table.caption}.', *notes]))}}}",
            r"  \begin{adjustbox}{max width=\linewidth}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"  \toprule",
            line(head),
            r"  \midrule",
            *map(line, rows),
            r"  \bottomrule",
            r"  \end{tabular}",
            r"  \end{adjustbox}",
            r"\end{table}",
            "",
        ]
    )


def rows_csv(rows: Sequence[Row]) -> str:
    """Return the rows of a ranking as CSV, unrounded; empty cells have no value."""
    from tokbench.io.tables import guard_cell

    output = io.StringIO()
    writer = csv.DictWriter(output, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: guard_cell(value) if isinstance(value, str) else value for key, value in row.items()})
    return output.getvalue()
