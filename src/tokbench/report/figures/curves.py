"""Training loss against tokens seen, one panel per vocabulary size."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import FULL, Style, fix_layout, house_style, in_units, new_figure

PARTS = 50
"""A line is a running mean over one of so many parts of its curve."""


def draw(
    losses: Mapping[tuple[str, int], tuple[Sequence[float], Sequence[float]]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    *,
    width: float = FULL,
) -> Figure:
    """Lines of the loss, smoothed by a running mean over a fiftieth of the curve; the raw curve stands faint behind it.

    The axis leaves out the steep first fall, so that the tokenizers can be told apart.

    Args:
        losses: (variant, size) -> (tokens seen, loss in nats per token).
        order: variants in the order of the legend.
        styles: each variant's colour and line.
        width: inches.
    """
    sizes = sorted({size for _, size in losses})
    drawn = [variant for variant in order if any(v == variant for v, _ in losses)]
    beside = min(len(sizes), max(int(width // 1.5), 1))
    rows = -(-len(sizes) // beside)
    legend_columns = max(int(width // 1.6), 1)
    with house_style():
        height = rows * (2.0 if beside > 1 or width < 4 else 2.6) + 0.14 * -(-len(drawn) // legend_columns) + 0.2
        figure = new_figure(width, height)
        grid = figure.subplots(rows, beside, sharey=True, squeeze=False).ravel()
        late: list[float] = []
        handles = {}
        for axes, size in zip(grid, sizes, strict=False):
            for variant in drawn:
                if (variant, size) not in losses:
                    continue
                tokens, loss = (np.asarray(column, dtype=float) for column in losses[variant, size])
                style = styles[variant]
                axes.plot(tokens, loss, color=style.colour, lw=0.5, alpha=0.25)
                smooth = _running_mean(loss, max(len(loss) // PARTS, 1))
                (handles[variant],) = axes.plot(tokens, smooth, color=style.colour, ls=style.line, label=variant)
                last = f"{variant} at {size:,}: {smooth[-1]:.3f} after {tokens[-1]:,.0f} tokens"
                figure.add_tooltip(handles[variant], variant, last)
                late += smooth[len(smooth) // 10 :].tolist()
            axes.set_title(f"vocabulary {size:,}")
            axes.xaxis.set_major_locator(MaxNLocator(4))
            unit = in_units(axes.xaxis, max(max(tokens) for tokens, _ in losses.values()))
            axes.set_xlabel(f"tokens seen{unit}")
            axes.grid()
        for axes in grid[len(sizes) :]:
            axes.set_visible(False)
        margin = 0.05 * (max(late) - min(late)) + 1e-3
        grid[0].set_ylim(min(late) - margin, max(late) + margin)
        figure.supylabel("training loss (nats per token)", fontsize=8)
        lines = [handles[variant] for variant in drawn]
        figure.legend(handles=lines, loc="outside lower center", ncols=legend_columns, borderpad=0)
        return fix_layout(figure)


def _running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Mean of the last ``window`` values, of fewer at the start."""
    total = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return (total[ends] - total[starts]) / (ends - starts)
