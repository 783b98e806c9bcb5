"""What stands beside accuracies: tokens that straddle the end of a context, and what one segmentation loses; texts."""

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.layout import Table
from tokbench.report.sections.rows import in_order
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


def one_segmentation(content: ReportContent) -> list[Table]:
    """What tokenizers lose by their one segmentation, under suites that ask for it."""
    frame = content.part("one_segmentation")
    return [] if frame is None or frame.is_empty() else [in_order(content, ONE_SEGMENTATION, frame)]


def texts(content: ReportContent) -> list[Table]:
    """Bits per byte on the texts of suites."""
    frame = content.part("texts")
    return [] if frame is None else [in_order(content, TEXTS, frame)]
