"""What models can do along their training (figure 7 of "Tokenization Is More Than Compression")."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import FULL, PAPER, Style, fix_layout, house_style, in_units, new_figure

Line = Sequence[tuple[int, float]]


def draw(
    measures: Mapping[str, Mapping[tuple[str, int], Line]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    *,
    width: float = FULL,
) -> Figure:
    """A row of panels for each measure, a panel for each vocabulary size, a line for each variant.

    Args:
        measures: what is on the vertical axis -> (variant, size) -> (tokens seen, value), ascending.
        order: variants in the order of the legend.
        styles: each variant's colour, mark and line.
        width: inches.
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
                for variant in (one for one in drawn if (one, size) in lines):
                    style, line = styles[variant], lines[variant, size]
                    (handles[variant],) = axes.plot(
                        *zip(*line, strict=True), color=style.colour, marker=style.mark, ls=style.line, mfc=PAPER,
                        label=variant,
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
