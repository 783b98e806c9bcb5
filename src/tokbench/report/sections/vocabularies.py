"""Vocabularies: how many tokens they share."""

from functools import partial

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Section
from tokbench.report.figures import venn
from tokbench.report.figures.style import styles
from tokbench.report.findings import shared
from tokbench.report.layout import Table
from tokbench.report.sections.origins import source_of
from tokbench.report.sections.rows import rows
from tokbench.report.wording import slug
from tokbench.tabulation.overlaps import OVERLAPS
from tokbench.tabulation.venn import VENN


def vocabularies(content: ReportContent) -> Section:
    """Three vocabularies as circles, and the overlap of every pair."""
    exhibits: list[Table | Drawing] = []
    missing = []
    regions = content.part("venn")
    if regions is None:
        missing.append(f"Venn diagram: {content.why_missing('venn')}")
    else:
        for row in regions.iter_rows(named=True):
            names = [row[letter] for letter in "abc"]
            at = {key: row[key] for key in VENN.prints[0].by}
            caption = VENN.prints[0].caption.format(**at)
            draw = partial(venn.draw, row, names, styles(content.variants))
            name, says = slug("venn", *names, row["size"]), shared(row, names)
            exhibits.append(Drawing(name, caption, draw, source_of(VENN), says=says))
    overlaps = content.part("overlaps")
    if overlaps is None:
        missing.append(f"Overlaps: {content.why_missing('overlaps')}")
    else:
        exhibits.append(rows(OVERLAPS, content.read(overlaps.sort("size", maintain_order=True))))
    return Section("vocabularies", "Vocabularies", exhibits=exhibits, missing=missing)
