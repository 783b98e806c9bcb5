"""Published values beside ours."""

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Section
from tokbench.report.sections.origins import inferred
from tokbench.report.tables import Column, Table


def published(content: ReportContent) -> Section | None:
    """One row per published value, its source named; None where the experiment has no published counterpart."""
    frame = content.part("published")
    if frame is None:
        return None
    columns = [
        Column("variant"), Column("size", kind="count"), Column("measure"),
        Column("ours", "ours", "mixed"), Column("published", "published (theirs)", "mixed"),
        Column("ours_on", "ours on"), Column("published_on", "theirs on"), Column("source"),
    ]  # fmt: skip
    columns = [column for column in columns if column.name in frame.columns]
    rows = range(len(frame))
    reasons = {(index, name): "not measured in this run" for index in rows for name in ("ours", "size")}
    reasons |= {(index, "published"): "not published" for index in rows}
    caption = (
        "Values as published, marked as theirs, beside the same measure of the same recipe at the same size in this "
        "run; accuracies as shares. Corpora differ where their names do."
    )
    table = Table(
        "published",
        caption,
        frame.with_columns(pl.col("measure").str.replace_all("_", " ")),
        columns,
        reasons,
        source=inferred("published"),
    )
    return Section("published", "Beside published values", exhibits=[table])
