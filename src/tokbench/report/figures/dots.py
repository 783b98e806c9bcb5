"""Dot plots by variant, by language and by model.

Dots by variant show any measure with one value per tokenizer, such as accuracy by rank (figure 1 of "Tokenization Is
More Than Compression", with rows and columns swapped for legible names). Lines by model are figure 6 of that paper.
"""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import (
    FULL,
    GREY,
    INK,
    LINE,
    PAPER,
    RULE,
    Style,
    areas,
    fix_layout,
    house_style,
    in_units,
    new_figure,
    size_key,
)

_LEAST_FOR_MEAN = 3
"""Fewest vocabulary sizes for a bar at their mean."""


def draw(
    values: Mapping[tuple[str, int], float],
    order: Sequence[str],
    styles: Mapping[str, Style],
    xlabel: str,
    *,
    numbered: bool = False,
    unnumbered: Collection[str] = (),
    baseline: tuple[str, float] | None = None,
    width: float = FULL,
) -> Figure:
    """Draw one row per variant with one mark per vocabulary size; from three sizes on, with a bar at the mean.

    Args:
        values: values by (variant, size), in the unit of ``xlabel``; values that are not finite are left out.
        order: variants from top to bottom; those without a value are left out.
        styles: each variant's colour.
        xlabel: measure of the values, with unit and split.
        numbered: True to print each variant's rank, its place in ``order`` (default: False).
        unnumbered: variants without a rank, last in ``order`` (default: none).
        baseline: name and value of a reference (default: None). It is a dashed line if it is near the values, and text
            at the edge otherwise.
        width: width in inches (default: 6.8).
    """
    # Variants without a finite value have no row and keep their rank.
    values = {key: value for key, value in values.items() if isfinite(value)}
    ranked = [(rank, variant) for rank, variant in enumerate(order, 1) if any(v == variant for v, _ in values)]
    sizes = sorted({size for _, size in values})
    # Variants of one size each, such as existing tokenizers, have it next to their names, and equal marks.
    one_each = len(sizes) > 1 and len(values) == len(ranked)
    area = dict.fromkeys(sizes, areas(sizes[:1])[sizes[0]]) if one_each else areas(sizes)
    with house_style():
        figure = new_figure(width, 0.95 + 0.17 * len(ranked))
        axes = figure.subplots()
        # A row for each variant: a line over its range, and a mark for each size.
        for row, (_, variant) in enumerate(ranked):
            points = [(size, values[variant, size]) for size in sizes if (variant, size) in values]
            axes.plot([min(v for _, v in points), max(v for _, v in points)], [row, row], color=RULE, lw=1.5, zorder=1)
            marks = axes.scatter(
                [value for _, value in points],
                [row] * len(points),
                s=[area[size] for size, _ in points],
                facecolors="none",
                edgecolors=styles[variant].colour,
                linewidths=styles[variant].weight,
                zorder=2,
            )
            figure.add_tooltip(marks, variant, *(f"{variant} at {size:,}: {value:,.6g}" for size, value in points))
            if len(points) > 1 and len(sizes) >= _LEAST_FOR_MEAN:
                mean = sum(value for _, value in points) / len(points)
                axes.plot([mean], [row], marker="|", mec=INK, mew=1.6, ms=8, zorder=3)
        # Names with their ranks, the first at the top.
        names = [f"{name}  {rank}" if numbered and name not in unnumbered else name for rank, name in ranked]
        if one_each:
            only = dict(values.keys())
            names = [f"{name}, {only[variant]:,}" for name, (_, variant) in zip(names, ranked, strict=True)]
        for label, (_, variant) in zip(axes.set_yticks(range(len(ranked)), names), ranked, strict=True):
            label.label1.set_fontweight(styles[variant].font)
        axes.set_ylim(len(ranked) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        # The axis of values, with the baseline.
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.set_xlabel(xlabel + in_units(axes.xaxis, max(values.values())), loc="right")
        if baseline is not None:
            _mark_baseline(axes, baseline, list(values.values()))
        if len(sizes) > 1 and not one_each:
            size_key(figure, sizes, mean=len(sizes) >= _LEAST_FOR_MEAN)
        return fix_layout(figure)


def _mark_baseline(axes: Axes, baseline: tuple[str, float], values: Sequence[float]) -> None:
    """Draw the reference, or write its value if it is farther from the values than their range."""
    name, place = baseline
    low, high = min(values), max(values)
    span = max(high - low, 1e-9)
    if low - span <= place <= high + span:
        axes.axvline(place, color=GREY, lw=0.8, ls=(0, (4, 3)), zorder=0)
        axes.annotate(
            name, (place, 1), xycoords=("data", "axes fraction"), xytext=(0, 2), textcoords="offset points",
            ha="center", va="bottom", fontsize=7, color=GREY,
        )  # fmt: skip
    else:
        side: Literal["left", "right"] = "left" if place < low else "right"
        axes.set_title(f"{name} {place:.3g}, off to the {side}", loc=side, fontsize=7, color=GREY, pad=3)


def draw_by_language(
    values: Mapping[tuple[str, str], float],
    languages: Sequence[str],
    order: Sequence[str],
    styles: Mapping[str, Style],
    xlabel: str,
    *,
    width: float = FULL,
) -> Figure:
    """Draw one row per language with one mark per variant, and a legend of variants below.

    Args:
        values: values by (variant, language).
        languages: languages from top to bottom.
        order: variants in the order of the legend; those without a value are left out.
        styles: each variant's colour and mark.
        xlabel: measure of the values.
        width: width in inches (default: 6.8).
    """
    drawn = [variant for variant in order if any(name == variant for name, _ in values)]
    columns = max(int(width // 1.6), 1)
    with house_style():
        figure = new_figure(width, 0.75 + 0.17 * len(languages) + 0.14 * -(-len(drawn) // columns))
        axes = figure.subplots()
        for row, language in enumerate(languages):
            here = [values[variant, language] for variant in drawn if (variant, language) in values]
            axes.plot([min(here), max(here)], [row, row], color=RULE, lw=1.2, zorder=1)
        for variant in drawn:
            points = [
                (values[variant, language], row)
                for row, language in enumerate(languages)
                if (variant, language) in values
            ]
            across, up = zip(*points, strict=True)
            style = styles[variant]
            marks = axes.scatter(
                across, up, s=20, marker=style.mark, facecolors="none", edgecolors=style.colour,
                linewidths=0.9 * style.weight, zorder=2, label=variant,
            )  # fmt: skip
            figure.add_tooltip(marks, variant, *(f"{variant}, {languages[row]}: {x:,.4g}" for x, row in points))
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


_LINE = 0.115


def draw_by_model(
    averages: Mapping[tuple[str, str], float],
    models: Sequence[str],
    order: Sequence[str],
    styles: Mapping[str, Style],
    ylabel: str,
    *,
    width: float = FULL,
) -> Figure:
    """Draw one line per variant across models, with names at the right that do not overlap.

    Args:
        averages: average accuracy in percent, or another value, by (model, variant).
        models: models from left to right.
        order: variants; a variant with a single model has a mark and no line.
        styles: each variant's colour, mark and line.
        ylabel: measure of the values.
        width: width in inches (default: 6.8).
    """
    paths = {v: [(i, averages[m, v]) for i, m in enumerate(models) if (m, v) in averages] for v in order}
    paths = {variant: path for variant, path in paths.items() if path}
    with house_style():
        figure = new_figure(width, max(0.5 * width, 0.8 + 1.4 * _LINE * len(paths)))
        axes = figure.subplots()
        for variant, path in paths.items():
            style = styles[variant]
            (line,) = axes.plot(
                *zip(*path, strict=True), color=style.colour, marker=style.mark, ls=style.line, mfc=PAPER,
                lw=LINE * style.weight,
            )  # fmt: skip
            figure.add_tooltip(line, variant, *(f"{variant}, {models[place]}: {value:,.4g}" for place, value in path))
        axes.set_xticks(range(len(models)), models)
        axes.set_xlim(-0.15, len(models) - 0.85)
        axes.set_ylabel(ylabel)
        axes.grid(axis="y")
        low, high = axes.get_ylim()
        step = (high - low) * _LINE / (figure.get_figheight() - 0.6)
        ends = sorted((path[-1][1], variant) for variant, path in paths.items())
        heights = _shift_between(_spread([end for end, _ in ends], step), step, low, high)
        for height, (value, variant) in zip(heights, ends, strict=True):
            last = paths[variant][-1][0]
            colour = styles[variant].colour
            axes.annotate(
                variant,
                (last, value),
                xytext=(1.02, height),
                textcoords=("axes fraction", "data"),
                va="center",
                fontsize=7,
                fontweight=styles[variant].font,
                annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-",
                    "lw": 0.4,
                    "color": colour,
                    "shrinkB": 4,
                    "shrinkA": 0,
                    "relpos": (0, 0.5),
                },
            )
        return fix_layout(figure)


def _spread(values: Sequence[float], step: float) -> list[float]:
    """Return ascending values moved as little as possible so that neighbours differ by at least ``step``."""
    groups: list[list[float]] = []
    for value in values:
        groups.append([value])
        while len(groups) > 1 and _top(groups[-2], step) + step > _bottom(groups[-1], step):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bottom(group, step) + index * step for group in groups for index in range(len(group))]


def _shift_between(values: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Return ascending values with distance ``step``, moved between ``low`` and ``high`` if there is room."""
    raised = [max(value, low + index * step) for index, value in enumerate(values)]
    last = len(values) - 1
    return [min(value, high - (last - index) * step) for index, value in enumerate(raised)]


def _bottom(group: Sequence[float], step: float) -> float:
    return sum(group) / len(group) - step * (len(group) - 1) / 2


def _top(group: Sequence[float], step: float) -> float:
    return _bottom(group, step) + step * (len(group) - 1)
