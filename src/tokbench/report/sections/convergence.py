"""Checkpoints along the way: a figure and a table for each model and suite that were asked for them."""

from functools import partial

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing
from tokbench.report.figures import convergence
from tokbench.report.figures.style import styles
from tokbench.report.findings import between
from tokbench.report.layout import Table
from tokbench.report.sections.origins import source_of
from tokbench.report.sections.rows import in_order
from tokbench.report.wording import slug
from tokbench.statistics.verdicts import ONE_TRAINING
from tokbench.tabulation.convergence import CONVERGENCE

MEASURES = {"bits_per_byte": "bits per byte", "accuracy": "accuracy (%)"}


def convergences(content: ReportContent) -> list[Table | Drawing]:
    """A figure and its numbers for each model and suite; none where no checkpoints were kept."""
    part = content.part("convergence")
    if part is None:
        return []
    exhibits: list[Table | Drawing] = []
    for (model, suite), found in part.group_by("model", "suite", maintain_order=True):
        if drawing := _convergence(content, str(model), str(suite), found):
            exhibits.append(drawing)
        exhibits.append(in_order(content, CONVERGENCE, found, 1, model=model, suite=suite))
    return exhibits


def _convergence(content: ReportContent, model: str, suite: str, part: pl.DataFrame) -> Drawing | None:
    order = [variant for (variant,) in content.in_order(part.select("variant").unique().rows())]
    part = part.filter(pl.col("variant").is_in(content.drawn(order))).with_columns(pl.col("accuracy") * 100)
    measures = {
        title: {
            (str(variant), int(str(size))): list(found.select("tokens", measure).iter_rows())
            for (variant, size), found in part.drop_nulls(measure).group_by("variant", "size", maintain_order=True)
        }
        for measure, title in MEASURES.items()
    }
    measures = {title: lines for title, lines in measures.items() if lines}
    if not measures:
        return None
    draw = partial(convergence.draw, measures, content.variants, styles(content.variants))
    caption = CONVERGENCE.prints[0].caption.format(model=model, suite=suite) + content.left_out(order)
    title, lines = next(iter(measures.items()))
    last = content.alike({key: line[-1][1] for key, line in lines.items()})
    says = between(f"{title.capitalize()} at the last checkpoint", last) + f" {ONE_TRAINING.capitalize()}."
    source = source_of(CONVERGENCE, model=model, suite=suite)
    return Drawing(slug("convergence", model, suite), caption, draw, source, says=says)
