"""The figure of docs/measured/performance.md, and the look of the benchmarks' figures.

The figures are SVG, legible to colour-blind readers, and the same for the same numbers.
"""

from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks.speed.summary import Entry
from benchmarks.speed.tasks import OURS
from tokbench.report.figures.svg import round_coordinates, shrink_file

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a", "#000000")
"""Okabe and Ito's palette."""
MARKS = ("o", "s", "^", "D", "v", "P", "X", "<", ">")
LOOK: dict[Any, Any] = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "figure.facecolor": "white",
    "svg.fonttype": "none",
    "svg.hashsalt": OURS,
    "legend.frameon": False,
}


def write(figure: Figure, path: Path) -> None:
    """Write a figure as SVG without a date, and close it."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    path.write_text(shrink_file(round_coordinates(text.getvalue())), encoding="utf-8")
    plt.close(figure)


def draw(tasks: list[tuple[str, list[Entry]]], measures: dict[str, str], path: Path) -> None:
    """Draw each library's time over Tokbench's: a panel for each measure, a row for each task.

    Args:
        tasks: Title and entries of each task.
        measures: Title of each measure.
        path: The file.
    """
    with plt.rc_context(LOOK):
        peers = dict.fromkeys(entry.peer for _, entries in tasks for entry in entries if not entry.ours)
        styles = {peer: (COLOURS[i % len(COLOURS)], MARKS[i % len(MARKS)]) for i, peer in enumerate(peers)}
        figure, panels = plt.subplots(
            1, len(measures), figsize=(9.2, 0.9 + 0.27 * len(tasks)), sharey=True, layout="constrained"
        )
        for (measure, title), axes in zip(measures.items(), panels, strict=True):
            for place, (_, entries) in enumerate(tasks):
                for entry in entries:
                    if measure in entry.ratios and not entry.ours:
                        colour, mark = styles[entry.peer]
                        axes.scatter(
                            entry.ratios[measure], place, 26, "none", marker=mark, edgecolors=colour, label=entry.peer
                        )
            axes.set_xscale("log")
            axes.axvline(1, color="#222222", linewidth=0.8)
            axes.set_title(title, fontsize=8)
            axes.grid(axis="y", color="#dddddd", linewidth=0.5)
            plain(axes)
        panels[0].set_yticks(range(len(tasks)), [title for title, _ in tasks])
        panels[0].invert_yaxis()
        figure.supxlabel(f"time, as a multiple of {OURS}'s (left of the line: faster)", fontsize=8)
        handles = {
            label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
        }
        figure.legend(handles.values(), handles.keys(), loc="outside right center")
        write(figure, path)


def plain(axes: Axes) -> None:
    """Show numbers instead of powers on a logarithmic axis."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
            axis.set_minor_locator(NullLocator())
