"""Average accuracy of each variant under each model (figure 6 of "Tokenization Is More Than Compression")."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from tokbench.report.figures.style import FULL, PAPER, Style, fix_layout, house_style, new_figure

_LINE = 0.115


def draw(
    averages: Mapping[tuple[str, str], float],
    models: Sequence[str],
    order: Sequence[str],
    styles: Mapping[str, Style],
    ylabel: str,
    *,
    width: float = FULL,
) -> Figure:
    """One line per variant across the models that trained with it; names stand at the right end, moved apart.

    Args:
        averages: (model, variant) -> average accuracy in percent.
        models: from left to right.
        order: variants; one under a single model has a mark and no line.
        styles: each variant's colour, mark and line.
        ylabel: what the averages are.
        width: inches.
    """
    paths = {v: [(i, averages[m, v]) for i, m in enumerate(models) if (m, v) in averages] for v in order}
    paths = {variant: path for variant, path in paths.items() if path}
    with house_style():
        figure = new_figure(width, max(0.5 * width, 0.8 + 1.4 * _LINE * len(paths)))
        axes = figure.subplots()
        for variant, path in paths.items():
            style = styles[variant]
            (line,) = axes.plot(
                *zip(*path, strict=True), color=style.colour, marker=style.mark, ls=style.line, mfc=PAPER
            )
            figure.add_tooltip(line, variant, *(f"{variant}, {models[place]}: {value:,.4g}" for place, value in path))
        axes.set_xticks(range(len(models)), models)
        axes.set_xlim(-0.15, len(models) - 0.85)
        axes.set_ylabel(ylabel)
        axes.grid(axis="y")
        low, high = axes.get_ylim()
        step = (high - low) * _LINE / (figure.get_figheight() - 0.6)
        ends = sorted((path[-1][1], variant) for variant, path in paths.items())
        heights = _within(_apart([end for end, _ in ends], step), step, low, high)
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


def _apart(values: Sequence[float], step: float) -> list[float]:
    """Ascending values moved as little as needed, up and down alike, for neighbours to be at least ``step`` apart."""
    groups: list[list[float]] = []
    for value in values:
        groups.append([value])
        while len(groups) > 1 and _top(groups[-2], step) + step > _bottom(groups[-1], step):
            groups[-2:] = [groups[-2] + groups[-1]]
    return [_bottom(group, step) + index * step for group in groups for index in range(len(group))]


def _within(values: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Ascending values that are ``step`` apart, moved between ``low`` and ``high`` as far as there is room."""
    raised = [max(value, low + index * step) for index, value in enumerate(values)]
    last = len(values) - 1
    return [min(value, high - (last - index) * step) for index, value in enumerate(raised)]


def _bottom(group: Sequence[float], step: float) -> float:
    return sum(group) / len(group) - step * (len(group) - 1) / 2


def _top(group: Sequence[float], step: float) -> float:
    return _bottom(group, step) + step * (len(group) - 1)
