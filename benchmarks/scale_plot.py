"""The figure of docs/scale.md: time, memory and disk of every stage by size of text."""

from pathlib import Path

import matplotlib.pyplot as plt
from plots import COLOURS, LOOK, MARKS, plain, write
from scale_summary import STAGES, Rows, pretokens, sizes, taken

PANELS = (
    ("processor time, s", "processor", 1.0),
    ("memory of a process, MB", "peak_mb", 1.0),
    ("disk, MB", "disk", 1e-6),
)


def draw(rows: Rows, path: Path) -> None:
    """Write the figure, the same for the same numbers."""
    with plt.rc_context(LOOK):
        figure, axes = plt.subplots(1, len(PANELS), figsize=(9, 4.6), layout="constrained")
        for place, stage in enumerate(STAGES):
            found = [one for size in sizes(rows) if (one := taken(rows, stage, size)) and not one.error]
            if not found:
                continue
            text = [pretokens(rows, one.gigabytes)[0] / 1e9 for one in found]
            for panel, (_, key, unit) in zip(axes, PANELS, strict=True):
                panel.plot(
                    text,
                    [unit * getattr(one, key) for one in found],
                    color=COLOURS[place % len(COLOURS)],
                    marker=MARKS[place % len(MARKS)],
                    markersize=4,
                    linewidth=1.1,
                    linestyle="-" if place < len(COLOURS) else "--" if place < 2 * len(COLOURS) else ":",
                    label=stage.name,
                )
        for panel, (title, _, _) in zip(axes, PANELS, strict=True):
            panel.set_xscale("log", base=2)
            panel.set_yscale("log")
            plain(panel)
            panel.set_xlabel("text, GB")
            panel.set_title(title, size=8)
            panel.grid(color="#dddddd", linewidth=0.5)
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
        write(figure, path)
