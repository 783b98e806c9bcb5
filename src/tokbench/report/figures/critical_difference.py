"""Critical-difference diagram (Demsar 2006, figure 1): average ranks on a line, bars over those without a significant
difference."""

from collections.abc import Mapping
from itertools import count
from math import ceil, floor

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tokbench.report.figures.style import FULL, GREY, INK, RULE, Style, fix_layout, house_style, new_figure
from tokbench.tidy import many

_LINE = 0.16
_BAR = 0.09
_TOP = 0.5
_LETTER = 0.056
"""Width that a letter takes, in inches."""
_NUMBER = 0.2
"""Width that a number of the scale needs, in inches."""


def draw(
    ranks: Mapping[str, float],
    critical: float,
    styles: Mapping[str, Style],
    *,
    of: int | None = None,
    width: float = FULL,
) -> Figure:
    """Variants by average rank, the best to the left; the better half is named at the left, the rest at the right.

    Args:
        ranks: variant -> average rank, 1 the best possible.
        critical: difference of average ranks above which two variants differ significantly; a bar joins the others.
        styles: each variant's colour.
        of: how many variants were ranked, where those drawn are the first of them; the scale then spans these alone.
        width: inches.
    """
    order = sorted(ranks, key=lambda variant: (ranks[variant], variant))
    groups = cliques(ranks, critical)
    half = -(-len(order) // 2)
    below = 0.12 + _BAR * len(groups)
    height = _TOP + below + _LINE * (half + 0.5)
    with house_style():
        figure = new_figure(width, height + 0.1)
        axes = figure.subplots()
        axes.set_axis_off()
        some = of is not None and of > len(order)
        low, high = (floor(min(ranks.values())), ceil(max(ranks.values()))) if some else (1, max(len(order), 2))
        axes.set_xlim(low, high)
        axes.set_ylim(height - _TOP, -_TOP)
        names = sum(max(map(len, side), default=0) + 7 for side in (order[:half], order[half:]))
        _scale(axes, low, max(high, low + 1), critical, width - _LETTER * names)
        for level, group in enumerate(groups, 1):
            ends = [ranks[group[0]], ranks[group[-1]]]
            axes.plot(ends, [_BAR * level] * 2, color=INK, lw=2.2, solid_capstyle="round", zorder=3)
        for place, variant in enumerate(order):
            left = place < half
            row = place if left else len(order) - 1 - place
            down = below + _LINE * (row + 0.5)
            edge = 0.0 if left else 1.0
            (line,) = axes.plot([ranks[variant]] * 2, [0, down], color=styles[variant].colour, lw=0.8, zorder=2)
            figure.add_tooltip(line, variant, f"{variant}: average rank {ranks[variant]:.2f}")
            axes.annotate(
                f"{variant}  {ranks[variant]:.2f}" if left else f"{ranks[variant]:.2f}  {variant}",
                (ranks[variant], down),
                xytext=(edge - 0.015 if left else edge + 0.015, down),
                textcoords=("axes fraction", "data"),
                ha="right" if left else "left",
                va="center",
                fontsize=7,
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "lw": 0.8, "color": styles[variant].colour, "shrinkA": 1, "shrinkB": 0},
            )
        return fix_layout(figure)


def _scale(axes: Axes, low: int, high: int, critical: float, room: float) -> None:
    """The line of ranks, with numbers as far as ``room`` inches hold them, and above it the critical difference."""
    axes.plot([low, high], [0, 0], color=GREY, lw=0.8)
    step = max((high - low) // many.EVERY_PAIR_UP_TO, 1)
    numbers = max(int(room / _NUMBER), 2)
    told = next(every for every in count(step, step) if (high - low) // every < numbers)
    for rank in range(low, high + 1, step):
        axes.plot([rank, rank], [0, -0.05], color=GREY, lw=0.6)
        if (rank - low) % told == 0:
            axes.text(rank, -0.08, str(rank), ha="center", va="bottom", fontsize=7)
    end = min(low + critical, high)
    axes.plot([low, end], [-0.3, -0.3], color=INK, lw=0.8)
    for edge in (low, end):
        axes.plot([edge, edge], [-0.27, -0.33], color=INK if edge == low or end == low + critical else RULE, lw=0.8)
    axes.text((low + end) / 2, -0.34, f"critical difference {critical:.2f}", ha="center", va="bottom", fontsize=7)


def cliques(ranks: Mapping[str, float], critical: float) -> list[list[str]]:
    """The largest runs of variants, by average rank, whose ends lie within the critical difference of each other.

    Returns:
        Runs of two or more, none within another, the best first.
    """
    order = sorted(ranks, key=lambda variant: (ranks[variant], variant))
    found: list[list[str]] = []
    end = 0
    for start, variant in enumerate(order):
        last = max(i for i in range(start, len(order)) if ranks[order[i]] - ranks[variant] <= critical)
        if last > start and last > end:
            found.append(order[start : last + 1])
            end = last
    return found
