"""Recomputation of published numbers: its page, with links to tables and figures."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tokbench.io.atomic import atomic_folder
from tokbench.published.facts import DIFFERS, MISSING, PAPERS, SAME, WITHIN, Statistic
from tokbench.published.recompute import model_sets, recompute, recompute_released
from tokbench.report.exhibits import Drawing, Table
from tokbench.report.figures.style import COLUMN, FULL, save
from tokbench.report.published_figures import drawings
from tokbench.report.published_tables import FAR, distinct_numbers, far_p_values, tables
from tokbench.report.sections.comparisons import power_statement
from tokbench.report.typeset import to_markdown, write_table

NARROW = {"venn": COLUMN, "figure-4": 4.6}
"""Figures of less than a page's width, in inches, by a part of their name."""


def write_published(folder: Path | str, released_folder: Path | str | None = None) -> list[Statistic]:
    """Recompute all numbers and write ``tables/``, ``figures/`` and ``README.md``; the folder is written atomically.

    Args:
        folder: output folder.
        released_folder: vocabularies released by the authors of "Tokenization Is More Than Compression", for figure 5
            and rows of table 11 (default: None; these are then listed as not recomputed).

    Returns:
        All derived numbers, recomputed, with the paper's numbers.

    Raises:
        TokbenchError: a released file is missing or not readable.
    """
    statistics = recompute()
    from_files = [] if released_folder is None else recompute_released(released_folder)
    sets = model_sets()
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
    numbers = distinct_numbers(statistics)
    counts = Counter(statistic.verdict for statistic in numbers)
    far = far_p_values(statistics)
    agreement, lacking = made[0], made[1]
    lines = [
        "# The papers, recomputed",
        "",
        "Four papers derive statistics from numbers that they print. These statistics, recomputed from the printed "
        "numbers: "
        + "; ".join(f"*{title}* (`{name}`)" for name, title in PAPERS.items())
        + ". Nothing is trained and no corpus is read.",
        "",
        f"The papers print {len(numbers)} different numbers, {len(statistics)} times in all. {counts[SAME]} agree to "
        f"all printed digits. {counts[WITHIN]} more agree within the rounding of the numbers that they are computed "
        f"from. {counts[DIFFERS]} differ. {counts[MISSING]} cannot be recomputed, because the paper does not print the "
        "numbers that they are computed from.",
        "",
        "```",
        "snakemake --cores 1 published" + " --config released=FOLDER" * from_files,
        "```",
        "",
        *(
            ["FOLDER contains vocabularies and token counts released by the authors of the first paper.", ""]
            * from_files
        ),
        to_markdown(agreement),
        "## Differences",
        "",
        *_rows(statistics, DIFFERS),
        "",
        f"## P-values that differ by more than {FAR:.0%}",
        "",
        "They agree within the rounding of their inputs. Accuracies are printed to a tenth of a percent, and a p-value "
        "of the signed-rank test changes with the order of nearly equal differences. Ours are of accuracies moved to "
        "the nearest share of right answers that the task's number of questions allows, so they are not of the printed "
        "numbers. Least and greatest are over all accuracies that print as the paper's.",
        "",
        *_value_rows(far),
        "",
        "## Not recomputed",
        "",
        *_rows(statistics, MISSING),
        "",
        to_markdown(lacking),
        "## Power of the comparisons of 350M models",
        "",
        power,
        "",
        "## Figures",
        "",
    ]
    for figure in figures:
        lines += [f"![{figure.caption}](figures/{figure.name}.svg)", "", figure.caption, ""]
    lines += ["## Tables", "", "The command above writes each to `tables/` as CSV, Markdown and LaTeX.", ""]
    lines += [f"- `{table.name}`: {table.caption}" for table in made]
    return "\n".join(lines) + "\n"


def _value_rows(statistics: Sequence[Statistic]) -> list[str]:
    rows = ["| printed in | a better than b | theirs | ours | least | greatest |", "|---|---|---|---|---|---|"]
    for number in statistics:
        spans = " | ".join(f"{value:.2g}" for value in (number.ours, number.low, number.high) if value is not None)
        rows.append(f"| {number.where} | `{number.a}`, `{number.b}` | {number.published} | {spans} |")
    return rows if statistics else ["None."]


def _rows(statistics: Sequence[Statistic], verdict: str) -> list[str]:
    chosen = [statistic for statistic in statistics if statistic.verdict == verdict]
    rows = ["| paper | printed in | number | theirs | ours | remark |", "|---|---|---|---|---|---|"]
    for number in chosen:
        name = number.statistic.replace("_", " ").replace(":", ", ")
        names = ", ".join(filter(None, (name, number.a, number.b, number.model, number.size)))
        ours = "–" if number.ours is None else f"{number.ours:,.{0 if number.ours == int(number.ours) else 3}f}"
        rows.append(f"| {number.paper} | {number.where} | {names} | {number.published} | {ours} | {number.note} |")
    return rows if chosen else ["Nothing."]
