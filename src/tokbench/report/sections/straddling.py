"""Tables on choices that straddle the end of their context, single segmentations, and texts of suites."""

from dataclasses import replace

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Table
from tokbench.report.sections.rows import in_order
from tokbench.report.wording import fitting_decimals, format_value
from tokbench.statistics.accuracies.seeds import SEVERAL
from tokbench.tabulation.answers import BOUNDARIES, STRADDLING, TEXTS
from tokbench.tabulation.straddling import COVERINGS, ONE_SEGMENTATION, SUMMED_BITS


def boundaries(content: ReportContent) -> list[Table]:
    """Return the tables of straddling choices, by tokenizer and suite, and by task; none if no choice straddles."""
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
    """Return True if any choice of any task straddles the end of its context."""
    frame = content.part("boundaries")
    return frame is not None and (frame["straddling"].sum() > 0 or frame["straddling_questions"].sum() > 0)


def coverings(content: ReportContent) -> list[Table]:
    """Return the table of probabilities of contexts that may be missing where choices straddle; none if absent."""
    frame = content.part("coverings")
    return [] if frame is None or frame.is_empty() else [in_order(content, COVERINGS, frame)]


def with_coverings(content: ReportContent, table: Table, **at: object) -> Table:
    """Return a table of accuracies with the possible error of scores, where choices straddle, in its caption.

    Args:
        content: content of the report.
        table: the table.
        at: model, suite and size of the table, as far as they are single. The table of coverings has each seed of a
            model separately; for a model with several seeds, all models of the suite count.
    """
    frame = content.part("coverings")
    if frame is None:
        return table
    part = frame.filter(**{key: value for key, value in at.items() if not SEVERAL.search(str(value))})
    if part.is_empty():
        return table
    largest = part["largest"].drop_nulls()
    sentence = "the possible error of their scores was not measured"
    if len(largest):
        nats = format_value(value := float(max(largest)), "real", fitting_decimals([value]))
        sentence = (
            f"their scores may be too high by up to {nats} nats, for token sequences of the context that the sum omits"
        )
        sentence += "; for some this was not measured" * (len(largest) < len(part))
    caption = f"{table.caption} If choices straddle the end of their context, {sentence} (table “{COVERINGS.name}”)."
    return replace(table, caption=caption, see=[*table.see, COVERINGS.name])


def one_segmentation(content: ReportContent) -> list[Table]:
    """Return the tables of the cost of a single segmentation, for suites that measure it; none if absent."""
    parts = [(table, content.part(table.name)) for table in (SUMMED_BITS, ONE_SEGMENTATION)]
    return [in_order(content, table, part) for table, part in parts if part is not None and not part.is_empty()]


def texts(content: ReportContent) -> list[Table]:
    """Return the table of bits per byte on the texts of suites; none if absent."""
    frame = content.part("texts")
    return [] if frame is None else [in_order(content, TEXTS, frame)]


NO_STRADDLING = (
    "In every question, the context is tokenized in the same way before each answer, so the scores are comparable."
)
