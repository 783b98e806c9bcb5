"""Embedding norms against token probabilities (figures 3 to 5 of "BPE Gets Picky"), one panel per tokenizer."""

from collections.abc import Mapping, Sequence
from math import ceil

import numpy as np
import polars as pl
from matplotlib.collections import PolyCollection
from matplotlib.colors import LogNorm
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator

from tokbench.kernels.elementary import decimal_logs_of
from tokbench.report.figures.style import FULL, RULE, fix_layout, house_style, new_figure
from tokbench.report.wording import power_of_ten

_BREADTH = 0.5
"""Width of the column of tokens with probability zero, and of the space next to it, in powers of ten."""
_LETTER = 0.06
"""Width of a letter of a panel's name, in inches."""


def draw(
    cells: Mapping[str, pl.DataFrame], order: Sequence[str], *, text: str = "pretraining text", width: float = FULL
) -> Figure:
    """Draw a two-dimensional histogram per variant: squares with more tokens are darker.

    Tokens that never occur in the text are at the left, above 0.

    Args:
        cells: frames of ``probability_low``, ``probability_high``, ``norm_low``, ``norm_high`` and ``tokens``, by
            variant.
        order: variants from left to right and top to bottom.
        text: name of the training text (default: pretraining text).
        width: width in inches (default: 6.8).
    """
    # All panels share the axes and the colours.
    drawn = [variant for variant in order if variant in cells]
    every = pl.concat([cells[variant] for variant in drawn])
    met = every.filter(pl.col("probability_low") > 0).select("probability_low", "probability_high")
    ends = [met.min().item(0, 0), met.max().item(0, 1)] if met.height else [0.1, 1.0]
    left, right = decimal_logs_of(ends).tolist()
    shades = LogNorm(1, every.select(pl.max_horizontal(pl.col("tokens").max(), 2)).item())
    beside = min(len(drawn), max(int(width // max(1.25, _LETTER * max(map(len, drawn)) + 0.1)), 1))
    rows = -(-len(drawn) // beside)
    with house_style():
        figure = new_figure(width, 0.85 + 1.2 * rows)
        grid = figure.subplots(rows, beside, sharex=True, sharey=True, squeeze=False)
        # A square for each cell; tokens that were never seen have a column of their own on the left.
        for axes, variant in zip(grid.ravel(), drawn, strict=False):
            part = cells[variant]
            unseen = part.filter(probability_low=0.0)["tokens"].sum()
            squares = PolyCollection(list(_corners(part, left - 1.5 * _BREADTH)), cmap="cividis_r", norm=shades)
            squares.set(array=part["tokens"].to_numpy(), antialiased=False, rasterized=True)
            axes.add_collection(squares)
            axes.axvline(left - 0.5 * _BREADTH, color=RULE, lw=0.6)
            axes.set_title(variant, loc="left", fontsize=7)
            figure.add_tooltip(
                axes.patch, "", f"{variant}: {part['tokens'].sum():,} tokens, {unseen:,} of them never seen"
            )
        # Panels without a variant are hidden; the row above them has labels.
        for place in range(len(drawn), grid.size):
            grid.ravel()[place].set_visible(False)
        if len(drawn) < grid.size:
            for axes in grid[-2]:
                axes.tick_params(labelbottom=True)
        # Three decades at most have a label.
        decades = list(range(ceil(left + _BREADTH), int(right) + 1))
        shown = decades[:: -(-len(decades) // 3)]
        axes = grid[0, 0]
        axes.set_xticks([left - 1.5 * _BREADTH, *shown], ["0", *map(power_of_ten, shown)])
        axes.set_xlim(left - 2 * _BREADTH, right)
        axes.set_ylim(0, every["norm_high"].max())
        axes.yaxis.set_major_locator(MaxNLocator(4))
        # The key of colours and the labels of the axes.
        whole = FuncFormatter(lambda tokens, _: f"{tokens:,.0f}")
        key = figure.colorbar(
            squares, ax=grid, location="top", shrink=min(1.5 / width, 1), aspect=18, anchor=(1.0, 0.0), format=whole
        )
        key.set_label("tokens in a square", fontsize=7)
        key.outline.set_visible(False)
        figure.supxlabel(f"probability in the {text}", fontsize=8)
        figure.supylabel("L2 norm of the input embedding", fontsize=8)
        return fix_layout(figure)


def _corners(part: pl.DataFrame, unseen: float) -> np.ndarray:
    """Return the corners of each cell, float64 [cells, 4, 2]; cells of probability zero are centred at ``unseen``."""
    sides = zip(("probability_low", "probability_high"), (-0.5, 0.5), strict=True)
    low, high = (decimal_logs_of(part[side].replace(0.0, 10 ** (unseen + by * _BREADTH))) for side, by in sides)
    bottom, top = part["norm_low"].to_numpy(), part["norm_high"].to_numpy()
    return np.stack([np.stack(corner, 1) for corner in ((low, bottom), (high, bottom), (high, top), (low, top))], 1)
