"""Vocabularies: how many tokens they share."""

from functools import partial

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Section
from tokbench.report.figures import venn
from tokbench.report.figures.style import styles
from tokbench.report.sections.origins import VOCABULARIES, tidy
from tokbench.report.tables import UNEXPLAINED, Column, Table
from tokbench.report.wording import slug


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
            caption = (
                f"Tokens in the vocabularies of {names[0]}, {names[1]} and {names[2]} at size {row['size']:,}. Areas "
                "are in proportion as nearly as three circles allow; the numbers are exact."
            )
            draw = partial(venn.draw, row, names, styles(content.variants))
            exhibits.append(Drawing(slug("venn", *names, row["size"]), caption, draw, tidy("venn")))
    overlaps = content.part("overlaps")
    if overlaps is None:
        missing.append(f"Overlaps: {content.why_missing('overlaps')}")
    else:
        frame = overlaps.sort("size", maintain_order=True)
        rows = enumerate(frame.iter_rows(named=True))
        reasons = {(index, "jaccard"): row.get("reason") or UNEXPLAINED for index, row in rows}
        columns = [
            Column("size", kind="count"), Column("a"), Column("b"),
            Column("shared", "shared tokens", "count"), Column("jaccard", kind="real", decimals=3),
        ]  # fmt: skip
        caption = "Tokens that two vocabularies of one size share; Jaccard: shared tokens / tokens in either."
        source = tidy("overlaps", *VOCABULARIES)
        exhibits.append(Table("overlaps", caption, frame, columns, reasons, source=source, folded=len(frame) > 40))
    return Section("vocabularies", "Vocabularies", exhibits=exhibits, missing=missing)
