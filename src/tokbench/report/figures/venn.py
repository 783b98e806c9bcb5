"""Venn diagrams of three vocabularies, and panels of distributions such as tokens by length.

The diagrams are figures 5 and 12 of "Tokenization Is More Than Compression".
"""

from collections.abc import Mapping, Sequence
from math import cos, radians, sin

from matplotlib.figure import Figure

from tokbench.report.figures.style import COLUMN, FULL, GREY, INK, Style, fix_layout, house_style, new_figure

_REGIONS = {
    "only_a": "100", "only_b": "010", "a_and_b": "110", "only_c": "001", "a_and_c": "101",
    "b_and_c": "011", "all": "111",
}  # fmt: skip
"""Names of the regions in matplotlib-venn, in its order."""
_LETTER = 0.042
"""Height of a letter of a rotated name, in inches."""
_PANEL = 1.3
"""Least width of a panel, in inches."""


def draw(
    regions: Mapping[str, int], names: Sequence[str], styles: Mapping[str, Style], *, width: float = COLUMN
) -> Figure:
    """Draw three vocabularies as circles with areas proportional to their tokens, and the tokens of seven regions.

    Areas of three circles can match seven numbers only approximately; the printed numbers are exact.

    Args:
        regions: tokens in only_a, only_b, only_c, a_and_b (and not c), a_and_c, b_and_c, all.
        names: variants a, b, c.
        styles: each variant's colour.
        width: width in inches (default: 3.3).
    """
    from matplotlib_venn import venn3
    from matplotlib_venn.layout.venn3 import DefaultLayoutAlgorithm

    with house_style():
        # Circles in proportion to the vocabularies.
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
        # Numbers and tooltips of the regions.
        for label in diagram.subset_labels:
            if label is not None:
                label.set(fontsize=7, color=INK)
        for region, place in _REGIONS.items():
            patch = diagram.get_patch_by_id(place)
            if patch is not None:
                inside = [name for name, letter in zip(names, place, strict=True) if letter == "1"]
                alone = "only " * (len(inside) < 3)
                figure.add_tooltip(patch, region, f"{alone}in {' and '.join(inside)}: {regions[region]:,} tokens")
        # Names outside the circles, away from the middle.
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


def draw_profile(
    shares: Mapping[str, Sequence[float]],
    classes: Sequence[str],
    order: Sequence[str],
    styles: Mapping[str, Style],
    xlabel: str,
    ylabel: str,
    *,
    baseline: str = "",
    width: float = FULL,
) -> Figure:
    """Draw a panel per variant, with the baseline as a dashed grey line in the others.

    Args:
        shares: a value for each class, by variant.
        classes: names of the classes, from left to right.
        order: variants in the order of the panels; those without values are left out.
        styles: each variant's colour.
        xlabel: label of the classes.
        ylabel: label of the values.
        baseline: variant that the others are compared with (default: none); ignored if it has no values.
        width: width in inches (default: 6.8).
    """
    # A panel for each variant; all have the same axes.
    drawn = [variant for variant in order if variant in shares]
    columns = min(max(int(width / _PANEL), 1), len(drawn))
    rows = -(-len(drawn) // columns)
    places = range(len(classes))
    highest = max(max(values) for values in shares.values()) or 1.0
    ticks = sorted({0, len(classes) // 2, len(classes) - 1})
    with house_style():
        figure = new_figure(width, 0.78 * rows + 0.35)
        grid = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        panels = grid.ravel()
        # The shares of a variant, and dashed those of the baseline.
        for variant, axes in zip(drawn, panels, strict=False):
            values, colour = list(shares[variant]), styles[variant].colour
            axes.fill_between(places, values, color=colour, alpha=0.25, lw=0)
            (line,) = axes.plot(places, values, color=colour, marker="o", ms=1.8, lw=0.9)
            if baseline in shares and variant != baseline:
                axes.plot(places, shares[baseline], color=GREY, lw=0.8, ls=(0, (4, 2)))
            texts = (f"{variant}, {label}: {value:,.4g}" for label, value in zip(classes, values, strict=True))
            figure.add_tooltip(line, variant, *texts)
            axes.set_title(variant, fontsize=min(7.0, 72 * width / columns / (0.62 * max(len(variant), 1)) * 0.86))
            axes.set_xticks(ticks, [classes[place].partition(" to ")[0] for place in ticks], fontsize=6)
            axes.tick_params(axis="y", labelsize=6)
            axes.set_ylim(0, 1.08 * highest)
            axes.grid(axis="y")
        # Panels without a variant are hidden, and the lowest of each column has labels.
        for axes in panels[len(drawn) :]:
            axes.set_visible(False)
        for column in range(columns):
            last = max(row for row in range(rows) if row * columns + column < len(drawn))
            grid[last][column].tick_params(axis="x", labelbottom=True)
        figure.supxlabel(xlabel, fontsize=8)
        figure.supylabel(ylabel, fontsize=8)
        return fix_layout(figure)
