"""Two runs side by side, as a page that needs nothing but itself."""

from collections.abc import Sequence
from html import escape
from pathlib import Path

from tokbench.atomic import atomic_file
from tokbench.side_by_side.several import LEGEND, Several, letters
from tokbench.side_by_side.told import HEADS, MEANINGS, beside, row, sources, summary
from tokbench.side_by_side.two_runs import JUDGEMENTS, Comparison

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
"""Changes up to which a table is open at first."""


def write_page(text: str, path: Path) -> None:
    """Write a page, whole or not at all."""
    with atomic_file(path) as partial:
        partial.write_text(text, encoding="utf-8", errors="backslashreplace")


def page(found: Comparison) -> str:
    """The page's text."""
    title = f"{found.a.name} and {found.b.name}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p>A is {escape(found.a.name)}, B is {escape(found.b.name)}. Differences are B less A.</p>",
        "<h2>What changed</h2>",
        *(f"<p>{escape(line)}</p>" for line in summary(found)),
        "<h2>What made them</h2>",
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
    """The text of the page of several runs."""
    names = letters(found)
    runs = [f"{letter} is {escape(run.name)}" for letter, run in zip(names, found.runs, strict=True)]
    title = f"{found.runs[0].name} and {len(found.comparisons)} others"
    parts = [f"<h1>{escape(title)}</h1>", f"<p>{', '.join(runs)}. All are compared with A.</p>"]
    for letter, one in zip(names[1:], found.comparisons, strict=True):
        parts += [f"<h2>{letter} beside A: {escape(one.b.name)}</h2>"]
        parts += [f"<p>{escape(line)}</p>" for line in summary(one, f"A{letter}")]
        parts += [f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in sources(one, f'A{letter}'))}</ul>"]
    if cells := found.cells():
        parts += ["<h2>What changed</h2>", f"<p>{escape(LEGEND)}</p>"]
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
    """The rows as a table, without columns that hold nothing but dashes."""
    kept = [place for place in range(len(heads)) if any(one[place] != "–" for one in rows)]
    heads, rows = [heads[place] for place in kept], [[one[place] for place in kept] for one in rows]
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in heads)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in one)}</tr>" for one in rows)
    return (
        f'<div class="scrolls" tabindex="0" role="region" aria-label="{name}"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )
