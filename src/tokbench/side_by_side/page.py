"""Two runs side by side, as a page that needs nothing but itself."""

from html import escape
from pathlib import Path

from tokbench.atomic import atomic_file
from tokbench.side_by_side.comparison import JUDGEMENTS, Comparison
from tokbench.side_by_side.told import HEADS, MEANINGS, row, sources, summary

STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
.scrolls { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid #8884; vertical-align: top; }
th:nth-child(-n+3), td:nth-child(-n+3) { text-align: left; }
summary { cursor: pointer; font-weight: 600; }"""
OPEN = 50
"""Changes up to which a table is open at first."""


def write_page(found: Comparison, path: Path) -> None:
    """Write the page, whole or not at all."""
    with atomic_file(path) as partial:
        partial.write_text(page(found), encoding="utf-8", errors="backslashreplace")


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
                _table([row(change) for change in changes]),
                "</details>",
            ]
    body = "\n".join(parts)
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n"
        "</html>\n"
    )


def _table(rows: list[list[str]]) -> str:
    head = "".join(f'<th scope="col">{escape(cell)}</th>' for cell in HEADS)
    body = "\n".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in one)}</tr>" for one in rows)
    return (
        '<div class="scrolls" tabindex="0" role="region" aria-label="changes"><table>\n'
        f"<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody>\n</table></div>"
    )
