"""Dots by variant: one row per variant, one hollow mark per vocabulary size, a bar at their mean.

Drawn for average accuracy by rank (figure 1 of "Tokenization Is More Than Compression", turned so that names can be
read), for Rényi efficiency, for bits per byte: for any number that each tokenizer has once.
"""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import (
    FULL,
    GREY,
    INK,
    RULE,
    Style,
    areas,
    fix_layout,
    house_style,
    in_units,
    new_figure,
    size_key,
)


def draw(
    values: Mapping[tuple[str, int], float],
    order: Sequence[str],
    styles: Mapping[str, Style],
    xlabel: str,
    *,
    numbered: bool = False,
    unnumbered: Collection[str] = (),
    baseline: tuple[str, float] | None = None,
    width: float = FULL,
) -> Figure:
    """One dot per (variant, vocabulary size).

    Args:
        values: (variant, size) -> value, in the unit that ``xlabel`` names.
        order: variants from top to bottom; those without a value are passed over.
        styles: each variant's colour.
        xlabel: what the values are, with unit and split.
        numbered: whether the names are preceded by their rank, their place in ``order``.
        unnumbered: variants that have no rank; they stand last.
        baseline: (name, value) of a reference, drawn as a dashed line where it is in reach of the values, and otherwise
            told at the edge.
        width: inches.
    """
    values = {key: value for key, value in values.items() if isfinite(value)}
    ranked = [(rank, variant) for rank, variant in enumerate(order, 1) if any(v == variant for v, _ in values)]
    sizes = sorted({size for _, size in values})
    area = areas(sizes)
    with house_style():
        figure = new_figure(width, 0.95 + 0.17 * len(ranked))
        axes = figure.subplots()
        for row, (_, variant) in enumerate(ranked):
            found = [(size, values[variant, size]) for size in sizes if (variant, size) in values]
            axes.plot([min(v for _, v in found), max(v for _, v in found)], [row, row], color=RULE, lw=1.5, zorder=1)
            marks = axes.scatter(
                [value for _, value in found],
                [row] * len(found),
                s=[area[size] for size, _ in found],
                facecolors="none",
                edgecolors=styles[variant].colour,
                linewidths=1.0,
                zorder=2,
            )
            figure.add_tooltip(marks, variant, *(f"{variant} at {size:,}: {value:,.6g}" for size, value in found))
            if len(found) > 1:
                mean = sum(value for _, value in found) / len(found)
                axes.plot([mean], [row], marker="|", mec=INK, mew=1.6, ms=8, zorder=3)
        names = [f"{name}  {rank}" if numbered and name not in unnumbered else name for rank, name in ranked]
        axes.set_yticks(range(len(ranked)), names)
        axes.set_ylim(len(ranked) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.set_xlabel(xlabel + in_units(axes.xaxis, max(values.values())), loc="right")
        if baseline is not None:
            _mark_baseline(axes, baseline, list(values.values()))
        if len(sizes) > 1:
            size_key(figure, sizes, mean=True)
        return fix_layout(figure)


def _mark_baseline(axes: Axes, baseline: tuple[str, float], values: Sequence[float]) -> None:
    """Draw the reference, or say where it lies when drawing it would squeeze the values into a third of the width."""
    name, place = baseline
    low, high = min(values), max(values)
    span = max(high - low, 1e-9)
    if low - span <= place <= high + span:
        axes.axvline(place, color=GREY, lw=0.8, ls=(0, (4, 3)), zorder=0)
        axes.annotate(
            name, (place, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
            ha="center", va="bottom", fontsize=7, color=GREY,
        )  # fmt: skip
    else:
        side: Literal["left", "right"] = "left" if place < low else "right"
        axes.set_title(f"{name} {place:.3g}, off to the {side}", loc=side, fontsize=7, color=GREY, pad=3)
