"""Pairwise p-values as a triangle of colours (figure 2 of "Tokenization Is More Than Compression")."""

from collections.abc import Mapping, Sequence
from math import log10

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.patches import Rectangle

from tokbench.report.figures.style import BLACK, FULL, RULE, new_figure, settle, sober
from tokbench.report.numbers import probability

SIGNIFICANCE = 0.05
_FLOOR = 1e-6
_ROOM = 0.33
"""The least width of a cell, in inches, that p-values are written in."""


def draw(p_values: Mapping[tuple[str, str], float | None], order: Sequence[str], *, width: float = FULL) -> Figure:
    """One cell per pair: the p-value that the column's variant, ranked higher, is better than the row's.

    Cells above 0.05, where the null cannot be rejected, are outlined in black; p-values are written in cells that
    have room for them; a pair without a p-value is crossed out.

    Args:
        p_values: (a, b) -> one-sided p that a is better than b, or None.
        order: variants by rank, the best first.
        width: inches.
    """
    count = len(order)
    matrix = np.full((count, count), np.nan)
    for row, column in _pairs(count):
        p = p_values.get((order[column], order[row]))
        if p is not None:
            matrix[row, column] = max(log10(max(p, _FLOOR)), log10(_FLOOR))
    with sober():
        letters = max(len(name) for name in order) + 4
        cells = count - 0.5
        room = width - 0.15
        cell = min(0.46, max(room / (cells + 0.5 * letters), (room - letters * 0.06) / cells))
        type_size = min(7.0, 60 * cell)
        written = cell >= _ROOM
        names = 0.15 + letters * type_size * 0.6 / 72
        figure = new_figure(min(width, names + cell * cells), cell * count + 0.45)
        axes = figure.subplots()
        image = axes.imshow(matrix, cmap="cividis", vmin=log10(_FLOOR), vmax=0, interpolation="none")
        for row, column in _pairs(count):
            p = p_values.get((order[column], order[row]))
            if p is None:
                axes.add_patch(
                    Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="xxxx", edgecolor=RULE, lw=0)
                )
                continue
            if p > SIGNIFICANCE:
                axes.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=BLACK, lw=1.0))
            if written:
                colour = BLACK if log10(max(p, _FLOOR)) > log10(_FLOOR) / 2 else "#f8f8f8"
                axes.text(
                    column,
                    row,
                    probability(p) if p >= 0.001 else "<0.001",
                    ha="center",
                    va="center",
                    fontsize=6,
                    color=colour,
                )
        shown = range(0, count - 1, 1 if cell > 0.12 else 2)
        axes.set_xticks(shown, [str(place + 1) for place in shown], fontsize=type_size)
        axes.set_yticks(range(count), [f"{name}  {place}" for place, name in enumerate(order, 1)], fontsize=type_size)
        axes.set_xlim(-0.5, count - 1)
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.set_xlabel("better variant, by rank", loc="right")
        if not written:
            _colour_key(figure, axes, image)
        return settle(figure)


def _colour_key(figure: Figure, axes: Axes, image: AxesImage) -> None:
    """The key to the colours, in the corner that the triangle leaves empty."""
    inset = axes.inset_axes((0.5, 0.9, 0.48, 0.035))
    bar = figure.colorbar(image, cax=inset, orientation="horizontal")
    bar.set_ticks([-6, -4, -2, log10(SIGNIFICANCE), 0], labels=["≤10⁻⁶", "", "0.01", "", "1"])
    inset.axvline(log10(SIGNIFICANCE), color=BLACK, lw=1.0)
    inset.set_title("p; outlined above 0.05", fontsize=7)
    inset.tick_params(labelsize=6, length=2)
    inset.spines["outline"].set_visible(False)


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(count) for column in range(row)]
