"""A distribution of each tokenizer as a line over classes, such as tokens by length."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from tokbench.report.figures.style import FULL, PAPER, Style, fix_layout, house_style, new_figure

_LETTER = 0.042
"""Height that a letter of a turned name takes, in inches."""


def draw(
    shares: Mapping[str, Sequence[float]],
    classes: Sequence[str],
    order: Sequence[str],
    styles: Mapping[str, Style],
    xlabel: str,
    ylabel: str,
    *,
    width: float = FULL,
) -> Figure:
    """One line per variant, with a legend below.

    Args:
        shares: by variant, a value for each class.
        classes: names of the classes, from left to right.
        order: variants in the order of the legend; those without values are passed over.
        styles: each variant's colour, mark and line.
        xlabel, ylabel: what classes and values are.
        width: inches.
    """
    drawn = [variant for variant in order if variant in shares]
    columns = max(int(width // 1.6), 1)
    longest = max(map(len, classes))
    turned = longest > 3
    with house_style():
        legend = 0.14 * -(-len(drawn) // columns)
        figure = new_figure(width, 0.42 * width + legend + 0.2 + _LETTER * longest * turned)
        axes = figure.subplots()
        for variant in drawn:
            style, values = styles[variant], list(shares[variant])
            (line,) = axes.plot(
                range(len(values)), values, color=style.colour, ls=style.line, marker=style.mark, mfc=PAPER, ms=3,
                lw=0.9, label=variant,
            )  # fmt: skip
            texts = (f"{variant}, {one}: {value:,.4g}" for one, value in zip(classes, values, strict=True))
            figure.add_tooltip(line, variant, *texts)
        axes.set_xticks(range(len(classes)), list(classes))
        if turned:
            axes.tick_params(axis="x", rotation=45)
            for label in axes.get_xticklabels():
                label.set(ha="right", rotation_mode="anchor")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        axes.set_xlabel(xlabel, loc="right")
        axes.set_ylabel(ylabel)
        figure.legend(
            *axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, handletextpad=0.4,
            labelspacing=0.35, columnspacing=1.0, borderpad=0,
        )  # fmt: skip
        return fix_layout(figure)
