"""Tables and figures as files beside the report."""

from pathlib import Path

from tokbench.atomic import atomic_folder
from tokbench.report.content import ReportContent
from tokbench.report.figures.style import COLUMN, FULL, save
from tokbench.report.html import drawings, tables
from tokbench.report.typeset import markdown, write_table


def write_tables(content: ReportContent, folder: Path | str) -> None:
    """Every table of the report as ``{name}.csv``, ``.md`` and ``.tex``; the folder appears whole or not at all."""
    with atomic_folder(folder, "typeset tables") as partial:
        for table in tables(content):
            write_table(table, partial / table.name)


def write_figures(content: ReportContent, folder: Path | str) -> None:
    """Every figure as ``{name}.svg`` and ``.png`` for a full page, and as ``{name}-column`` for one of two columns, its
    caption and what it shows as ``{name}.md``; the folder appears whole or not at all."""
    with atomic_folder(folder, "figures") as partial:
        for drawing in drawings(content):
            for width, stem in ((FULL, drawing.name), (COLUMN, f"{drawing.name}-column")):
                save(drawing.draw(width=width), partial / stem, drawing.caption, drawing.says)
            source = f" Source: {drawing.source}." if drawing.source else ""
            words = [markdown(drawing.caption + source), *([markdown(drawing.says)] if drawing.says else [])]
            (partial / f"{drawing.name}.md").write_text("\n\n".join(words) + "\n", encoding="utf-8")
