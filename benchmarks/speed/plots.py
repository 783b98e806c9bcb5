"""Figures of docs/measured/performance.md: SVG, colour-blind safe, identical for identical numbers."""

from io import StringIO
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from benchmarks.speed.summary import OURS, Entry, Row, entries, growth, tasks_of
from tokbench.report.figures.svg import compact, tight

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#7a7a7a", "#000000")
"""Palette of Okabe and Ito."""
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
ROW = 0.17
"""Height of a bar, in inches."""


def draw(rows: list[Row], folder: Path) -> None:
    """Write ``peers.svg``, ``memory.svg`` and ``growth.svg``."""
    with plt.rc_context(LOOK):
        found = [(title, *entries(runs)) for title, runs in tasks_of(rows, "peers")]
        figures = {"peers": ratios(found), "memory": memory(found), "growth": curves(rows)}
        for name, figure in figures.items():
            write(figure, folder / f"{name}.svg")


def write(figure: Figure, path: Path) -> None:
    """Write a figure as SVG without a date, and close it."""
    text = StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    path.write_text(tight(compact(text.getvalue())), encoding="utf-8")
    plt.close(figure)


def ratios(found: list[tuple[str, Entry, list[Entry]]]) -> Figure:
    """Draw the time of each peer as a multiple of Tokbench's, on a logarithmic scale."""
    bars = [
        (f"{title}: {peer.label}", peer.ratio)
        for title, _, peers in found
        for peer in sorted((peer for peer in peers if not peer.note), key=lambda peer: peer.ratio)
    ]
    figure, axes = plt.subplots(figsize=(6.8, 0.8 + ROW * len(bars)))
    places = range(len(bars))
    values = [ratio for _, ratio in bars]
    axes.barh(places, [ratio - 1 for ratio in values], left=1, height=0.7, color=COLOURS[0])
    for place, ratio in zip(places, values, strict=True):
        axes.annotate(f"{ratio:.1f}", (max(ratio, 1), place), (3, 0), textcoords="offset points", va="center", size=7)
    axes.set_yticks(list(places), [label for label, _ in bars])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.axvline(1, color="#222222", linewidth=0.8)
    axes.set_xlabel(f"work, as a multiple of {OURS}'s (one thread)")
    plain(axes)
    return figure


def memory(found: list[tuple[str, Entry, list[Entry]]]) -> Figure:
    """Draw the peak memory of the process, one mark per package."""
    packages = dict.fromkeys([OURS, *(peer.label.split(" ")[0] for _, _, peers in found for peer in peers)])
    styles = {name: (COLOURS[place % len(COLOURS)], MARKS[place % len(MARKS)]) for place, name in enumerate(packages)}
    figure, axes = plt.subplots(figsize=(6.8, 1.2 + 0.26 * len(found)))
    for place, (_, ours, peers) in enumerate(found):
        for entry in (*(peer for peer in peers if not peer.note), ours):
            package = entry.label.split(" ")[0]
            colour, mark = styles[package]
            filled = colour if package == OURS else "none"
            axes.scatter(entry.peak, place, 36, facecolors=filled, edgecolors=colour, marker=mark, label=package)
    axes.set_yticks(range(len(found)), [title for title, _, _ in found])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("peak memory of the process, MiB")
    axes.grid(axis="y", color="#dddddd", linewidth=0.5)
    handles, labels = axes.get_legend_handles_labels()
    unique = dict(zip(labels, handles, strict=True))
    axes.legend(unique.values(), unique.keys(), loc="upper left", bbox_to_anchor=(1, 1))
    plain(axes)
    return figure


def curves(rows: list[Row]) -> Figure:
    """Draw the time by size of the text, size of the vocabulary and number of threads."""
    names = {"share": "part of the text", "size": "tokens of the vocabulary", "threads": "threads"}
    figure, panels = plt.subplots(1, 3, figsize=(8.6, 3.2), layout="constrained", sharey=True)
    found = {by: growth(rows, by) for by in names}
    titles = list(dict.fromkeys(title for series in found.values() for title in series))
    for (by, name), axes in zip(names.items(), panels, strict=True):
        for place, title in enumerate(titles):
            if title in found[by]:
                axes.plot(
                    list(found[by][title]),
                    list(found[by][title].values()),
                    color=COLOURS[place % len(COLOURS)],
                    marker=MARKS[place % len(MARKS)],
                    markersize=4,
                    linewidth=1.2,
                    label=title,
                )
        values = sorted({value for series in found[by].values() for value in series})
        axes.set_xscale("log", base=2)
        axes.set_yscale("log")
        plain(axes)
        axes.set_xticks(values, [f"{value:,.0f}" if value > 100 else f"{value:g}" for value in values])
        axes.set_xlabel(name)
        axes.grid(color="#dddddd", linewidth=0.5)
    panels[0].set_ylabel("work, s")
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4)
    return figure


def plain(axes: Axes) -> None:
    """Label a logarithmic axis with plain numbers."""
    for axis in (axes.xaxis, axes.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(NullFormatter())
            axis.set_minor_locator(NullLocator())
