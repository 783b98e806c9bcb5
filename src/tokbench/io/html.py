"""Small self-contained HTML pages of tables, without scripts and links. The report has templates of its own."""

from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path

from tokbench.io.atomic import atomic_file

STYLE = """\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
h1, p, li, code, td { overflow-wrap: anywhere; }
.scrolls { overflow-x: auto; }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .8rem .2rem 0; text-align: right; border-bottom: 1px solid #8884; vertical-align: top; }
th.text, td.text { text-align: left; }
summary { cursor: pointer; font-weight: 600; }"""


def html_table(label: str, rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """Return a table of plain text; the label is for screen readers.

    Args:
        label: name of the table.
        rows: cells of each row; the first row has the names of the columns.
        text_columns: number of columns at the left that are aligned to the left (default: 1).
    """
    head, *others = rows
    sides = [' class="text"' * (place < text_columns) for place in range(len(head))]
    heads = "".join(f'<th scope="col"{side}>{escape(cell)}</th>' for cell, side in zip(head, sides, strict=True))
    body = "\n".join(
        f"<tr>{''.join(f'<td{side}>{escape(cell)}</td>' for cell, side in zip(row, sides, strict=True))}</tr>"
        for row in others
    )
    return (
        f'<div class="scrolls" tabindex="0" role="region" aria-label="{escape(label)}"><table>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table></div>"
    )


def html_page(title: str, parts: Iterable[str], style: str = "") -> str:
    """Return a page.

    Args:
        title: text of its title.
        parts: elements of its content, as HTML.
        style: further rules of CSS (default: none).
    """
    body = "\n".join(filter(None, parts))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="generator" content="Tokbench">\n'
        f"<title>{escape(title)}</title>\n<style>\n{STYLE}\n{style}\n</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def write_html(page: str, path: Path) -> None:
    """Write a page atomically. Characters that UTF-8 cannot encode are replaced by escapes."""
    with atomic_file(path) as partial:
        partial.write_text(page, encoding="utf-8", errors="backslashreplace")
