"""Bits per byte of token n-gram models by order: how far each variant lies above the lowest."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from tokbench.report.figures.style import FULL, Style, fix_layout, house_style, new_figure

Panel = tuple[int, int]
"""Bytes that the models were trained on, and vocabulary size."""


def draw(
    values: Mapping[Panel, Mapping[str, Mapping[int, float]]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    *,
    width: float = FULL,
) -> Figure:
    """A line per variant: percent above the lowest bits per byte of its order, budget and size.

    Bits per byte fall by a quarter from the first order to the second, beside which variants could not be told apart.

    Args:
        values: budget and size -> variant -> order -> bits per byte; budgets are rows of panels and sizes columns.
        order: variants in the order of the legend.
        styles: each variant's colour, mark and line.
        width: inches.
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
                orders = sorted({one for found in panel.values() for one in found})
                lowest = {one: min(found[one] for found in panel.values() if one in found) for one in orders}
                for variant in filter(panel.__contains__, drawn):
                    path = [(one, 100 * (value / lowest[one] - 1)) for one, value in sorted(panel[variant].items())]
                    style = styles[variant]
                    (line,) = axes.plot(
                        *zip(*path, strict=True), color=style.colour, marker=style.mark, ls=style.line, ms=3
                    )
                    handles[variant] = line
                    told = (f"{variant}, order {one}: {panel[variant][one]:.4f} bits per byte" for one, _ in path)
                    figure.add_tooltip(line, variant, *told)
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
