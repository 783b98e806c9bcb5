"""Paired differences with their intervals, one row a comparison."""

from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import FULL, GREY, INK, OKABE_ITO, fix_layout, house_style, new_figure
from tokbench.report.numbers import MINUS

MARKS = "a mark is hollow where the interval includes zero, and a cross where the difference is not tested"
"""How to read the marks of :func:`draw`, for captions."""


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        name: the variant that is compared.
        mean: mean difference.
        interval: 95 % interval of it; None where there is none.
        told: text at the right.
        tested: whether the difference is tested for significance.
    """

    name: str
    mean: float
    interval: tuple[float, float] | None
    told: str
    tested: bool = True


def draw(
    rows: Sequence[Row], xlabel: str, *, seen_from: float | None = None, heading: str = "", width: float = FULL
) -> Figure:
    """A dot and a line per comparison; hollow where the interval includes zero, a cross where nothing is tested.

    Args:
        rows: from top to bottom.
        xlabel: what differs, with its unit.
        seen_from: the difference that a test could have seen, shaded up to it on both sides of zero.
        heading: above what is told at the right.
        width: inches.
    """
    with house_style():
        figure = new_figure(width, 0.7 + 0.17 * len(rows))
        axes = figure.subplots()
        if seen_from is not None:
            axes.axvspan(-seen_from, seen_from, color=GREY, alpha=0.12, lw=0, zorder=0)
        axes.axvline(0, color=GREY, lw=0.8, zorder=1)
        for place, row in enumerate(rows):
            clear = row.interval is not None and not row.interval[0] <= 0 <= row.interval[1]
            if row.interval is not None:
                axes.plot(row.interval, [place, place], color=OKABE_ITO[0], lw=1.2, zorder=2)
            fill = OKABE_ITO[0] if clear else "white"
            sign = "o" if row.tested else "x"
            [mark] = axes.plot([row.mean], [place], marker=sign, ms=4, mec=OKABE_ITO[0], mfc=fill, mew=1.0, zorder=3)
            figure.add_tooltip(mark, row.name, f"{row.name}: {_said(row)}, {row.told}; {xlabel}")
            axes.annotate(
                row.told, (1.01, place), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=INK,
                annotation_clip=False,
            )  # fmt: skip
        if heading:
            axes.annotate(
                heading, (1.01, -0.9), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=GREY,
                annotation_clip=False,
            )  # fmt: skip
        axes.set_yticks(range(len(rows)), [row.name for row in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.set_xlabel(xlabel, loc="right")
        return fix_layout(figure)


def _said(row: Row) -> str:
    """The difference and its interval in three digits."""
    mean, *bounds = (f"{value:.3g}".replace("-", MINUS) for value in (row.mean, *(row.interval or ())))
    return f"{mean} ({' to '.join(bounds)})" if bounds else mean
