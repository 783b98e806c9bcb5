"""Dots by language: one row a language, one mark a tokenizer, each beside the lowest of its language."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import FULL, RULE, Style, fix_layout, house_style, new_figure


def draw(
    values: Mapping[tuple[str, str], float],
    languages: Sequence[str],
    order: Sequence[str],
    styles: Mapping[str, Style],
    xlabel: str,
    *,
    width: float = FULL,
) -> Figure:
    """One mark per (variant, language), with a legend of variants below.

    Args:
        values: (variant, language) -> value.
        languages: from top to bottom.
        order: variants in the order of the legend; those without a value are passed over.
        styles: each variant's colour and mark.
        xlabel: what the values are.
        width: inches.
    """
    drawn = [variant for variant in order if any(one == variant for one, _ in values)]
    columns = max(int(width // 1.6), 1)
    with house_style():
        figure = new_figure(width, 0.75 + 0.17 * len(languages) + 0.14 * -(-len(drawn) // columns))
        axes = figure.subplots()
        for row, language in enumerate(languages):
            here = [values[variant, language] for variant in drawn if (variant, language) in values]
            axes.plot([min(here), max(here)], [row, row], color=RULE, lw=1.2, zorder=1)
        for variant in drawn:
            found = [(values[variant, one], row) for row, one in enumerate(languages) if (variant, one) in values]
            across, up = zip(*found, strict=True)
            style = styles[variant]
            marks = axes.scatter(
                across, up, s=20, marker=style.mark, facecolors="none", edgecolors=style.colour, linewidths=0.9,
                zorder=2, label=variant,
            )  # fmt: skip
            figure.add_tooltip(marks, variant, *(f"{variant}, {languages[row]}: {x:,.4g}" for x, row in found))
        axes.set_yticks(range(len(languages)), list(languages))
        axes.set_ylim(len(languages) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.set_xlabel(xlabel, loc="right")
        figure.legend(
            *axes.get_legend_handles_labels(), loc="outside lower center", ncols=columns, handletextpad=0.2,
            labelspacing=0.35, columnspacing=1.0, borderpad=0,
        )  # fmt: skip
        return fix_layout(figure)
