"""Scatter plots with labels that do not overlap (figure 3 of "Tokenization Is More Than Compression")."""

from collections.abc import Mapping, Sequence
from itertools import product
from math import cos, pi, sin

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Bbox

from tokbench.report.figures.style import (
    FULL,
    GREY,
    INK,
    Style,
    areas,
    fix_layout,
    house_style,
    in_units,
    new_figure,
    size_key,
)

_RADII = (5.0, 9.0, 14.0, 20.0, 28.0, 38.0)
_DIRECTIONS = (0, 2, 6, 4, 1, 7, 3, 5)
_LEADER_FROM = 12.0
_NAMES_UP_TO = 8


def place_labels(axes: Axes, labels: Sequence[tuple[float, float, str]], points: Sequence[tuple[float, float]]) -> None:
    """Write each label near its point, without overlap if possible.

    Greedy, in order: each label gets the nearest of 48 places around its point that is within the axes and covers
    neither an earlier label nor a point. If there is none, it gets the place that covers least. A thin line joins a
    distant label to its point. The figure's layout must be fixed.

    Args:
        axes: axes with the points.
        labels: (x, y, text) in data units.
        points: all points to keep clear, in data units.
    """
    figure = axes.get_figure()
    assert isinstance(figure, Figure)
    renderer = FigureCanvasAgg(figure).get_renderer()
    pixels = figure.dpi / 72
    frame = axes.get_window_extent(renderer)
    half = 2.6 * pixels
    taken = [
        Bbox.from_extents(x - half, y - half, x + half, y + half) for x, y in axes.transData.transform(list(points))
    ]
    for x, y, text in labels:
        here = axes.transData.transform((x, y))
        label = axes.annotate(
            text, (x, y), xytext=(0, 0), textcoords="offset points", ha="center", va="center", fontsize=7
        )
        label.set_in_layout(False)
        extent = label.get_window_extent(renderer)
        best: tuple[float, float, tuple[float, float], Bbox] | None = None
        for radius, direction in product(_RADII, _DIRECTIONS):
            angle = direction * pi / 4
            offset = (
                cos(angle) * (radius + extent.width / pixels / 2), sin(angle) * (radius + extent.height / pixels / 4)
            )  # fmt: skip
            centre = (here[0] + offset[0] * pixels, here[1] + offset[1] * pixels)
            box = Bbox.from_bounds(
                centre[0] - extent.width / 2, centre[1] - extent.height / 2, extent.width, extent.height
            )
            cover = sum(_overlap(box, other) for other in taken) + _outside(box, frame)
            if best is None or cover < best[0]:
                best = (cover, radius, offset, box)
            if cover == 0:
                break
        assert best is not None
        _, radius, offset, box = best
        label.set_position(offset)
        if radius >= _LEADER_FROM:
            axes.annotate(
                "", (x, y), xytext=offset, textcoords="offset points", annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": GREY, "lw": 0.4, "shrinkA": 4, "shrinkB": 2},
            ).set_in_layout(False)  # fmt: skip
        taken.append(box)


def _overlap(a: Bbox, b: Bbox) -> float:
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    return float(width * height) if width > 0 and height > 0 else 0.0


def _outside(box: Bbox, frame: Bbox) -> float:
    return float(box.width * box.height) - _overlap(box, frame)


def draw(
    points: Mapping[tuple[str, int], tuple[float, float]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    xlabel: str,
    ylabel: str,
    *,
    correlation: tuple[float, int] | None = None,
    interval: tuple[float, float] | None = None,
    coefficient: str = "r",
    others: Sequence[tuple[float, float]] = (),
    width: float = FULL,
) -> Figure:
    """Draw one mark per tokenizer, larger for larger vocabularies; a thin line joins the sizes of one variant.

    Labels are names for up to eight variants. For more, they are ranks with a legend.

    Args:
        points: (x, y) by (variant, size).
        order: variants by rank, the best first.
        styles: each variant's colour and mark.
        xlabel: measure of x, with unit and split.
        ylabel: measure of y, with unit and split.
        correlation: a correlation and its n, written in a corner (default: None).
        interval: interval of the correlation, written after it (default: None).
        coefficient: sign of the correlation (default: r, Pearson's).
        others: points of tokenizers without names (default: none).
        width: width in inches (default: 6.8).
    """
    drawn = [(rank, variant) for rank, variant in enumerate(order, 1) if any(v == variant for v, _ in points)]
    sizes = sorted({size for _, size in points})
    area = areas(sizes)
    ranked = len(drawn) > _NAMES_UP_TO
    beside = ranked and width > 4
    with house_style():
        figure = new_figure(width, 0.62 * width if beside else 0.78 * width + (0.13 * -(-len(drawn) // 2)) * ranked)
        axes = figure.subplots()
        labels = []
        if others:
            across, up = zip(*others, strict=True)
            axes.scatter(across, up, s=3, color=GREY, alpha=0.4, linewidths=0, rasterized=True, zorder=0)
        for rank, variant in drawn:
            style = styles[variant]
            at = [size for size in sizes if (variant, size) in points]
            path = [points[variant, size] for size in at]
            across, up = zip(*path, strict=True)
            axes.plot(across, up, color=style.colour, lw=0.6 * style.weight, alpha=0.5, zorder=1)
            marks = axes.scatter(
                across,
                up,
                s=[area[size] for size in at],
                marker=style.mark, facecolors="none", edgecolors=style.colour, linewidths=0.9 * style.weight,
                zorder=2,
                label=f"{rank}  {variant}",
            )  # fmt: skip
            texts = (f"{variant} at {size:,}: {x:,.6g}; {y:,.4g}" for size, (x, y) in zip(at, path, strict=True))
            figure.add_tooltip(marks, variant, *texts)
            labels.append((*path[-1], str(rank) if ranked else variant))
        axes.margins(0.08)
        axes.grid()
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.set_xlabel(xlabel + in_units(axes.xaxis, max(x for x, _ in points.values())))
        axes.set_ylabel(ylabel)
        if len(sizes) > 1:
            size_key(figure, sizes)
        if ranked:
            figure.legend(
                *axes.get_legend_handles_labels(), loc="outside right center" if beside else "outside lower center",
                ncols=1 if beside else 2, handletextpad=0.2, labelspacing=0.35, columnspacing=1.0, borderpad=0,
            )  # fmt: skip
        if correlation is not None:
            ends = "" if interval is None else f" ({interval[0]:.3f} to {interval[1]:.3f})"
            sentence = f"{coefficient} = {correlation[0]:.3f}{ends}, n = {correlation[1]}"
            axes.set_title(sentence.replace("-", "−"), loc="left", color=INK)
        fix_layout(figure)
        place_labels(axes, labels, list(points.values()))
        return figure
