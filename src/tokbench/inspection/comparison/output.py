"""Output of run comparisons: text for a terminal, a self-contained HTML page, and JSON (schema: docs/programs.md)."""

import textwrap
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from tokbench.errors import shortened
from tokbench.inspection.comparison.cells import BEYOND, EXACT, SINGLE, UNTESTED, WITHIN, Change, Judgement
from tokbench.inspection.comparison.runs import (
    JUDGEMENTS,
    LEGEND,
    SAME,
    Both,
    Changed,
    RunComparison,
    Several,
    letters,
    sign,
)
from tokbench.io.atomic import atomic_file
from tokbench.report.wording import MINUS, fitting_decimals, join_some, pluralise, printed, probability
from tokbench.tabulation.table import Kind

MEANINGS: dict[Judgement, str] = {
    BEYOND: "the interval of the difference excludes zero, and p after Holm's correction is at most 0.05; if a table "
    "has only intervals of the values, these do not overlap",
    EXACT: "counts, which chance does not change as long as the text is the same",
    SINGLE: "one number of each run, without an interval",
    UNTESTED: "one training, or two; another seed can change the numbers",
    WITHIN: "not significant, may be due to chance",
}
HEADS = ("table", "cell", "number", "A", "B", f"B {MINUS} A", "interval", "n", "p, Holm")
CHECKSUM = 12
"""Number of characters of a checksum that are shown."""


def summary(found: RunComparison, letters: str = "AB") -> list[str]:
    """Summarise a comparison, one sentence per line; ``letters`` are the names of the two runs (default: AB)."""
    changed = {judgement: len(found.changes(judgement)) for judgement in MEANINGS}
    cells = found.same + sum(changed.values())
    if not cells:
        first = "The runs have no common cell."
    elif not sum(changed.values()):
        first = f"All {pluralise(cells, 'common cell')} are equal."
    else:
        sentences = [f"{number:,} changed beyond noise" for number in [changed[BEYOND]] if number]
        sentences += [f"{pluralise(number, 'count')} changed" for number in [changed[EXACT]] if number]
        sentences += [f"{pluralise(number, 'single number')} changed" for number in [changed[SINGLE]] if number]
        sentences += [f"{number:,} changed, not tested (too few trainings)" for number in [changed[UNTESTED]] if number]
        sentences += [f"{number:,} changed within noise" for number in [changed[WITHIN]] if number]
        first = f"Of {pluralise(cells, 'common cell')}, {', '.join(sentences)}; {found.same:,} are equal."
    lines = [first]
    for letter, number, tables, values in (
        (letters[0], found.alone[0], found.tables_a, found.values_a),
        (letters[1], found.alone[1], found.tables_b, found.values_b),
    ):
        if number:
            lines.append(f"Only {letter} has {pluralise(number, 'row')} of the common tables.")
        if tables:
            lines.append(f"Only {letter} has the {'table' if len(tables) == 1 else 'tables'} {join_some(tables, 12)}.")
        lines += [
            f"Only {letter} has {what.replace('_', ' ')}: {join_some(names, 12)}." for what, names in values.items()
        ]
    return lines


def sources(found: RunComparison, letters: str = "AB") -> list[str]:
    """List differences in versions, corpora and tokenizers, one per line."""
    lines = [f"{what}: {_both(pair, letters)}" for what, pair in found.versions.items()]
    if not found.a.versions and not found.b.versions:
        lines.append("Neither run has a record of its versions.")
    lines += [f"corpus {what}: {_both(pair, letters, short=True)}" for what, pair in found.corpora.items()]
    one_sided = [what for what, pair in found.tokenizers.items() if not all(pair)]
    other = [what for what, pair in found.tokenizers.items() if all(pair)]
    if other:
        lines.append(
            f"{pluralise(len(other), 'tokenizer')} with different vocabularies or settings: {join_some(other, 12)}"
        )
    if one_sided:
        lines.append(f"{pluralise(len(one_sided), 'tokenizer')} in only one of the runs: {join_some(one_sided, 12)}")
    return lines or ["Versions, corpora and tokenizers are the same."]


def _both(pair: Both, letters: str, *, short: bool = False) -> str:
    return ", ".join(
        f"{letter} {(one[:CHECKSUM] if short else one) or 'none'}" for letter, one in zip(letters, pair, strict=True)
    )


def row(change: Change) -> list[str]:
    """Return a change as cells of text, in the order of :data:`HEADS`."""
    kind = change.column.kind
    decimals = _decimals(change)
    values = [printed(value, kind, decimals) for value in (change.a, change.b)]
    difference = _signed(change.difference, kind, decimals)
    if change.low is not None and change.high is not None:
        interval = f"{_signed(change.low, kind, decimals)} to {_signed(change.high, kind, decimals)}"
    elif change.interval_a and change.interval_b:
        interval = " and ".join(
            f"{printed(low, kind, decimals)} to {printed(high, kind, decimals)}"
            for low, high in (change.interval_a, change.interval_b)
        )
    else:
        interval = "–"
    cell = ", ".join(_named(name, value) for name, value in change.where.items())
    n = "–" if change.n is None else f"{change.n:,}"
    p_value = "–" if change.holm is None else probability(change.holm)
    return [change.table.name, cell, change.column.name, *values, difference, interval, n, p_value]


