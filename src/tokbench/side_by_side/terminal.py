"""Two runs side by side, for a terminal."""

import textwrap

from tokbench.errors import shortened
from tokbench.report.wording import counted
from tokbench.side_by_side.several import LEGEND, Several, letters
from tokbench.side_by_side.told import HEADS, MEANINGS, beside, row, sources, summary
from tokbench.side_by_side.two_runs import JUDGEMENTS, Comparison

MOST = 20
"""Changes of a kind that are listed, unless all are asked for."""
WIDTH = 110
LONGEST = 80
"""Characters of a cell; the page and JSON have all of them."""
NAMES = 3
"""Columns of words; the others are of numbers."""


def comparison_text(found: Comparison, *, every: bool = False) -> str:
    """All of it: the answer, what made the two, then the changes by what they are, all of them where asked for."""
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
            lines.append(f"  and {counted(len(changes) - len(shown), 'more change')}; --all lists every one")
    return "\n".join(lines) + "\n"


def several_text(found: Several, *, every: bool = False) -> str:
    """Several runs beside the first: each one's answer, then the cells that differ, a column for each run."""
    names = letters(found)
    lines = [f"{letter}: {run.name}" for letter, run in zip(names, found.runs, strict=True)]
    for letter, one in zip(names[1:], found.comparisons, strict=True):
        told = [*summary(one, f"A{letter}"), *sources(one, f"A{letter}")]
        lines += ["", f"{letter} beside A"]
        lines += [
            part for line in told for part in textwrap.wrap(line, WIDTH, initial_indent="  ", subsequent_indent="  ")
        ]
    cells = found.cells()
    shown = cells if every else cells[: 2 * MOST]
    if cells:
        heads = ["table", "cell", "number", *names]
        lines += ["", *textwrap.wrap(LEGEND, WIDTH), *_aligned([heads, *map(beside, shown)])]
    if len(cells) > len(shown):
        lines.append(f"  and {counted(len(cells) - len(shown), 'more cell')}; --all lists every one")
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
