"""Write the recomputation: tables, figures and a page that leads to them."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tokbench.atomic import atomic_folder
from tokbench.published.agreement import DIFFERS, MISSING, SAME, WITHIN, Statistic
from tokbench.published.comparisons import compared
from tokbench.published.drawings import drawings
from tokbench.published.exhibits import tables
from tokbench.published.facts import PAPERS
from tokbench.published.recompute import recompute
from tokbench.published.released import released
from tokbench.report.exhibits import Drawing
from tokbench.report.figures.style import COLUMN, FULL, save
from tokbench.report.layout import Table
from tokbench.report.sections.comparisons import power_statement
from tokbench.report.typeset import to_markdown, write_table

NARROW = {"venn": COLUMN, "figure-4": 4.6}
"""Figures of less than a page's width, in inches, by a part of their name."""


def write_published(folder: Path | str, released_folder: Path | str | None = None) -> list[Statistic]:
    """Recompute everything and write ``tables/``, ``figures/`` and ``README.md``, the folder whole or not at all.

    Args:
        folder: where it goes.
        released_folder: the vocabularies that the authors of "Tokenization Is More Than Compression" released, for
            figure 5 and rows of table 11; without them these are listed as not recomputed.

    Returns:
        Every derived number beside the paper's.

    Raises:
        TokbenchError: a released file is missing or not readable.
    """
    statistics = recompute()
    from_files = [] if released_folder is None else released(released_folder)
    sets = compared()
    made = tables(statistics, from_files, sets)
    figures = drawings(sets[0], sets[1], statistics)
    with atomic_folder(folder, "published") as partial:
        for table in made:
            write_table(table, partial / "tables" / table.name)
        for figure in figures:
            width = next((width for part, width in NARROW.items() if part in figure.name), FULL)
            save(figure.draw(width=width), partial / "figures" / figure.name)
        everything = [*statistics, *from_files]
        page = _page(everything, made, figures, power_statement(sets[0].power), bool(from_files))
        (partial / "README.md").write_text(page, encoding="utf-8")
    return everything


def _page(
    statistics: Sequence[Statistic], made: list[Table], figures: list[Drawing], power: str, from_files: bool
) -> str:
    counts = Counter(statistic.verdict for statistic in statistics)
    agreement, lacking = made[0], made[1]
    lines = [
        "# The papers, recomputed",
        "",
        "What four papers derive from the numbers they print, recomputed from these numbers: "
        + "; ".join(f"*{title}* (`{name}`)" for name, title in PAPERS.items())
        + ". Nothing is trained and no corpus is read.",
        "",
        f"Of {len(statistics)} numbers {counts[SAME]} come out as printed, {counts[WITHIN]} as near as the rounding of "
        f"the printed tables allows, {counts[DIFFERS]} do not, and {counts[MISSING]} rest on numbers that are not "
        "printed.",
        "",
        "```",
        "snakemake --cores 1 published" + " --config released=FOLDER" * from_files,
        "```",
        "",
        *(
            ["FOLDER holds vocabularies and token counts that the authors of the first paper released.", ""]
            * from_files
        ),
        to_markdown(agreement),
        "## What differs",
        "",
        *_rows(statistics, DIFFERS),
        "",
        "## What is not recomputed",
        "",
        *_rows(statistics, MISSING),
        "",
        to_markdown(lacking),
        "## What the 350M models could not have shown",
        "",
        power,
        "",
        "## Figures",
        "",
    ]
    for figure in figures:
        lines += [f"![{figure.caption}](figures/{figure.name}.svg)", "", figure.caption, ""]
    lines += ["## Tables", "", "Each in `tables/` as CSV, Markdown and LaTeX, which the command above writes.", ""]
    lines += [f"- `{table.name}`: {table.caption}" for table in made]
    return "\n".join(lines) + "\n"


def _rows(statistics: Sequence[Statistic], verdict: str) -> list[str]:
    chosen = [statistic for statistic in statistics if statistic.verdict == verdict]
    rows = ["| paper | printed in | number | theirs | ours | remark |", "|---|---|---|---|---|---|"]
    for one in chosen:
        what = ", ".join(
            filter(None, (one.statistic.replace("_", " ").replace(":", ", "), one.a, one.b, one.model, one.size))
        )
        ours = "–" if one.ours is None else f"{one.ours:,.{0 if one.ours == int(one.ours) else 3}f}"
        rows.append(f"| {one.paper} | {one.where} | {what} | {one.published} | {ours} | {one.note} |")
    return rows if chosen else ["Nothing."]
