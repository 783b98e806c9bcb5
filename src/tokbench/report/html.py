"""The report: one HTML file that needs nothing but itself.

Tables and figures as files beside the report.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from tokbench.io.atomic import atomic_file, atomic_folder
from tokbench.report.answer import answers, caveats
from tokbench.report.content import ReportContent
from tokbench.report.external_tokenizers import Elsewhere
from tokbench.report.figures.style import COLUMN, FULL, SCREEN, inline, save
from tokbench.report.figures.svg import share_letters
from tokbench.report.layout import Cutting, Drawing, Heading, PrintedTable, Section, Table, layout, main_finding
from tokbench.report.sections.downstream import downstream
from tokbench.report.sections.evidence import evidence, ranking
from tokbench.report.sections.experiment import configuration, examples, experiment, provenance, published, tokenizers
from tokbench.report.sections.intrinsic import intrinsic
from tokbench.report.sections.models import models
from tokbench.report.sections.rows import remaining
from tokbench.report.sections.statistics import statistics
from tokbench.report.sections.translation import translation, vocabularies
from tokbench.report.typeset import markdown, write_table
from tokbench.report.wording import listed, pluralise
from tokbench.tabulation import columns

_ORDER = (
    ranking,
    evidence,
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
"""The section that says what is not there."""


_KEPT = ("variant", "tokenizers", "metric")
"""Columns that say what a row is of: the first of them that a table has stays in view, or its first column."""


@dataclass(frozen=True)
class _ShownTable:
    table: Table
    number: int
    layout: PrintedTable
    highlight: str = ""

    @property
    def names(self) -> list[str]:
        """The class of each column: what it is kept in view by where the table is scrolled, empty for most."""
        columns = [column.name for column in self.table.shown]
        if {"a", "b"} <= set(columns):
            return [{"a": "pair name", "b": "pair second name"}.get(column, "") for column in columns]
        kept = next((name for name in _KEPT if name in columns), columns[0])
        return ["name" * (column == kept) for column in columns]

    @property
    def summary(self) -> str:
        """The line of a folded table: the first sentence of its caption, its number of rows, and its finding."""
        about = re.split(r"(?<=[.?;:])\s", self.table.caption, maxsplit=1)[0].rstrip(".;:")
        about += ":" * (not about.endswith("?"))
        finding = self.table.finding or main_finding(self.table, self.layout)
        return f"{about} {'; '.join(filter(None, [pluralise(len(self.layout.rows), 'row'), finding]))}"

    def row_class(self, index: int) -> str:
        """The classes of a row: a reference, the highlighted variant's, the first of a group."""
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
    """Figures that follow each other, of which two are next to each other where the page is wide."""

    figures: list[_ShownFigure]


_PAGE_ROWS = 120
"""Rows of a table that the page shows of longer ones, whose files have all; a table with a quarter more is whole."""


def _shown(content: ReportContent, table: Table, number: int) -> _ShownTable:
    """A table as the page shows it: where variants are many, the first rows of one by variant, and where all are."""
    whole, count = layout(table), table.frame.height
    by_variant = {"variant", "a"} & set(table.frame.columns)
    most = columns.MAX_PRINTED if content.many else _PAGE_ROWS
    if not by_variant or count <= most + most // 4:
        return _ShownTable(table, number, whole, content.highlight)
    rows = whole.rows[:most]
    letters = {cell.note for row in rows for cell in row}
    cut = replace(whole, rows=rows, reasons=[reason for reason in whole.reasons if reason[0] in letters])
    told = f"The first {most} of {count:,} rows; all are in typeset/{table.name}.csv."
    return _ShownTable(replace(table, notes=[told, *table.notes]), number, cut, content.highlight)


def sections(content: ReportContent) -> list[Section]:
    """The sections in order of reading; one on published values only where there are some."""
    noted = Elsewhere(content).noted
    made = [noted(_whole(content, make(content))) for make in _ORDER]
    return [one for one in made if one.paragraphs or one.exhibits or one.missing or one.verbatim]


def missing(made: list[Section]) -> list[str]:
    """What the sections lack, each reason once."""
    of: dict[str, list[str]] = {}
    for name, _, reason in (one.partition(": ") for section in made for one in section.missing):
        of.setdefault(reason, []).append(name[0].lower() + name[1:] if name[1:2].islower() else name)
    return [f"Not here: {listed(list(dict.fromkeys(names)))}. {reason}" for reason, names in of.items()]


def _said_once(made: list[Section]) -> list[Section]:
    """The sections that show something, and in one of them what all of them lack."""
    lacking = missing(made)
    return [
        replace(one, missing=lacking if one.identifier == _OF_EXPERIMENT else ())
        for one in made
        if any(not isinstance(exhibit, Heading) for exhibit in one.exhibits) or one.paragraphs or one.verbatim
    ]


def _whole(content: ReportContent, section: Section) -> Section:
    """A section with the tables that are declared for it and that it does not arrange itself."""
    return replace(section, exhibits=[*section.exhibits, *remaining(content, section.identifier)])


def tables(content: ReportContent) -> list[Table]:
    """Every table of the report, to be written as CSV, Markdown and LaTeX."""
    return [exhibit for section in sections(content) for exhibit in section.exhibits if isinstance(exhibit, Table)]


def drawings(content: ReportContent) -> list[Drawing]:
    """Every figure of the report, to be drawn at any width."""
    return [exhibit for section in sections(content) for exhibit in section.exhibits if isinstance(exhibit, Drawing)]


def render(content: ReportContent, path: Path | str) -> None:
    """Write the report to one file, whole or not at all; it asks for no other file and no network."""
    made = _said_once(sections(content))
    drawn = [exhibit for section in made for exhibit in section.exhibits if isinstance(exhibit, Drawing)]
    letters, svgs = share_letters(
        [inline(one.draw(width=SCREEN), f"f{index}", one.says or one.caption) for index, one in enumerate(drawn, 1)]
    )
    figures = iter(_numbered(drawn, svgs))
    tables = count(1)
    shown = []
    for section in made:
        exhibits: list[_ShownTable | _ShownFigure | _ShownRow | Cutting | Heading] = []
        for exhibit in section.exhibits:
            if isinstance(exhibit, Table):
                exhibits.append(_shown(content, exhibit, next(tables)))
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
        made=made_of(content),
        letters=Markup(letters),
        style=Markup(part("report.css")[0]),
        script=Markup(part("report.js")[0]),
        exhibits=Markup(part("exhibits.js")[0]),
        own_script=Markup(part("own_text.js")[0]),
    )
    with atomic_file(path) as unfinished:
        unfinished.write_text(page, encoding="utf-8")


def _numbered(drawn: Sequence[Drawing], svgs: Sequence[str]) -> Iterator[_ShownFigure]:
    """Figures with their numbers; those of a series share one, and that of its largest size is visible."""
    largest: dict[str, int] = {}
    for drawing in drawn:
        largest[drawing.series] = max(drawing.size or 0, largest.get(drawing.series, 0))
    numbers: dict[str, int] = {}
    for drawing, svg in zip(drawn, svgs, strict=True):
        number = numbers.setdefault(drawing.series or f"figure {drawing.name}", len(numbers) + 1)
        visible = not drawing.series or drawing.size == largest[drawing.series]
        yield _ShownFigure(drawing, number, Markup(svg), visible)


def made_of(content: ReportContent) -> str:
    """Return the line under the title: version, revision, day and documents, as far as they are known."""
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
