"""Pairwise p-values as a triangle of colours (figure 2 of "Tokenization Is More Than Compression")."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import log10

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tokbench.report.figures.style import BLACK, FULL, RULE, fix_layout, house_style, new_figure
from tokbench.report.numbers import probability

SIGNIFICANCE = 0.05
_FLOOR = 1e-6
_ROOM = 0.33
"""The least width of a cell, in inches, that p-values are written in."""
_COLOURS = colormaps["cividis"]
"""Even steps to every kind of colour vision (Nuñez, Anderton and Renslow, 2018)."""


def draw(p_values: Mapping[tuple[str, str], float | None], order: Sequence[str], *, width: float = FULL) -> Figure:
    """One cell per pair: the p-value that the column's variant, ranked higher, is better than the row's.

    Cells above 0.05, where the null cannot be rejected, are outlined in black; p-values are written in cells that
    have room for them; a pair without a p-value is crossed out.

    Args:
        p_values: (a, b) -> one-sided p that a is better than b, or None.
        order: variants by rank, the best first.
        width: inches, at most.
    """
    count = len(order)
    with house_style():
        letters = max(len(name) for name in order) + 4
        cells, room = count - 0.5, width - 0.15
        cell = min(0.46, max(room / (cells + 0.5 * letters), (room - letters * 0.06) / cells))
        type_size = min(7.0, 60 * cell)
        names = 0.15 + letters * type_size * 0.6 / 72
        figure = new_figure(min(width, names + cell * cells), cell * count + 0.45)
        axes = figure.subplots()
        for column, row in combinations(range(count), 2):
            better, worse = order[column], order[row]
            p = p_values.get((better, worse))
            shape = _cell(axes, column, row, p, written=cell >= _ROOM)
            how = "no p-value" if p is None else f"p = {probability(p)}"
            figure.add_tooltip(shape, "", f"{better} better than {worse}: {how}")
        shown = range(0, count - 1, 1 if cell > 0.12 else 2)
        axes.set_xticks(shown, [str(place + 1) for place in shown], fontsize=type_size)
        axes.set_yticks(range(count), [f"{name}  {place}" for place, name in enumerate(order, 1)], fontsize=type_size)
        axes.set_xlim(-0.5, count - 1)
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.set_xlabel("better variant, by rank", loc="right")
        if cell < _ROOM:
            _colour_key(axes)
        return fix_layout(figure)


def _shade(p: float) -> float:
    """Place on the colour scale: 0 at 1e-6 and below, 1 at p = 1, even in the logarithm."""
    return 1 - log10(max(p, _FLOOR)) / log10(_FLOOR)


def _cell(axes: Axes, column: int, row: int, p: float | None, *, written: bool) -> Rectangle:
    """Draw one pair; the patch that stands for it."""
    if p is None:
        crossed = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="xxxx", edgecolor=RULE, lw=0)
        axes.add_patch(crossed)
        return crossed
    shape = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=_COLOURS(_shade(p)), lw=0)
    axes.add_patch(shape)
    if p > SIGNIFICANCE:
        axes.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=BLACK, lw=1.0))
    if written:
        text = probability(p) if p >= 0.001 else "<0.001"
        colour = BLACK if _shade(p) > 0.5 else "#f8f8f8"
        axes.text(column, row, text, ha="center", va="center", fontsize=6, color=colour)
    return shape


def _colour_key(axes: Axes, steps: int = 36) -> None:
    """The key to the colours, in the corner that the triangle leaves empty."""
    key = axes.inset_axes((0.5, 0.9, 0.48, 0.035))
    for step in range(steps):
        key.add_patch(Rectangle((step / steps, 0), 1 / steps, 1, facecolor=_COLOURS((step + 0.5) / steps), lw=0))
    key.axvline(_shade(SIGNIFICANCE), color=BLACK, lw=1.0)
    key.set_xlim(0, 1)
    key.set_xticks([_shade(p) for p in (1e-6, 1e-4, 0.01, 1.0)], ["≤10⁻⁶", "", "0.01", "1"])
    key.set_yticks([])
    key.tick_params(labelsize=6, length=2)
    key.set_title("p; outlined above 0.05", fontsize=7)
    for spine in key.spines.values():
        spine.set_visible(False)
