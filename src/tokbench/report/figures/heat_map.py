"""Heat maps: a cell with its number for each tokenizer in each language."""

from collections.abc import Mapping, Sequence

from matplotlib import colormaps
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from tokbench.report.figures.style import BLACK, FULL, PAPER, fix_layout, house_style, new_figure
from tokbench.report.wording import format_value

_ROW, _MARGIN = 0.2, 1.1
"""Height of a row, and of the labels of the columns and the axis, in inches."""
_DARK = 0.45
"""Relative luminance of a cell above which its number is black."""
_COLOURS = "viridis"


def draw(
    values: Mapping[tuple[str, str], float],
    rows: Sequence[str],
    columns: Sequence[str],
    label: str,
    *,
    decimals: int = 2,
    higher_is_better: bool = True,
    width: float = FULL,
) -> Figure:
    """Draw a row per language and a column per tokenizer; the colour of a cell compares it with its row.

    The best cell of a row is yellow and the worst is blue, because languages differ more than tokenizers do. Cells
    without a value are empty.

    Args:
        values: values by (row, column).
        rows: rows from top to bottom.
        columns: columns from left to right.
        label: measure of the values, above the figure.
        decimals: digits after the point (default: 2).
        higher_is_better: True if the highest value of a row is the best (default: True).
        width: width in inches (default: 6.8).
    """
    with house_style():
        figure = new_figure(width, _MARGIN + _ROW * len(rows))
        axes = figure.subplots()
        for y, row in enumerate(rows):
            known = [values[row, column] for column in columns if (row, column) in values]
            scale = Normalize(min(known, default=0.0), max(known, default=1.0))
            for x, column in enumerate(columns):
                if (value := values.get((row, column))) is None:
                    continue
                share = float(scale(value)) if scale.vmax > scale.vmin else 0.5  # type: ignore[operator]
                colour = colormaps[_COLOURS](share if higher_is_better else 1 - share)
                cell = Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor=PAPER, linewidth=0.8)
                axes.add_patch(cell)
                figure.add_tooltip(cell, column, f"{column}, {row}: {value:,.6g}")
                red, green, blue, _ = colour
                dark = 0.299 * red + 0.587 * green + 0.114 * blue < _DARK
                axes.text(
                    x,
                    y,
                    format_value(value, "real", decimals),
                    ha="center",
                    va="center",
                    fontsize=7,
                    color=PAPER if dark else BLACK,
                )
        axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
        axes.set_xticks(range(len(columns)), columns, rotation=30, ha="left", rotation_mode="anchor")
        axes.set_yticks(range(len(rows)), rows)
        axes.xaxis.tick_top()
        axes.tick_params(length=0)
        axes.set_xlabel(label)
        for spine in axes.spines.values():
            spine.set_visible(False)
        return fix_layout(figure)
