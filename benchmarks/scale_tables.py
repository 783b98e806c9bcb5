"""The tables of docs/scale.md: what stages took of each size, and of their bounds."""

import math
from collections.abc import Callable

from performance import table
from scale_fit import Fit
from scale_summary import STAGES, Growth, Rows, Taken, growths, sizes, taken


def number(value: float) -> str:
    """Two or three digits."""
    if math.isnan(value):
        return "–"
    if 0 < value < 0.01:
        return "<0.01"
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2g}"


def power(fit: Fit) -> str:
    """An exponent with its interval."""
    if abs(fit.exponent) < 0.005 and not abs(fit.high) >= 0.005:
        return "0"
    if math.isnan(fit.low):
        return f"{fit.exponent:.2f} (assumed)" if fit.exponent == 1 else f"{fit.exponent:.2f}"
    interval = f" ({fit.low:.2f} to {fit.high:.2f})"
    return f"{fit.exponent:.2f}{interval}"


def ranged(value: float, low: float, high: float) -> str:
    """A number with its range, where that is one."""
    ends = number(low), number(high)
    return number(value) if ends[0] == ends[1] else f"{number(value)} ({ends[0]} to {ends[1]})"


def volume(size: float) -> str:
    """Bytes for a person."""
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 1000:
            return f"{number(size)} {unit}"
    return f"{number(size / 1000)} TB"


def measured(rows: Rows, shown: Callable[[Taken], str], fitted: Callable[[Growth], str], *heads: str) -> str:
    """A table of stages by sizes."""
    found, every = sizes(rows), growths(rows)
    lines = []
    for stage in STAGES:
        if stage.name not in every:
            continue
        cells = [taken(rows, stage, size) for size in found]
        lines.append(
            [
                stage.name,
                *("–" if one is None else "left out" if one.error else shown(one) for one in cells),
                fitted(every[stage.name]),
            ]
        )
    return table(("stage", *(f"{size:g} GB" for size in found), *heads), lines)


def bounds(rows: Rows) -> str:
    """Memory beside what the rules give."""
    lines = []
    for stage in STAGES:
        cells = [one for size in sizes(rows) if (one := taken(rows, stage, size)) and not one.error]
        if cells:
            worst = max(cells, key=lambda one: one.share)
            within = "yes" if worst.share <= 1 else "**no**"
            lines.append(
                [stage.name, f"{cells[-1].bound_mb:,}", f"{worst.share:.0%}", f"{worst.gigabytes:g} GB", within]
            )
    return table(("stage", "bound of the largest, MB", "most of a bound", "at", "within"), lines)


def left_out(rows: Rows) -> str:
    """Why there are no numbers, a line each."""
    told = dict.fromkeys(
        f"{row['stage']} at {float(row['gigabytes']):g} GB: {row['error']}." for row in rows if row["error"]
    )
    return "\n".join(f"- {line}" for line in told)
