"""Regression discontinuity: outcomes by rank with both lines, and effects at placebo cut-offs.

Follows figure 1 of Lesci and others, "Causal Estimation of Tokenisation Bias" (2025).
"""

from collections.abc import Sequence
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from tokbench.report.figures.style import (
    FULL,
    GREY,
    INK,
    LINE,
    OKABE_ITO,
    RULE,
    TooltipFigure,
    fix_layout,
    house_style,
    new_figure,
)

LEAST_FOR_TWO_COLUMNS = 5.0
"""Least width in inches at which the panels are side by side."""
INSIDE, OUTSIDE = OKABE_ITO[0], OKABE_ITO[1]


class Bin(NamedTuple):
    """Mean outcome of neighbouring ranks."""

    first: int
    last: int
    tokens: int
    outcome: float


class Effect(NamedTuple):
    """Effect at a cut-off with its 95 % interval, in bits."""

    cutoff: int
    effect: float
    low: float
    high: float


class Lines(NamedTuple):
    """Lines on both sides of the end of the vocabulary: values there, and slopes per rank."""

    bandwidth: int
    inside_level: float
    inside_slope: float
    outside_level: float
    outside_slope: float


def draw(bins: Sequence[Bin], lines: Lines, effects: Sequence[Effect], *, width: float = FULL) -> Figure:
    """Draw two panels: mean outcomes by rank with the lines and the jump between them, and effects by cut-off.

    Args:
        bins: mean outcomes, in order of ranks.
        lines: the fitted lines.
        effects: effects at the end of the vocabulary (cut-off 0) and at placebo cut-offs.
        width: width in inches (default: 6.8). Below 5, the panels are below each other.
    """
    two_columns = width >= LEAST_FOR_TWO_COLUMNS
    with house_style():
        figure = new_figure(width, 2.5 if two_columns else 4.4)
        panels = figure.subplots(1, 2) if two_columns else figure.subplots(2, 1)
        _outcomes(figure, panels[0], bins, lines)
        _effects(figure, panels[1], effects)
        reach = max(abs(end) for group in bins for end in (group.first, group.last))
        for axes in panels:
            axes.set_xlim(-1.04 * reach, 1.04 * reach)
            axes.axvline(0, color=GREY, lw=0.8, ls=(0, (4, 3)), zorder=0)
            axes.grid(axis="y")
            axes.set_xlabel("rank, from the end of the vocabulary")
        return fix_layout(figure)


def _outcomes(figure: TooltipFigure, axes: Axes, bins: Sequence[Bin], lines: Lines) -> None:
    axes.axvspan(-lines.bandwidth, lines.bandwidth, color=RULE, alpha=0.45, lw=0, zorder=-1)
    handles = []
    for name, side, colour, mark in (
        ("in the vocabulary", [group for group in bins if group.first < 0], INSIDE, "o"),
        ("outside", [group for group in bins if group.first >= 0], OUTSIDE, "s"),
    ):
        middles = [(group.first + group.last + 1) / 2 for group in side]
        near = [abs(middle) <= lines.bandwidth for middle in middles]
        marks = axes.scatter(
            middles, [group.outcome for group in side], s=9, marker=mark, linewidths=0.8, edgecolors=colour,
            facecolors=[colour if close else "none" for close in near],
        )  # fmt: skip
        handles.append(Line2D([], [], ls="", marker=mark, ms=3, color=colour, label=name))
        texts = (
            f"ranks {group.first:,} to {group.last:,}: {group.outcome:.2f} bits, {group.tokens:,} tokens"
            for group in side
        )
        figure.add_tooltip(marks, name, *texts)
    ends = -lines.bandwidth, lines.bandwidth
    levels = lines.inside_level, lines.outside_level
    for end, level, slope, colour in zip(
        ends, levels, (lines.inside_slope, lines.outside_slope), (INSIDE, OUTSIDE), strict=True
    ):
        axes.plot([end, 0], [level + slope * end, level], color=colour, lw=1.6 * LINE)
    axes.plot([0, 0], levels, color=INK, lw=1.6 * LINE, solid_capstyle="butt")
    axes.set_ylabel("log-probability (bits)")
    axes.legend(handles=handles, loc="best", handletextpad=0.1, borderpad=0.2)


def _effects(figure: TooltipFigure, axes: Axes, effects: Sequence[Effect]) -> None:
    axes.axhline(0, color=INK, lw=0.6)
    for effect in effects:
        real = effect.cutoff == 0
        colour = INK if real else GREY
        axes.plot([effect.cutoff] * 2, [effect.low, effect.high], color=colour, lw=(1.6 if real else 1.0) * LINE)
        (mark,) = axes.plot(
            [effect.cutoff], [effect.effect], marker="D" if real else "o", ms=4 if real else 3, color=colour
        )
        name = "the end of the vocabulary" if real else "placebo"
        figure.add_tooltip(
            mark,
            name,
            f"{name}, rank {effect.cutoff:,}: {effect.effect:.3f} bits ({effect.low:.3f} to {effect.high:.3f})",
        )
    axes.set_ylabel("effect (bits)")
