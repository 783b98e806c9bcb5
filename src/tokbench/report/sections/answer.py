"""The answer first: the scoreboard, and the sentences that it bears out."""

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Section
from tokbench.report.glance import glance
from tokbench.report.sections.board import scoreboard
from tokbench.report.summary import summary

BEHIND = "What is behind these sentences: intervals, sizes, corpora, and what is not ranked"


def answer(content: ReportContent) -> Section:
    """The scoreboard, what it says at a glance, and in full, which is folded."""
    board = scoreboard(content)
    lacking = [] if board else [f"The scoreboard: {content.why_missing('scoreboard')}"]
    short, whole = glance(content), summary(content)
    return Section(
        "summary", "The answer", exhibits=[board] if board else [], after=short or whole, missing=lacking,
        folded=(BEHIND, whole) if short else None,
    )  # fmt: skip
