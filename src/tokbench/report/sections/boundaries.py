"""What stands beside accuracies: tokens that straddle the end of a context, and what one segmentation loses; texts."""

from dataclasses import replace

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.layout import Table
from tokbench.report.numbers import fitting_decimals, printed
from tokbench.report.sections.rows import in_order
from tokbench.statistics.seeds import SEVERAL
from tokbench.tabulation.answers import BOUNDARIES, STRADDLING, TEXTS
from tokbench.tabulation.coverings import COVERINGS
from tokbench.tabulation.one_segmentation import ONE_SEGMENTATION


def boundaries(content: ReportContent) -> list[Table]:
    """Straddling choices by tokenizer and suite, then by task where there are any."""
    frame = content.part("boundaries")
    if frame is None or not straddles(content):
        return []
    counts = [column.name for column in STRADDLING]
    parts = (
        frame.group_by("variant", "size", "suite").agg(pl.col(counts).sum()),
        frame.filter(pl.col("straddling") > 0),
    )
    return [in_order(content, BOUNDARIES, part, which) for which, part in enumerate(parts) if part.height]


def straddles(content: ReportContent) -> bool:
    """Whether any choice of any task straddles."""
    frame = content.part("boundaries")
    return frame is not None and (frame["straddling"].sum() > 0 or frame["straddling_questions"].sum() > 0)


def coverings(content: ReportContent) -> list[Table]:
    """What is left out of contexts' probabilities, where choices straddle."""
    frame = content.part("coverings")
    return [] if frame is None or frame.is_empty() else [in_order(content, COVERINGS, frame)]


def with_coverings(content: ReportContent, table: Table, **at: object) -> Table:
    """A table of accuracies whose caption says how far scores may be off where choices straddle, and what it is from.

    Args:
        content: what the report shows.
        table: the table.
        at: model, suite and size that it is of, as far as it is of one. Of a model trained with several seeds, which
            the table of coverings has one by one, all models of the suite are looked at.
    """
    frame = content.part("coverings")
    if frame is None:
        return table
    part = frame.filter(**{key: one for key, one in at.items() if not SEVERAL.search(str(one))})
    if part.is_empty():
        return table
    largest = part["largest"].drop_nulls()
    told = "by how much their scores may be off was not measured"
    if len(largest):
        nats = printed(value := float(max(largest)), "real", fitting_decimals([value]))
        told = (
            f"their scores may be too high by up to {nats} nats, for coverings of the context that the sum leaves out"
        )
        told += "; of some it was not measured" * (len(largest) < len(part))
    caption = f"{table.caption} Where choices straddle the end of their context, {told} (table “{COVERINGS.name}”)."
    return replace(table, caption=caption, see=[*table.see, COVERINGS.name])


def one_segmentation(content: ReportContent) -> list[Table]:
    """What tokenizers lose by their one segmentation, under suites that ask for it."""
    frame = content.part("one_segmentation")
    return [] if frame is None or frame.is_empty() else [in_order(content, ONE_SEGMENTATION, frame)]


def texts(content: ReportContent) -> list[Table]:
    """Bits per byte on the texts of suites."""
    frame = content.part("texts")
    return [] if frame is None else [in_order(content, TEXTS, frame)]
