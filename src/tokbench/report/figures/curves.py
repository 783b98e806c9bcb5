"""Line plots: training loss, convergence of models, and bits per byte of token n-gram models by order.

Convergence follows figure 7 of "Tokenization Is More Than Compression".
"""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import FULL, LINE, PAPER, Style, fix_layout, house_style, in_units, new_figure

PARTS = 50
"""Number of parts of a curve; its line is a running mean over one part."""


def draw(
    losses: Mapping[tuple[str, int], tuple[Sequence[float], Sequence[float]]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    *,
    width: float = FULL,
) -> Figure:
    """Draw training losses, one panel per vocabulary size, as running means over a fiftieth of the curve.

    The raw curve is faint behind its mean. The axis leaves out the steep beginning, so that differences between
    tokenizers are visible.

    Args:
        losses: bytes of text read and loss in bits per byte, by (variant, size).
        order: variants in the order of the legend.
        styles: each variant's colour and line.
        width: width in inches (default: 6.8).
    """
    # A panel for each size; the width limits those in a row.
    sizes = sorted({size for _, size in losses})
    drawn = [variant for variant in order if any(v == variant for v, _ in losses)]
    beside = min(len(sizes), max(int(width // 1.5), 1))
    rows = -(-len(sizes) // beside)
    legend_columns = max(int(width // 1.6), 1)
    with house_style():
        height = rows * (2.0 if beside > 1 or width < 4 else 2.6) + 0.14 * -(-len(drawn) // legend_columns) + 0.2
        figure = new_figure(width, height)
        grid = figure.subplots(rows, beside, sharey=True, squeeze=False).ravel()
        # Each curve has a faint line of all batches and a running mean.
        late: list[float] = []
        handles = {}
        for axes, size in zip(grid, sizes, strict=False):
            for variant in drawn:
                if (variant, size) not in losses:
                    continue
                read, loss = (np.asarray(column, dtype=float) for column in losses[variant, size])
                style = styles[variant]
                axes.plot(read, loss, color=style.colour, lw=0.5, alpha=0.25)
                smooth = _running_mean(loss, max(len(loss) // PARTS, 1))
                (handles[variant],) = axes.plot(
                    read, smooth, color=style.colour, ls=style.line, lw=LINE * style.weight, label=variant
                )
                last = f"{variant} at {size:,}: {smooth[-1]:.3f} after {read[-1]:,.0f} bytes"
                figure.add_tooltip(handles[variant], variant, last)
                late += smooth[len(smooth) // 10 :].tolist()
            axes.set_title(f"vocabulary {size:,}")
            axes.xaxis.set_major_locator(MaxNLocator(4))
            unit = in_units(axes.xaxis, max(max(read) for read, _ in losses.values()))
            axes.set_xlabel(f"bytes read{unit}")
            axes.grid()
        for axes in grid[len(sizes) :]:
            axes.set_visible(False)
        # The last tenth of the curves sets the range: first losses are far above.
        margin = 0.05 * (max(late) - min(late)) + 1e-3
        grid[0].set_ylim(min(late) - margin, max(late) + margin)
        figure.supylabel("training loss (bits per byte)", fontsize=8)
        lines = [handles[variant] for variant in drawn]
        figure.legend(handles=lines, loc="outside lower center", ncols=legend_columns, borderpad=0)
        return fix_layout(figure)


def _running_mean(values: np.ndarray, window: int) -> np.ndarray:
    """Return the mean of the last ``window`` values, or of all values at the start."""
    total = np.cumsum(np.concatenate([[0.0], values]))
    ends = np.arange(1, len(values) + 1)
    starts = np.maximum(ends - window, 0)
    return (total[ends] - total[starts]) / (ends - starts)


Line = Sequence[tuple[int, float]]


def draw_convergence(
    measures: Mapping[str, Mapping[tuple[str, int], Line]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    *,
    width: float = FULL,
) -> Figure:
    """Draw a row of panels for each measure, with a panel for each vocabulary size and a line for each variant.

    Args:
        measures: label of the vertical axis -> (variant, size) -> (tokens seen, value), ascending.
        order: variants in the order of the legend.
        styles: each variant's colour, mark and line.
        width: width in inches (default: 6.8).
    """
    sizes = sorted({size for lines in measures.values() for _, size in lines})
    drawn = [variant for variant in order if any(v == variant for lines in measures.values() for v, _ in lines)]
    legend_columns = max(int(width // 1.6), 1)
    with house_style():
        height = 2.0 * len(measures) + 0.14 * -(-len(drawn) // legend_columns) + 0.2
        figure = new_figure(width, height)
        grid = figure.subplots(len(measures), len(sizes), sharey="row", squeeze=False)
        handles = {}
        for row, (measure, lines) in zip(grid, measures.items(), strict=True):
            row[0].set_ylabel(measure)
            most = max(tokens for line in lines.values() for tokens, _ in line)
            for axes, size in zip(row, sizes, strict=True):
                for variant in (name for name in drawn if (name, size) in lines):
                    style, line = styles[variant], lines[variant, size]
                    (handles[variant],) = axes.plot(
                        *zip(*line, strict=True), color=style.colour, marker=style.mark, ls=style.line,
                        lw=LINE * style.weight, mfc=PAPER, label=variant,
                    )  # fmt: skip
                    figure.add_tooltip(
                        handles[variant], variant, *(f"{value:,.4g} after {tokens:,} tokens" for tokens, value in line)
                    )
                axes.set_title(f"vocabulary {size:,}")
                axes.xaxis.set_major_locator(MaxNLocator(4))
                axes.set_xlabel(f"tokens seen{in_units(axes.xaxis, most)}")
                axes.grid()
        figure.legend(
            handles=[handles[variant] for variant in drawn],
            loc="outside lower center",
            ncols=legend_columns,
            borderpad=0,
        )
        return fix_layout(figure)


Panel = tuple[int, int]
"""Bytes of training text, and vocabulary size."""


def draw_ngram_bits(
    values: Mapping[Panel, Mapping[str, Mapping[int, float]]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    *,
    width: float = FULL,
) -> Figure:
    """Draw a line per variant: percent above the lowest bits per byte of the same order, budget and size.

    Bits per byte themselves fall by a quarter from the first order to the second, which would hide differences between
    variants.

    Args:
        values: budget and size -> variant -> order -> bits per byte; budgets are rows of panels and sizes columns.
        order: variants in the order of the legend.
        styles: each variant's colour, mark and line.
        width: width in inches (default: 6.8).
    """
    budgets, sizes = (sorted({panel[place] for panel in values}) for place in (0, 1))
    columns = max(int(width // 1.6), 1)
    drawn = [variant for variant in order if any(variant in panel for panel in values.values())]
    with house_style():
        figure = new_figure(width, 1.8 * len(budgets) + 0.14 * -(-len(drawn) // columns) + 0.3)
        grid = figure.subplots(len(budgets), len(sizes), sharex=True, sharey=True, squeeze=False)
        handles = {}
        for row, budget in zip(grid, budgets, strict=True):
            for axes, size in zip(row, sizes, strict=True):
                panel = values.get((budget, size), {})
                orders = sorted({order for values in panel.values() for order in values})
                lowest = {order: min(values[order] for values in panel.values() if order in values) for order in orders}
                for variant in filter(panel.__contains__, drawn):
                    path = [
                        (order, 100 * (value / lowest[order] - 1)) for order, value in sorted(panel[variant].items())
                    ]
                    style = styles[variant]
                    (line,) = axes.plot(
                        *zip(*path, strict=True), color=style.colour, marker=style.mark, ls=style.line, ms=3,
                        lw=LINE * style.weight,
                    )  # fmt: skip
                    handles[variant] = line
                    tooltips = (
                        f"{variant}, order {order}: {panel[variant][order]:.4f} bits per byte" for order, _ in path
                    )
                    figure.add_tooltip(line, variant, *tooltips)
                axes.set_title(f"{size:,}, {budget:,} bytes", fontsize=7)
                axes.set_xticks(orders)
                axes.grid(axis="y")
        for axes in grid[-1]:
            axes.set_xlabel("order")
        figure.supylabel("above the lowest (%)", fontsize=8)
        figure.legend(
            [handles[variant] for variant in drawn], drawn, loc="outside lower center", ncols=columns, borderpad=0
        )
        return fix_layout(figure)
