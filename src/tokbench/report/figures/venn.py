"""Three vocabularies as circles whose areas, and shared areas, are in proportion to their tokens (figures 5 and 12 of
"Tokenization Is More Than Compression").

A distribution of each tokenizer as a line over classes, such as tokens by length.
"""

from collections.abc import Mapping, Sequence
from math import cos, radians, sin

from matplotlib.figure import Figure

from tokbench.report.figures.style import COLUMN, FULL, INK, PAPER, Style, fix_layout, house_style, new_figure

_REGIONS = {
    "only_a": "100", "only_b": "010", "a_and_b": "110", "only_c": "001", "a_and_c": "101",
    "b_and_c": "011", "all": "111",
}  # fmt: skip
"""How the package names the regions, in its order."""


def draw(
    regions: Mapping[str, int], names: Sequence[str], styles: Mapping[str, Style], *, width: float = COLUMN
) -> Figure:
    """Seven regions with their numbers of tokens.

    Areas of three circles can match seven numbers only nearly; the numbers printed are exact.

    Args:
        regions: tokens in only_a, only_b, only_c, a_and_b (and not c), a_and_c, b_and_c, all.
        names: the variants a, b, c.
        styles: each variant's colour.
        width: inches.
    """
    from matplotlib_venn import venn3
    from matplotlib_venn.layout.venn3 import DefaultLayoutAlgorithm

    with house_style():
        figure = new_figure(width, 0.82 * width)
        axes = figure.subplots()
        diagram = venn3(
            subsets=tuple(regions[region] for region in _REGIONS),
            set_labels=("", "", ""),
            set_colors=[styles[name].colour for name in names],
            alpha=0.45,
            ax=axes,
            subset_label_formatter=lambda tokens: f"{tokens:,}",
            layout_algorithm=DefaultLayoutAlgorithm(fixed_subset_sizes=None),
        )
        for label in diagram.subset_labels:
            if label is not None:
                label.set(fontsize=7, color=INK)
        for region, place in _REGIONS.items():
            patch = diagram.get_patch_by_id(place)
            if patch is not None:
                inside = [name for name, letter in zip(names, place, strict=True) if letter == "1"]
                alone = " alone" * (len(inside) < 3)
                figure.add_tooltip(patch, region, f"in {' and '.join(inside)}{alone}: {regions[region]:,} tokens")
        middle_x, middle_y = (sum(centre) / 3 for centre in zip(*(c.asarray() for c in diagram.centers), strict=True))
        for name, centre, radius in zip(names, diagram.centers, diagram.radii, strict=True):
            above, left = centre.y >= middle_y, centre.x < middle_x
            angle = radians((118 if left else 62) if above else 270)
            axes.annotate(
                name,
                (centre.x + radius * cos(angle), centre.y + radius * sin(angle)),
                xytext=(0, 3 if above else -3),
                textcoords="offset points",
                ha=("right" if left else "left") if above else "center",
                va="bottom" if above else "top",
                fontsize=8,
                fontweight="bold",
            )
        return fix_layout(figure)


_LETTER = 0.042
"""Height that a letter of a turned name takes, in inches."""


def profile_draw(
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
