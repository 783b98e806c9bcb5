"""Figures of differences: forest plots, critical-difference diagrams, and triangles of pairwise p-values.

Critical-difference diagrams follow figure 1 of Demsar (2006), triangles of p-values figure 2 of "Tokenization Is More
Than Compression".
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from math import ceil, floor, log10

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import MaxNLocator

from tokbench.report.figures.style import (
    BLACK,
    FULL,
    GREY,
    INK,
    OKABE_ITO,
    RULE,
    Style,
    fix_layout,
    house_style,
    new_figure,
)
from tokbench.report.wording import MINUS, probability
from tokbench.tabulation import limits

BY_TEST = (
    "a mark is filled if the difference is significant after correction for all pairs, hollow if it is not, and a "
    "cross if it is not tested"
)
"""Explanation of the marks of :func:`draw` for captions, with :attr:`Row.significant`."""
_BELOW = 28
"""Points from the axis down to the text on its two directions."""


@dataclass(frozen=True)
class Row:
    """One comparison.

    Attributes:
        name: variant that is compared.
        mean: mean difference.
        interval: its 95 % interval; None if there is none.
        note: text after the printed difference (default: none).
        tested: True if the difference is tested for significance (default: True).
        significant: result of the test; None if the mark depends on the interval (default).
        colour: colour of the mark.
        highlighted: True if the variant is highlighted (default: False).
    """

    name: str
    mean: float
    interval: tuple[float, float] | None
    note: str = ""
    tested: bool = True
    significant: bool | None = None
    colour: str = OKABE_ITO[0]
    highlighted: bool = False


def draw(
    rows: Sequence[Row],
    xlabel: str,
    *,
    against: str = "",
    unit: str = "",
    decimals: int | None = None,
    higher_is_better: bool = False,
    heading: str = "",
    width: float = FULL,
) -> Figure:
    """Draw a forest plot: for each comparison a mark, its interval, and both in numbers; worse is to the right.

    Marks are hollow if the difference is not significant, and crosses if it is not tested.

    Args:
        rows: comparisons from top to bottom.
        xlabel: measure of the differences, with its unit.
        against: reference, named below the axis on both sides of zero (default: none).
        unit: unit of each printed difference, such as "%" (default: none).
        decimals: digits of printed differences (default: fitted to the largest).
        higher_is_better: True if a positive difference is better; the axis then runs from right to left (default:
            False).
        heading: heading of the notes on the right (default: none).
        width: width in inches (default: 6.8).
    """
    with house_style():
        figure = new_figure(width, 0.72 + 0.17 * len(rows) + 0.16 * bool(against))
        axes = figure.subplots()
        axes.axvline(0, color=GREY, lw=0.8, zorder=1)
        digits = _decimals(rows) if decimals is None else decimals
        for place, row in enumerate(rows):
            if row.highlighted:
                axes.axhspan(place - 0.45, place + 0.45, color=RULE, lw=0, zorder=0)
            if row.interval is not None:
                axes.plot(row.interval, [place, place], color=row.colour, lw=1.2, zorder=2)
            fill = row.colour if _is_clear(row) else "white"
            sign = "o" if row.tested else "x"
            [mark] = axes.plot([row.mean], [place], marker=sign, ms=4, mec=row.colour, mfc=fill, mew=1.0, zorder=3)
            text = "  ".join(filter(None, [_printed(row, unit, digits), row.note]))
            figure.add_tooltip(mark, row.name, f"{row.name}: {text}; {xlabel}")
            axes.annotate(
                text, (1.02, place), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=INK,
                annotation_clip=False, fontweight="bold" if row.highlighted else "normal",
            )  # fmt: skip
        if heading:
            axes.annotate(
                heading, (1.02, -0.9), xycoords=("axes fraction", "data"), va="center", fontsize=7, color=GREY,
                annotation_clip=False,
            )  # fmt: skip
        for label, row in zip(axes.set_yticks(range(len(rows)), [row.name for row in rows]), rows, strict=True):
            label.label1.set_fontweight("bold" if row.highlighted else "normal")
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        axes.xaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
        axes.set_xlabel(xlabel, loc="right")
        if higher_is_better:
            axes.invert_xaxis()
        if against:
            better = any((row.mean > 0) == higher_is_better and row.mean != 0 for row in rows)
            _name_directions(axes, f"← better than {against}" * better, f"worse than {against} →")
        return fix_layout(figure)


def _name_directions(axes: Axes, left: str, right: str) -> None:
    """Write the text on both sides of zero below the axis."""
    for text, side, offset in ((left, "right", -4), (right, "left", 4 if left else 0)):
        if text:
            axes.annotate(
                text, (0, 0), xycoords=("data", "axes fraction"), xytext=(offset, -_BELOW), va="top",
                textcoords="offset points", ha=side, fontsize=7, color=GREY, annotation_clip=False,
            )  # fmt: skip


def _is_clear(row: Row) -> bool:
    if row.significant is not None:
        return row.significant
    return row.interval is not None and not row.interval[0] <= 0 <= row.interval[1]


def _decimals(rows: Sequence[Row]) -> int:
    """Return the decimals that give the largest difference three significant digits, from one to four."""
    largest = max(abs(row.mean) for row in rows)
    return min(max(2 - floor(log10(largest)), 1), 4) if largest > 0 else 1


def _printed(row: Row, unit: str, decimals: int) -> str:
    """Return a difference in print: ``+5.0 % [3.9, 6.0]``."""
    mean, *bounds = (f"{value:.{decimals}f}" for value in (row.mean, *(row.interval or ())))
    zero = f"{0:.{decimals}f}"
    bounds = [zero if float(bound) == 0 else bound for bound in bounds]
    mean = zero if float(mean) == 0 else f"{'+' * (row.mean > 0)}{mean}"
    text = f"{mean} {unit}".strip() + (f" [{', '.join(bounds)}]" if bounds else "")
    return text.replace("-", MINUS)


_LINE = 0.16
_BAR = 0.09
_TOP = 0.5
_LETTER = 0.056
"""Width of a letter, in inches."""
_NUMBER = 0.2
"""Width of a number of the scale, in inches."""


def draw_critical_difference(
    ranks: Mapping[str, float],
    critical: float,
    styles: Mapping[str, Style],
    *,
    of: int | None = None,
    width: float = FULL,
) -> Figure:
    """Draw variants by average rank, the best to the left, with names of the better half at the left.

    Args:
        ranks: average rank by variant, 1 the best possible.
        critical: difference of average ranks above which two variants differ significantly; a bar joins the others.
        styles: each variant's colour.
        of: number of ranked variants, if ``ranks`` has only the first of them; the scale then spans only these
            (default: None, ``ranks`` has all).
        width: width in inches (default: 6.8).
    """
    # Names of the better half are on the left, in lines below the bars.
    order = sorted(ranks, key=lambda variant: (ranks[variant], variant))
    groups = cliques(ranks, critical)
    half = -(-len(order) // 2)
    below = 0.12 + _BAR * len(groups)
    height = _TOP + below + _LINE * (half + 0.5)
    with house_style():
        figure = new_figure(width, height + 0.1)
        axes = figure.subplots()
        axes.set_axis_off()
        # The axis covers all ranks, or only those of the variants that are drawn.
        some = of is not None and of > len(order)
        low, high = (floor(min(ranks.values())), ceil(max(ranks.values()))) if some else (1, max(len(order), 2))
        axes.set_xlim(low, high)
        axes.set_ylim(height - _TOP, -_TOP)
        names = sum(max(map(len, side), default=0) + 7 for side in (order[:half], order[half:]))
        _scale(axes, low, max(high, low + 1), critical, width - _LETTER * names)
        # A bar joins variants without a significant difference.
        for level, group in enumerate(groups, 1):
            ends = [ranks[group[0]], ranks[group[-1]]]
            axes.plot(ends, [_BAR * level] * 2, color=INK, lw=2.2, solid_capstyle="round", zorder=3)
        # A line leads from each rank to its name at the edge.
        for place, variant in enumerate(order):
            left = place < half
            row = place if left else len(order) - 1 - place
            down = below + _LINE * (row + 0.5)
            edge = 0.0 if left else 1.0
            look = styles[variant]
            (line,) = axes.plot([ranks[variant]] * 2, [0, down], color=look.colour, lw=0.8 * look.weight, zorder=2)
            figure.add_tooltip(line, variant, f"{variant}: average rank {ranks[variant]:.2f}")
            axes.annotate(
                f"{variant}  {ranks[variant]:.2f}" if left else f"{ranks[variant]:.2f}  {variant}",
                (ranks[variant], down),
                xytext=(edge - 0.015 if left else edge + 0.015, down),
                textcoords=("axes fraction", "data"),
                ha="right" if left else "left",
                va="center",
                fontsize=7,
                fontweight=look.font,
                annotation_clip=False,
                arrowprops={
                    "arrowstyle": "-",
                    "lw": 0.8 * look.weight,
                    "color": look.colour,
                    "shrinkA": 1,
                    "shrinkB": 0,
                },
            )
        return fix_layout(figure)


def _scale(axes: Axes, low: int, high: int, critical: float, room: float) -> None:
    """Draw the line of ranks, with numbers as ``room`` inches allow, and the critical difference above it."""
    axes.plot([low, high], [0, 0], color=GREY, lw=0.8)
    step = max((high - low) // limits.MAX_PAIRWISE_VARIANTS, 1)
    numbers = max(int(room / _NUMBER), 2)
    step_shown = next(every for every in count(step, step) if (high - low) // every < numbers)
    for rank in range(low, high + 1, step):
        axes.plot([rank, rank], [0, -0.05], color=GREY, lw=0.6)
        if (rank - low) % step_shown == 0:
            axes.text(rank, -0.08, str(rank), ha="center", va="bottom", fontsize=7)
    end = min(low + critical, high)
    axes.plot([low, end], [-0.3, -0.3], color=INK, lw=0.8)
    for edge in (low, end):
        axes.plot([edge, edge], [-0.27, -0.33], color=INK if edge == low or end == low + critical else RULE, lw=0.8)
    axes.text((low + end) / 2, -0.34, f"critical difference {critical:.2f}", ha="center", va="bottom", fontsize=7)


def cliques(ranks: Mapping[str, float], critical: float) -> list[list[str]]:
    """Return the maximal runs of variants, by average rank, whose ends differ by at most the critical difference.

    Args:
        ranks: average rank by variant.
        critical: critical difference.

    Returns:
        Runs of two or more variants, the best first; no run contains another.
    """
    order = sorted(ranks, key=lambda variant: (ranks[variant], variant))
    groups: list[list[str]] = []
    end = 0
    for start, variant in enumerate(order):
        last = max(i for i in range(start, len(order)) if ranks[order[i]] - ranks[variant] <= critical)
        if last > start and last > end:
            groups.append(order[start : last + 1])
            end = last
    return groups


SIGNIFICANCE = 0.05
_FLOOR = 1e-6
_ROOM = 0.33
"""Least width of a cell with a written p-value, in inches."""
_COLOURS = colormaps["cividis"]
"""Perceptually uniform colours for all kinds of colour vision (Nuñez, Anderton and Renslow 2018)."""


def draw_p_values(
    p_values: Mapping[tuple[str, str], float | None], order: Sequence[str], *, width: float = FULL
) -> Figure:
    """Draw one cell per pair: the p-value that the column's variant, ranked higher, is better than the row's.

    Cells above 0.05 are outlined in black. p-values are written in cells with room for them; a pair without a p-value
    is crossed out.

    Args:
        p_values: one-sided p that a is better than b, by (a, b); None if there is none.
        order: variants by rank, the best first.
        width: greatest width in inches (default: 6.8).
    """
    count = len(order)
    with house_style():
        # Cells and letters shrink until the figure fits the width.
        letters = max(len(name) for name in order) + 4
        cells, room = count - 0.5, width - 0.15
        cell = min(0.46, max(room / (cells + 0.5 * letters), (room - letters * 0.06) / cells))
        type_size = min(7.0, 60 * cell)
        names = 0.15 + letters * type_size * 0.6 / 72
        figure = new_figure(min(width, names + cell * cells), cell * count + 0.45)
        axes = figure.subplots()
        # The upper triangle: the column is the better variant by rank.
        for column, row in combinations(range(count), 2):
            better, worse = order[column], order[row]
            p = p_values.get((better, worse))
            shape = _cell(axes, column, row, p, written=cell >= _ROOM)
            how = "no p-value" if p is None else f"p = {probability(p)}"
            figure.add_tooltip(shape, "", f"{better} better than {worse}: {how}")
        # Axes number the variants; narrow columns show every second number.
        shown = range(0, count - 1, 1 if cell > 0.12 else 2)
        axes.set_xticks(shown, [str(place + 1) for place in shown], fontsize=type_size)
        axes.set_yticks(range(count), [f"{name}  {place}" for place, name in enumerate(order, 1)], fontsize=type_size)
        axes.set_xlim(-0.5, count - 1)
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_aspect("equal")
        axes.tick_params(length=0)
        for side in ("left", "bottom"):
            axes.spines[side].set_visible(False)
        axes.set_xlabel("better variant, by rank", loc="right")
        if cell < _ROOM:
            _colour_key(axes)
        return fix_layout(figure)


def _shade(p: float) -> float:
    """Return the place on the colour scale: 0 at 1e-6 and below, 1 at p = 1, linear in the logarithm."""
    return 1 - log10(max(p, _FLOOR)) / log10(_FLOOR)


def _cell(axes: Axes, column: int, row: int, p: float | None, *, written: bool) -> Rectangle:
    """Draw one pair, and return its patch."""
    if p is None:
        crossed = Rectangle((column - 0.5, row - 0.5), 1, 1, fill=False, hatch="xxxx", edgecolor=RULE, lw=0)
        axes.add_patch(crossed)
        return crossed
    shape = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=_COLOURS(_shade(p)), lw=0)
    axes.add_patch(shape)
    if p > SIGNIFICANCE:
        axes.add_patch(Rectangle((column - 0.46, row - 0.46), 0.92, 0.92, fill=False, edgecolor=BLACK, lw=1.0))
    if written:
        text = probability(p) if p >= 0.001 else "<0.001"
        colour = BLACK if _shade(p) > 0.5 else "#f8f8f8"
        axes.text(column, row, text, ha="center", va="center", fontsize=6, color=colour)
    return shape


def _colour_key(axes: Axes, steps: int = 36) -> None:
    """Draw the key of the colours in the empty corner of the triangle."""
    key = axes.inset_axes((0.5, 0.9, 0.48, 0.035))
    for step in range(steps):
        key.add_patch(Rectangle((step / steps, 0), 1 / steps, 1, facecolor=_COLOURS((step + 0.5) / steps), lw=0))
    key.axvline(_shade(SIGNIFICANCE), color=BLACK, lw=1.0)
    key.set_xlim(0, 1)
    key.set_xticks([_shade(p) for p in (1e-6, 1e-4, 0.01, 1.0)], ["≤10⁻⁶", "", "0.01", "1"])
    key.set_yticks([])
    key.tick_params(labelsize=6, length=2)
    key.set_title("p; outlined above 0.05", fontsize=7)
    for spine in key.spines.values():
        spine.set_visible(False)
