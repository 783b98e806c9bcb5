"""Bits per byte of models over scale, with the fitted power law of each tokenizer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter

from tokbench.report.figures.style import FULL, GREY, LINE, Style, fix_layout, house_style, new_figure
from tokbench.report.wording import power_of_ten


@dataclass(frozen=True)
class Law:
    """A power law and the models that it is fitted to.

    Attributes:
        points: quantity and bits per byte of each model, from the smallest scale to the largest.
        intervals: 95 % interval of each model's bits per byte; None if unknown.
        coefficient, exponent: a and b of bits per byte = a x^-b.
    """

    points: Sequence[tuple[float, float]]
    intervals: Sequence[tuple[float, float] | None]
    coefficient: float
    exponent: float

    def at(self, x: float) -> float:
        """Return the bits per byte of the law."""
        return float(self.coefficient * x**-self.exponent)


def draw(
    panels: Mapping[str, Mapping[str, Law]],
    order: Sequence[str],
    styles: Mapping[str, Style],
    baseline: str,
    *,
    width: float = FULL,
) -> Figure:
    """Draw two rows of panels with a column for each quantity, both axes logarithmic.

    The upper row has bits per byte and the fitted lines. The lower row has the same relative to the baseline's line at
    the same quantity, because differences between tokenizers are small next to those between scales. It leaves out
    values outside the range of the baseline's models.

    Args:
        panels: label of the quantity -> tokenizer -> law.
        order: tokenizers in the order of the legend.
        styles: each tokenizer's colour, mark and line.
        baseline: tokenizer whose line is the reference of the lower row.
        width: width in inches (default: 6.8).
    """
    drawn = [variant for variant in order if any(variant in laws for laws in panels.values())]
    columns = max(int(width // 1.6), 1)
    with house_style():
        figure = new_figure(width, 4.2 + 0.14 * -(-len(drawn) // columns))
        grid = figure.subplots(2, len(panels), sharex="col", sharey="row", squeeze=False)
        handles = {}
        for (label, laws), (upper, lower) in zip(panels.items(), grid.T, strict=True):
            reference = laws.get(baseline)
            every = [x for law in laws.values() for x, _ in law.points]
            lower.axhline(0, color=GREY, lw=0.8, zorder=1)
            for name in (variant for variant in drawn if variant in laws):
                law, style = laws[name], styles[name]
                xs = [x for x, _ in law.points]
                path = np.geomspace(min(xs), max(xs), 40)
                look = {"color": style.colour, "ls": style.line, "lw": LINE * style.weight}
                (handles[name],) = upper.plot(path, [law.at(x) for x in path], **look)
                marks = upper.scatter(
                    xs, [y for _, y in law.points], s=14, marker=style.mark, facecolors="none",
                    edgecolors=style.colour, linewidths=0.9 * style.weight, zorder=3,
                )  # fmt: skip
                figure.add_tooltip(marks, name, *(f"{name}: {y:.4f} bits per byte at {x:.4g}" for x, y in law.points))
                if reference is None:
                    continue
                known = [x for x, _ in reference.points]
                low, high = max(min(xs), min(known)), min(max(xs), max(known))
                if low < high:
                    path = np.geomspace(low, high, 40)
                    lower.plot(path, [100 * (law.at(x) / reference.at(x) - 1) for x in path], **look)
                for (x, y), ends in zip(law.points, law.intervals, strict=True):
                    if not min(known) <= x <= max(known):
                        continue
                    share = 100 * (y / reference.at(x) - 1)
                    mark = lower.scatter(
                        [x], [share], s=14, marker=style.mark, facecolors="none", edgecolors=style.colour,
                        linewidths=0.9 * style.weight, zorder=3,
                    )  # fmt: skip
                    sentence = f"; 95 % interval {ends[0]:.4f} to {ends[1]:.4f}" if ends else ""
                    figure.add_tooltip(mark, name, f"{name}: {share:+.2f} %, {y:.4f} bits per byte{sentence}")
            for axes in (upper, lower):
                axes.set_xscale("log")
                axes.grid()
            _few_ticks(upper, every)
            lower.set_xlabel(label)
        grid[0][0].set_yscale("log")
        grid[0][0].yaxis.set_major_locator(MaxNLocator(5))
        grid[0][0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.3g}"))
        grid[0][0].yaxis.set_minor_formatter(NullFormatter())
        grid[0][0].set_ylabel("bits per byte")
        grid[1][0].set_ylabel(f"relative to {baseline} (%)")
        figure.legend(
            [handles[name] for name in drawn if name in handles], [name for name in drawn if name in handles],
            loc="outside lower center", ncols=columns, borderpad=0,
        )  # fmt: skip
        return fix_layout(figure)


def _few_ticks(axes: object, values: Sequence[float]) -> None:
    """Set three ticks at round numbers over the range of the values."""
    low, high = min(values), max(values)
    ticks = dict.fromkeys(float(f"{x:.1g}") for x in np.geomspace(low, high, 3).tolist())
    axes.set_xticks(list(ticks))  # type: ignore[attr-defined]
    axes.xaxis.set_major_formatter(FuncFormatter(_short))  # type: ignore[attr-defined]
    axes.xaxis.set_minor_formatter(NullFormatter())  # type: ignore[attr-defined]


def _short(value: float, _place: int | None) -> str:
    """Return a number in thousands, millions, billions or as a power of ten."""
    for factor, sign in ((1e9, " bn"), (1e6, " M"), (1e3, " k")):
        if factor <= value < 1000 * factor:
            return f"{value / factor:g}{sign}"
    if 0.001 <= value < 1000:
        return f"{value:g}"
    mantissa, exponent = f"{value:.0e}".split("e")
    return f"{mantissa}×{power_of_ten(int(exponent))}"