def beside(changed: Changed) -> list[str]:
    """Return a cell of several runs as text: table, cell, column, first value, and each other value with its sign."""
    first = changed.first
    decimals = max(_decimals(change) for change in changed.by_run if change is not None)
    values = [
        SAME if change is None else f"{printed(change.b, change.column.kind, decimals)} {sign(change)}".rstrip()
        for change in changed.by_run
    ]
    cell = ", ".join(_named(name, value) for name, value in first.where.items())
    return [first.table.name, cell, first.column.name, printed(first.a, first.column.kind, decimals), *values]


def _named(name: str, value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}" if name == "size" else f"{name.replace('_', ' ')} {value:,}"
    return str(value)


def _decimals(change: Change) -> int:
    if change.column.kind == "percent":
        return change.column.decimals or 2
    ends: Sequence[float | None] = (change.a, change.b, change.difference, change.low, change.high)
    shown = [abs(one) for one in ends if one]
    return max(fitting_decimals(shown), fitting_decimals([min(shown)])) if shown else 0


def _signed(value: float, kind: Kind, decimals: int) -> str:
    text = printed(value, "real" if kind == "mixed" else kind, decimals)
    return ("+" if value > 0 else "") + text


MOST = 20
"""Default number of changes listed for each judgement."""
WIDTH = 110
LONGEST = 80
"""Maximum number of characters of a cell in the terminal."""
NAMES = 3
"""Number of left-aligned columns."""


def comparison_text(found: RunComparison, *, every: bool = False) -> str:
    """Format a comparison: summary, differences in provenance, changes by judgement; ``every`` lists all changes."""
    lines = [f"A: {found.a.name}", f"B: {found.b.name}", ""]
    lines += [part for line in summary(found) for part in textwrap.wrap(line, WIDTH)]
    lines += ["", *(part for line in sources(found) for part in textwrap.wrap(line, WIDTH, subsequent_indent="  "))]
    for judgement in JUDGEMENTS:
        if not (changes := found.changes(judgement)):
            continue
        shown = changes if every else changes[:MOST]
        head = f"Changed, {judgement}: {MEANINGS[judgement]}."
        lines += ["", *textwrap.wrap(head, WIDTH), *_aligned([list(HEADS), *map(row, shown)])]
        if len(changes) > len(shown):
            lines.append(f"  and {pluralise(len(changes) - len(shown), 'more change')}; --all lists every one")
    return "\n".join(lines) + "\n"


def several_text(found: Several, *, every: bool = False) -> str:
    """Format several runs: the summary of each against the first, then changed cells with a column per run."""
    names = letters(found)
    lines = [f"{letter}: {run.name}" for letter, run in zip(names, found.runs, strict=True)]
    for letter, one in zip(names[1:], found.comparisons, strict=True):
        sentences = [*summary(one, f"A{letter}"), *sources(one, f"A{letter}")]
        lines += ["", f"{letter} compared with A"]
        lines += [
            part
            for line in sentences
            for part in textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="  ")
        ]
    cells = found.cells()
    shown = cells if every else cells[: 2 * MOST]
    if cells:
        heads = ["table", "cell", "number", *names]
        lines += ["", *textwrap.wrap(LEGEND, WIDTH), *_aligned([heads, *map(beside, shown)])]
    if len(cells) > len(shown):
        lines.append(f"  and {pluralise(len(cells) - len(shown), 'more cell')}; --all lists every one")
    return "\n".join(lines) + "\n"


def _aligned(rows: list[list[str]]) -> list[str]:
    kept = [place for place, column in enumerate(zip(*rows, strict=True)) if set(column[1:]) != {"–"}]
    rows = [[shortened(one[place], LONGEST) for place in kept] for one in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  " + "  ".join(
            cell.ljust(width) if place < NAMES else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(one, widths, strict=True))
        ).rstrip()
        for one in rows
    ]  # fmt: skip


STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1, p, li { overflow-wrap: anywhere; }
.scrolls { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid #8884; vertical-align: top; }
th:nth-child(-n+3), td:nth-child(-n+3) { text-align: left; }
th:nth-child(2), td:nth-child(2) { position: sticky; left: 0; background: Canvas; overflow-wrap: anywhere; }
@media screen and (max-width: 45rem) {
  table { font-size: .85rem; }
  th, td { padding-right: .5rem; }
  td:nth-child(2) { min-width: 9rem; }
}
summary { cursor: pointer; font-weight: 600; }"""
OPEN = 50
"""Maximum number of changes of a table that is initially open."""


def write_page(text: str, path: Path) -> None:
    """Write a page atomically."""
    with atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")


def page(found: RunComparison) -> str:
    """Return the HTML page of a comparison."""
    title = f"{found.a.name} and {found.b.name}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>A is {escape(found.a.name)}, B is {escape(found.b.name)}. Differences are B {MINUS} A.</p>",
        "<h2>Changes</h2>",
        *(f"<p>{escape(line)}</p>" for line in summary(found)),
        "<h2>Versions, corpora and tokenizers</h2>",
        f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in sources(found))}</ul>",
    ]
    for judgement in JUDGEMENTS:
        if changes := found.changes(judgement):
            shown = "" if len(changes) > OPEN else " open"
            parts += [
                f"<h2>Changed, {judgement}</h2>",
                f"<p>{escape(MEANINGS[judgement][0].upper() + MEANINGS[judgement][1:])}.</p>",
                f"<details{shown}><summary>{len(changes):,} of {len(found.changes()):,} changes</summary>",
                _table(f"changes, {judgement}", [row(change) for change in changes]),
                "</details>",
            ]
    return _whole(title, parts)


def several_page(found: Several) -> str:
    """Return the HTML page of several runs."""
    names = letters(found)
    runs = [f"{letter} is {escape(run.name)}" for letter, run in zip(names, found.runs, strict=True)]
    title = f"{found.runs[0].name} and {len(found.comparisons)} others"
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{', '.join(runs)}. All are compared with A.</p>"]
    for letter, one in zip(names[1:], found.comparisons, strict=True):
        parts += [f"<h2>{letter} compared with A: {escape(one.b.name)}</h2>"]
        parts += [f"<p>{escape(line)}</p>" for line in summary(one, f"A{letter}")]
        parts += [f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in sources(one, f'A{letter}'))}</ul>"]
    if cells := found.cells():
        parts += ["<h2>Changes</h2>", f"<p>{escape(LEGEND)}</p>"]
        parts += [_table("changes", [beside(cell) for cell in cells], ("table", "cell", "number", *names))]
    return _whole(title, parts)


def _whole(title: str, parts: list[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="Tokbench">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


def _table(name: str, rows: list[list[str]], heads: Sequence[str] = HEADS) -> str:
    """Format rows as an HTML table, without columns of only dashes."""
    kept = [place for place in range(len(heads)) if any(one[place] != "–" for one in rows)]
    heads, rows = [heads[place] for place in kept], [[one[place] for place in kept] for one in rows]
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in one)}</tr>" for one in rows)
    return (
        f'<div class="scrolls" tabindex="0" role="region" aria-label="{name}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )


FORMAT = 1
"""Version of the schema; incremented if a key changes its meaning or is removed."""


def comparison_json(found: RunComparison) -> dict[str, Any]:
    """Return a comparison as a JSON object, with all changes and all rows of only one run."""
    return {
        "format": FORMAT,
        "a": found.a.name,
        "b": found.b.name,
        "differs": found.differs,
        "same": found.same,
        "changed": {judgement: len(found.changes(judgement)) for judgement in JUDGEMENTS},
        "versions": _pairs(found.versions),
        "corpora": _pairs(found.corpora),
        "tokenizers": _pairs(found.tokenizers),
        "only": {
            letter: {
                "tables": list(tables),
                "values": [{"column": column, "values": list(names)} for column, names in values.items()],
                "rows": [
                    {"table": one.table.name, "key": dict(zip(one.table.keys, key, strict=True))}
                    for one in found.tables
                    for key in (one.only_a if letter == "a" else one.only_b)
                ],
            }
            for letter, tables, values in (
                ("a", found.tables_a, found.values_a),
                ("b", found.tables_b, found.values_b),
            )
        },
        "changes": [_change(change) for change in found.changes()],
    }


def several_json(found: Several) -> dict[str, Any]:
    """Return the comparisons of several runs with the first as a JSON object."""
    return {
        "format": FORMAT,
        "runs": [run.name for run in found.runs],
        "differs": found.differs,
        "comparisons": [comparison_json(one) for one in found.comparisons],
    }


def _pairs(pairs: dict[str, Both]) -> list[dict[str, str | None]]:
    return [{"of": what, "a": a or None, "b": b or None} for what, (a, b) in pairs.items()]


def _change(change: Change) -> dict[str, Any]:
    of_a, of_b = (ends or (None, None) for ends in (change.interval_a, change.interval_b))
    return {
        "table": change.table.name,
        "key": change.where,
        "column": change.column.name,
        "judgement": change.judgement,
        "reason": change.reason or None,
        "a": change.a,
        "b": change.b,
        "difference": change.difference,
        "low": change.low,
        "high": change.high,
        "n": change.n,
        "p": change.p_value,
        "p_holm": change.holm,
        "a_low": of_a[0],
        "a_high": of_a[1],
        "b_low": of_b[0],
        "b_high": of_b[1],
    }
