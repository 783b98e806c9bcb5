"""The answer first: the scoreboard, and the sentences that it bears out."""

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Section
from tokbench.report.sections.board import scoreboard
from tokbench.report.summary import summary


def answer(content: ReportContent) -> Section:
    """The scoreboard and what it says in words."""
    board = scoreboard(content)
    lacking = [] if board else [f"The scoreboard: {content.why_missing('scoreboard')}"]
    return Section("summary", "The answer", exhibits=[board] if board else [], after=summary(content), missing=lacking)
