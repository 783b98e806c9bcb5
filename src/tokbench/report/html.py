"""The report as one self-contained HTML file, and its tables and figures as separate files."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tokbench.io.atomic import atomic_file, atomic_folder
from tokbench.io.job_record import comment_of_job
from tokbench.report.answer import answers
from tokbench.report.caveats import caveats
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Cutting, Drawing, Heading, Section, Table
from tokbench.report.external_tokenizers import ExternalTokenizers
from tokbench.report.figures.style import COLUMN, FULL, SCREEN, inline, save
from tokbench.report.figures.svg import share_letters
from tokbench.report.layout import PrintedTable, layout, main_finding
from tokbench.report.sections.downstream import downstream
from tokbench.report.sections.evidence import evidence, ranking
from tokbench.report.sections.existing import existing
from tokbench.report.sections.experiment import configuration, examples, experiment, provenance, published, tokenizers
from tokbench.report.sections.intrinsic import intrinsic
from tokbench.report.sections.models import models
from tokbench.report.sections.rows import remaining_tables
from tokbench.report.sections.statistics import statistics
from tokbench.report.sections.translation import translation, vocabularies
from tokbench.report.typeset import markdown, write_table
from tokbench.report.wording import join_all, pluralise
from tokbench.tabulation import limits

_ORDER = (
    ranking,
    evidence,
    existing,
    examples,
    tokenizers,
    models,
    downstream,
    translation,
    statistics,
    intrinsic,
    vocabularies,
    published,
    experiment,
    configuration,
    provenance,
)
_OF_EXPERIMENT = "experiment"
"""The section that lists missing parts."""


_KEPT = ("variant", "tokenizers", "metric")
"""Columns that identify a row. The first of them in a table, or else its first column, stays visible when scrolled."""


@dataclass(frozen=True)
class _ShownTable:
    table: Table
    number: int
    layout: PrintedTable
    highlight: str = ""

    @property
    def names(self) -> list[str]:
        """CSS class of each column; not empty for columns that stay visible when the table is scrolled."""
        columns = [column.name for column in self.table.printed_columns]
        if {"a", "b"} <= set(columns):
            return [{"a": "pair name", "b": "pair second name"}.get(column, "") for column in columns]
        kept = next((name for name in _KEPT if name in columns), columns[0])
        return ["name" * (column == kept) for column in columns]

    @property
    def summary(self) -> str:
        """Line of a folded table: the first sentence of its caption, its number of rows, and its finding."""
        about = re.split(r"(?<=[.?;:])\s", self.table.caption, maxsplit=1)[0].rstrip(".;:")
        about += ":" * (not about.endswith("?"))
        finding = self.table.finding or main_finding(self.table, self.layout)
        return f"{about} {'; '.join(filter(None, [pluralise(len(self.layout.rows), 'row'), finding]))}"

    def row_class(self, index: int) -> str:
        """Return the CSS classes of a row: reference, highlighted, first of a group."""
        row = self.table.frame.row(index, named=True)
        groups = [name for name in self.table.groups if name in row]
        above = self.table.frame.row(index - 1, named=True) if index and groups else row
        classes = {
            "reference": index in self.table.reference_rows,
            "highlighted": bool(self.highlight) and self.highlight in (row.get(key) for key in ("variant", "a", "b")),
            "first": any(row[name] != above[name] for name in groups),
        }
        return " ".join(name for name, there in classes.items() if there)


@dataclass(frozen=True)
class _ShownFigure:
    drawing: Drawing
    number: int
    svg: Markup
    visible: bool


@dataclass(frozen=True)
class _ShownRow:
    """Consecutive figures, shown in two columns on wide pages."""

    figures: list[_ShownFigure]


_PAGE_ROWS = 120
"""Rows that the page shows of longer tables, whose files have all. Tables up to a quarter longer are shown in full."""


def _shown_table(content: ReportContent, table: Table, number: int) -> _ShownTable:
    """Return a table as the page shows it, with only the first rows of long tables by variant."""
    whole, count = layout(table), table.frame.height
    by_variant = {"variant", "a"} & set(table.frame.columns)
    most = limits.MAX_PRINTED if content.has_many_variants else _PAGE_ROWS
    if not by_variant or count <= most + most // 4:
        return _ShownTable(table, number, whole, content.highlight)
    rows = whole.rows[:most]
    letters = {cell.note for row in rows for cell in row}
    cut = replace(whole, rows=rows, reasons=[reason for reason in whole.reasons if reason[0] in letters])
    sentence = f"First {most} of {count:,} rows; all are in typeset/{table.name}.csv."
    return _ShownTable(replace(table, notes=[sentence, *table.notes]), number, cut, content.highlight)


def sections(content: ReportContent) -> list[Section]:
    """Return the sections that have content, in order of reading."""
    external = ExternalTokenizers(content)
    made = [external.add_notes(_with_remaining_tables(content, make(content))) for make in _ORDER]
    return [
        section for section in made if section.paragraphs or section.exhibits or section.missing or section.verbatim
    ]


def missing_parts(made: list[Section]) -> list[str]:
    """Return sentences on the missing parts of sections, one for each reason."""
    of: dict[str, list[str]] = {}
    for name, _, reason in (part.partition(": ") for section in made for part in section.missing):
        of.setdefault(reason, []).append(name[0].lower() + name[1:] if name[1:2].islower() else name)
    return [f"Not included: {join_all(list(dict.fromkeys(names)))}. {reason}" for reason, names in of.items()]


def _with_missing_parts_once(made: list[Section]) -> list[Section]:
    """Return the sections with content; one of them lists the missing parts of all."""
    lacking = missing_parts(made)
    return [
        replace(section, missing=lacking if section.identifier == _OF_EXPERIMENT else ())
        for section in made
        if any(not isinstance(exhibit, Heading) for exhibit in section.exhibits)
        or section.paragraphs
        or section.verbatim
    ]


def _with_remaining_tables(content: ReportContent, section: Section) -> Section:
    """Return a section with the declared tables that its module does not arrange."""
    return replace(section, exhibits=[*section.exhibits, *remaining_tables(content, section.identifier)])


def tables(content: ReportContent) -> list[Table]:
    """Return every table of the report."""
    return [exhibit for section in sections(content) for exhibit in section.exhibits if isinstance(exhibit, Table)]


def drawings(content: ReportContent) -> list[Drawing]:
    """Return every figure of the report."""
    return [exhibit for section in sections(content) for exhibit in section.exhibits if isinstance(exhibit, Drawing)]


def render(content: ReportContent, path: Path | str) -> None:
    """Write the report to one self-contained HTML file, atomically.

    Args:
        content: content of the report.
        path: path of the file.
    """
    made = _with_missing_parts_once(sections(content))
    drawn = [exhibit for section in made for exhibit in section.exhibits if isinstance(exhibit, Drawing)]
    shown_tables = [exhibit for section in made for exhibit in section.exhibits if isinstance(exhibit, Table)]
    letters, svgs = share_letters(
        [
            inline(drawing.draw(width=SCREEN), f"f{index}", drawing.says or drawing.caption)
            for index, drawing in enumerate(drawn, 1)
        ]
    )
    figures = iter(_numbered_figures(drawn, svgs))
    tables = count(1)
    shown = []
    for section in made:
        exhibits: list[_ShownTable | _ShownFigure | _ShownRow | Cutting | Heading] = []
        for exhibit in section.exhibits:
            if isinstance(exhibit, Table):
                exhibits.append(_shown_table(content, exhibit, next(tables)))
            elif not isinstance(exhibit, Drawing):
                exhibits.append(exhibit)
            elif (figure := next(figures)).drawing.folded:
                exhibits.append(figure)
            elif exhibits and isinstance(last := exhibits[-1], _ShownRow):
                last.figures.append(figure)
            else:
                exhibits.append(_ShownRow([figure]))
        shown.append(replace(section, exhibits=exhibits))  # type: ignore[arg-type]
    environment = Environment(
        loader=PackageLoader("tokbench.report"), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=StrictUndefined,
    )  # fmt: skip
    source = environment.loader
    assert source is not None
    part = partial(source.get_source, environment)
    page = environment.get_template("report.html").render(
        content=content,
        sections=shown,
        answers=answers(content),
        caveats=caveats(content),
        help_of="scoreboard" if any(table.name == "scoreboard" for table in shown_tables) else "existing",
        made=provenance_line(content),
        letters=Markup(letters),
        style=Markup(part("report.css")[0]),
        script=Markup(part("report.js")[0]),
        exhibits=Markup(part("exhibits.js")[0]),
        own_script=Markup(part("own_text.js")[0]),
    )
    with atomic_file(path) as unfinished:
        unfinished.write_text(page + comment_of_job(".html"), encoding="utf-8")


def _numbered_figures(drawn: Sequence[Drawing], svgs: Sequence[str]) -> Iterator[_ShownFigure]:
    """Yield figures with numbers. Figures of a series share a number, and the one of the largest size is visible."""
    largest: dict[str, int] = {}
    for drawing in drawn:
        largest[drawing.series] = max(drawing.size or 0, largest.get(drawing.series, 0))
    numbers: dict[str, int] = {}
    for drawing, svg in zip(drawn, svgs, strict=True):
        number = numbers.setdefault(drawing.series or f"figure {drawing.name}", len(numbers) + 1)
        visible = not drawing.series or drawing.size == largest[drawing.series]
        yield _ShownFigure(drawing, number, Markup(svg), visible)


def provenance_line(content: ReportContent) -> str:
    """Return the line under the title: version, revision, day and documents, each if known."""
    versions, revision = content.provenance.get("versions"), content.provenance.get("revision")
    version = versions.get("tokbench") if isinstance(versions, Mapping) else None
    evaluated = [documents for (_, split), (documents, _) in content.splits.items() if split == "evaluation"]
    known = [documents for documents in evaluated if documents is not None]
    parts = [
        f"Tokbench {version}" * bool(version),
        f"revision {str(revision)[:8]}{'+' * str(revision).endswith('+')}" * bool(revision),
        f"tokenizers built by {content.finished}" * bool(content.finished),
        f"{pluralise(sum(known), 'evaluation document')}" * bool(known),
    ]
    return " · ".join(filter(None, parts))


def write_tables(content: ReportContent, folder: Path | str) -> None:
    """Write every table as ``{name}.csv``, ``.md`` and ``.tex``; the folder is written atomically.

    Args:
        content: content of the report.
        folder: output folder.
    """
    with atomic_folder(folder, "typeset tables") as partial:
        for table in tables(content):
            write_table(table, partial / table.name)


def write_figures(content: ReportContent, folder: Path | str) -> None:
    """Write every figure as SVG and PNG, and its caption and finding as Markdown; the folder is written atomically.

    Files are ``{name}`` for a full page (6.8 inches) and ``{name}-column`` for one of two columns (3.3 inches).

    Args:
        content: content of the report.
        folder: output folder.
    """
    with atomic_folder(folder, "figures") as partial:
        for drawing in drawings(content):
            for width, stem in ((FULL, drawing.name), (COLUMN, f"{drawing.name}-column")):
                save(drawing.draw(width=width), partial / stem, drawing.caption, drawing.says)
            source = f" Source: {drawing.source}." if drawing.source else ""
            words = [markdown(drawing.caption + source), *([markdown(drawing.says)] if drawing.says else [])]
            (partial / f"{drawing.name}.md").write_text("\n\n".join(words) + "\n", encoding="utf-8")
