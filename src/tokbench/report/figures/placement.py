"""Labels beside points, placed so that none covers another label or a point."""

from collections.abc import Sequence
from itertools import product
from math import cos, pi, sin

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.transforms import Bbox

from tokbench.report.figures.style import GREY

_RADII = (5.0, 9.0, 14.0, 20.0, 28.0, 38.0)
_DIRECTIONS = (0, 2, 6, 4, 1, 7, 3, 5)
_LEADER_FROM = 12.0


def place_labels(axes: Axes, labels: Sequence[tuple[float, float, str]], points: Sequence[tuple[float, float]]) -> None:
    """Write each label near its point.

    Greedy: labels come in order; each takes the nearest of 48 places around its point that lies within the axes and
    covers neither an earlier label nor a point, or else the place that covers least. A label far from its point is
    joined to it by a thin line. The figure's layout must be settled.

    Args:
        axes: where the points are.
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
