"""Pairwise p-values as a triangle of colours (figure 2 of "Tokenization Is More Than Compression")."""

from collections.abc import Mapping, Sequence
from math import log10

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tokbench.report.figures.style import FULL, INK, RULE, new_figure, sober
from tokbench.report.numbers import probability

SIGNIFICANCE = 0.05
_FLOOR = 1e-6
_DIGITS_UP_TO = 8


def draw(p_values: Mapping[tuple[str, str], float | None], order: Sequence[str], *, width: float = FULL) -> Figure:
    """One cell per pair: the p-value that the column's variant, ranked higher, is better than the row's.

    Cells above 0.05, where the null cannot be rejected, are outlined in black; the p-value itself is written in cells of
    small matrices; a pair without a p-value is crossed out.

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
        longest = max(len(name) for name in order)
        cell = min(0.42, max(width - 0.95 - 0.055 * longest, 1.2) / max(count - 1, 1))
        figure = new_figure(width, cell * (count - 1) + 0.75)
        axes = figure.subplots()
        image = axes.imshow(
            matrix[1:, : count - 1], cmap="cividis", vmin=log10(_FLOOR), vmax=0, interpolation="none", rasterized=False
        )
        for row, column in _pairs(count):
            p = p_values.get((order[column], order[row]))
            place = (column - 0.5, row - 1.5)
            if p is None:
                axes.add_patch(Rectangle(place, 1, 1, fill=False, hatch="xxxx", edgecolor=RULE, lw=0))
            elif count <= _DIGITS_UP_TO:
                light = log10(max(p, _FLOOR)) > log10(_FLOOR) / 2
                axes.text(
                    column, row - 1, probability(p), ha="center", va="center", fontsize=6,
                    color=INK if light else "#f8f8f8",
                )  # fmt: skip
        for row, column in _pairs(count):
            p = p_values.get((order[column], order[row]))
            if p is not None and p > SIGNIFICANCE:
                axes.add_patch(Rectangle((column - 0.47, row - 1.47), 0.94, 0.94, fill=False, edgecolor=INK, lw=1.1))
        axes.set_xticks(range(count - 1), [str(rank) for rank in range(1, count)])
        axes.set_yticks(range(count - 1), [f"{name}  {rank}" for rank, name in enumerate(order[1:], 2)])
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.set_xlabel(f"rank of the better variant (1 is {order[0]})")
        bar = figure.colorbar(image, ax=axes, shrink=0.8, aspect=18, pad=0.03)
        bar.set_ticks(range(-6, 1, 2), labels=["≤ 10⁻⁶", "10⁻⁴", "0.01", "1"])
        bar.ax.axhline(log10(SIGNIFICANCE), color=INK, lw=1.1)
        bar.ax.text(1.6, log10(SIGNIFICANCE), "0.05", transform=bar.ax.get_yaxis_transform(), va="center", fontsize=7)
        bar.outline.set_visible(False)  # type: ignore[operator]
        bar.ax.set_title("p", fontsize=8)
    return figure


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(row, column) for row in range(count) for column in range(row)]
