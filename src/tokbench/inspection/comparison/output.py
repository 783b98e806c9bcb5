"""Output of run comparisons: text for a terminal, a self-contained HTML page, and JSON (schema: docs/programs.md)."""

import textwrap
from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from string import ascii_uppercase
from typing import Any

from tokbench.errors import shortened
from tokbench.inspection.comparison.runs import Both, Change, RunComparison, RunDifferences
from tokbench.io.html import html_page, html_table
from tokbench.report.wording import MINUS, fitting_decimals, format_value, join_some, pluralise

FORMAT = 2
"""Version of the JSON schema; incremented if a key changes its meaning or is removed."""
SHOWN_CHANGES = 20
"""Default number of changes listed for each table."""
OPEN_CHANGES = 50
"""Maximum number of changes of a table that the page shows without a click."""
SHOWN_NAMES = 12
"""Maximum number of names in a sentence."""
SHOWN_CHECKSUM = 12
"""Number of characters of a checksum that are shown."""
WIDTH = 110
MAX_CELL = 80
"""Maximum number of characters of a cell in the terminal."""
TEXT_COLUMNS = 2
"""Number of left-aligned columns."""
MISSING = "–"


def summary(comparison: RunComparison, letter: str = "B") -> list[str]:
    """Return sentences on the values that differ, and on the rows and tables of only one run.

    Args:
        comparison: the comparison.
        letter: name of the second run (default: B). The first is A.
    """
    changed = len(comparison.changes)
    cells = pluralise(comparison.same + changed, "common value")
    if not comparison.same + changed:
        first = "The runs have no common value."
    elif not changed:
        first = f"All {cells} are equal."
    else:
        first = f"Of {cells}, {changed:,} {'differs' if changed == 1 else 'differ'}."
    return [first, *_only(comparison.only_a, "A"), *_only(comparison.only_b, letter)]


def _only(only: RunDifferences, letter: str) -> list[str]:
    lines = []
    if only.rows:
        lines.append(f"Only {letter} has {pluralise(len(only.rows), 'row')} of the common tables.")
    if only.tables:
        noun = "table" if len(only.tables) == 1 else "tables"
        lines.append(f"Only {letter} has the {noun} {join_some(only.tables, SHOWN_NAMES)}.")
    for column, names in only.values.items():
        lines.append(f"Only {letter} has {column.replace('_', ' ')}: {join_some(names, SHOWN_NAMES)}.")
    return lines


def sources(comparison: RunComparison, letter: str = "B") -> list[str]:
    """Return a line for each difference in versions and corpora, and lines on the tokenizers that differ.

    Args:
        comparison: the comparison.
        letter: name of the second run (default: B). The first is A.
    """
    lines = [f"{name}: A {a or 'none'}, {letter} {b or 'none'}" for name, (a, b) in comparison.versions.items()]
    if not comparison.a.versions and not comparison.b.versions:
        lines.append("Neither run has a record of its versions.")
    for split, (a, b) in comparison.corpora.items():
        lines.append(f"corpus {split}: A {a[:SHOWN_CHECKSUM] or 'none'}, {letter} {b[:SHOWN_CHECKSUM] or 'none'}")
    for names, text in (
        (
            [name for name, pair in comparison.tokenizers.items() if all(pair)],
            "with different vocabularies or settings",
        ),
        ([name for name, pair in comparison.tokenizers.items() if not all(pair)], "in only one of the runs"),
    ):
        if names:
            lines.append(f"{pluralise(len(names), 'tokenizer')} {text}: {join_some(names, SHOWN_NAMES)}")
    return lines or ["Versions, corpora and tokenizers are the same."]


def comparisons_text(comparisons: Sequence[RunComparison], *, every: bool = False) -> str:
    """Return text on one or more runs, each compared with the first; ``every`` lists all changes."""
    lines = [f"A: {comparisons[0].a.name}"]
    for letter, comparison in _lettered(comparisons):
        lines += [f"{letter}: {comparison.b.name}", ""]
        lines += [part for line in summary(comparison, letter) for part in textwrap.wrap(line, WIDTH)]
        lines.append("")
        for line in sources(comparison, letter):
            lines += textwrap.wrap(line, WIDTH, subsequent_indent="  ")
        for table, changes in _by_table(comparison):
            shown = changes if every else changes[:SHOWN_CHANGES]
            lines += ["", f"{table}: {pluralise(len(changes), 'change')}"]
            lines += _aligned([_head(letter), *map(_row, shown)])
            if len(changes) > len(shown):
                lines.append(f"  and {pluralise(len(changes) - len(shown), 'more change')}; --all lists every one")
        lines.append("")
    return "\n".join(lines)


def comparisons_page(comparisons: Sequence[RunComparison]) -> str:
    """Return the HTML page on one or more runs, each compared with the first."""
    title = " and ".join([comparisons[0].a.name, *(comparison.b.name for comparison in comparisons)])
    parts = [f"<h1>{escape(title)}</h1>", f"<p>A is {escape(comparisons[0].a.name)}. Intervals are of 95 %.</p>"]
    for letter, comparison in _lettered(comparisons):
        parts.append(f"<h2>{letter} is {escape(comparison.b.name)}</h2>")
        parts += [f"<p>{escape(line)}</p>" for line in summary(comparison, letter)]
        parts.append(f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in sources(comparison, letter))}</ul>")
        for table, changes in _by_table(comparison):
            rows = _without_empty_columns([_head(letter), *map(_row, changes)])
            parts += [
                f"<details{' open' * (len(changes) <= OPEN_CHANGES)}>",
                f"<summary>{table}: {pluralise(len(changes), 'change')}</summary>",
                html_table(f"changes of {table}", rows, TEXT_COLUMNS),
                "</details>",
            ]
    return html_page(title, parts)


def _lettered(comparisons: Sequence[RunComparison]) -> list[tuple[str, RunComparison]]:
    """Return each comparison with the letter of its second run: B, C and so on, or a number after Z."""
    letters = [*ascii_uppercase[1:], *(str(number) for number in range(27, len(comparisons) + 2))]
    return list(zip(letters, comparisons, strict=False))


def _by_table(comparison: RunComparison) -> list[tuple[str, list[Change]]]:
    """Return the changes of each table."""
    changes = sorted(comparison.changes, key=lambda change: change.table.name)
    return [(name, list(group)) for name, group in groupby(changes, lambda change: change.table.name)]


def _head(letter: str) -> list[str]:
    return ["row", "value", "A", letter, f"{letter} {MINUS} A", "interval of A", f"interval of {letter}"]


def _row(change: Change) -> list[str]:
    """Return a change as cells of text, in the order of the head."""
    kind = change.column.kind
    values = [value for value in (change.a, change.b, change.difference) if value]
    decimals = change.column.decimals or 2
    if kind != "percent":
        decimals = max(fitting_decimals(values), fitting_decimals([min(map(abs, values))])) if values else 0

    def text(value: float | None, sign: str = "") -> str:
        if value is None:
            return MISSING
        return sign * (value > 0) + format_value(value, "real" if kind == "mixed" else kind, decimals)

    intervals = [
        MISSING if interval is None else f"{text(interval[0])} to {text(interval[1])}"
        for interval in (change.interval_a, change.interval_b)
    ]
    row = ", ".join(_named(name, value) for name, value in change.key.items())
    return [row, change.column.name, text(change.a), text(change.b), text(change.difference, "+"), *intervals]


def _named(name: str, value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}" if name == "size" else f"{name.replace('_', ' ')} {value:,}"
    return str(value)


def _without_empty_columns(rows: list[list[str]]) -> list[list[str]]:
    """Return rows, the head first, without columns of only dashes."""
    shown = [place for place, column in enumerate(zip(*rows, strict=True)) if set(column[1:]) != {MISSING}]
    return [[row[place] for place in shown] for row in rows]


def _aligned(rows: list[list[str]]) -> list[str]:
    rows = [[shortened(cell, MAX_CELL) for cell in row] for row in _without_empty_columns(rows)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        texts = map(str.ljust, row[:TEXT_COLUMNS], widths)
        numbers = map(str.rjust, row[TEXT_COLUMNS:], widths[TEXT_COLUMNS:])
        lines.append(f"  {'  '.join([*texts, *numbers])}".rstrip())
    return lines


def comparisons_json(comparisons: Sequence[RunComparison]) -> dict[str, Any]:
    """Return a comparison of two runs as a JSON object; of more runs, an object with the list of comparisons."""
    if len(comparisons) == 1:
        return _comparison_json(comparisons[0])
    return {
        "format": FORMAT,
        "runs": [comparisons[0].a.name, *(comparison.b.name for comparison in comparisons)],
        "differs": any(comparison.differs for comparison in comparisons),
        "comparisons": [_comparison_json(comparison) for comparison in comparisons],
    }


def _comparison_json(comparison: RunComparison) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "a": comparison.a.name,
        "b": comparison.b.name,
        "differs": comparison.differs,
        "same": comparison.same,
        "versions": _pairs(comparison.versions),
        "corpora": _pairs(comparison.corpora),
        "tokenizers": _pairs(comparison.tokenizers),
        "only": {"a": _only_json(comparison.only_a), "b": _only_json(comparison.only_b)},
        "changes": [_change_json(change) for change in comparison.changes],
    }


def _pairs(pairs: Mapping[str, Both]) -> list[dict[str, str | None]]:
    return [{"of": name, "a": a or None, "b": b or None} for name, (a, b) in pairs.items()]


def _only_json(only: RunDifferences) -> dict[str, Any]:
    return {
        "tables": list(only.tables),
        "values": [{"column": column, "values": list(names)} for column, names in only.values.items()],
        "rows": [{"table": table.name, "key": dict(key)} for table, key in only.rows],
    }


def _change_json(change: Change) -> dict[str, Any]:
    (a_low, a_high), (b_low, b_high) = (interval or (None, None) for interval in (change.interval_a, change.interval_b))
    return {
        "table": change.table.name,
        "key": dict(change.key),
        "column": change.column.name,
        "a": change.a,
        "b": change.b,
        "difference": change.difference,
        "a_low": a_low,
        "a_high": a_high,
        "b_low": b_low,
        "b_high": b_high,
    }
