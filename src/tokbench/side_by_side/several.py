"""Several runs beside a first one: every cell of theirs that differs from its own, a column for each run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from string import ascii_uppercase

from tokbench.errors import TokbenchError
from tokbench.side_by_side.cells import Change, Key, judged
from tokbench.side_by_side.run import Run
from tokbench.side_by_side.two_runs import JUDGEMENTS, Comparison, compare_runs
from tokbench.statistics.corrections import holm
from tokbench.tidy.table import TidyTable

MOST = len(ascii_uppercase)
Cell = tuple[str, Key, str]
"""Table, key of the row, and column."""


@dataclass(frozen=True)
class Changed:
    """A cell that differs in one run or more.

    Attributes:
        by_run: the change from the first run to each other; None where it has the same number, or none.
    """

    by_run: Sequence[Change | None]

    @property
    def first(self) -> Change:
        """One of its changes, which tells the cell and the first run's number."""
        return next(change for change in self.by_run if change is not None)

    @property
    def rank(self) -> int:
        """Place of what matters most among its changes."""
        return min(JUDGEMENTS.index(change.judgement) for change in self.by_run if change is not None)


@dataclass(frozen=True)
class Several:
    """Runs beside the first.

    Attributes:
        comparisons: of the first with each other one, in the order given.
    """

    comparisons: Sequence[Comparison]

    @property
    def runs(self) -> list[Run]:
        """All of them, the first one first."""
        return [self.comparisons[0].a, *(one.b for one in self.comparisons)]

    @property
    def differs(self) -> bool:
        """Whether any of them differs from the first beyond noise."""
        return any(one.differs for one in self.comparisons)

    def cells(self) -> list[Changed]:
        """Cells that differ anywhere, by what matters most in them, then by table and key."""
        found: dict[Cell, list[Change | None]] = {}
        for place, comparison in enumerate(self.comparisons):
            for change in comparison.changes():
                cell = (change.table.name, change.key, change.column.name)
                found.setdefault(cell, [None] * len(self.comparisons))[place] = change
        return sorted(map(Changed, found.values()), key=lambda one: one.rank)


def compare_several(runs: Sequence[Run], declared: Iterable[TidyTable]) -> Several:
    """Set each run beside the first; p-values are corrected for the tests of all of them together.

    Args:
        runs: two or more, the first one that others are compared with.
        declared: the tables that they may have.

    Raises:
        TokbenchError: there are more runs than letters to call them by.
    """
    if len(runs) > MOST:
        raise TokbenchError(f"{len(runs)} runs; compare {MOST} at once at most")
    tables = list(declared)
    return Several(_corrected([compare_runs(runs[0], other, tables) for other in runs[1:]]))


def _corrected(found: list[Comparison]) -> list[Comparison]:
    """The comparisons with Holm's procedure over all of their tests."""
    tested = [change for one in found for table in one.tables for change in table.changes if change.p_value is not None]
    p_values = [change.p_value for change in tested if change.p_value is not None]
    adjusted = {id(change): p for change, p in zip(tested, holm(p_values).tolist(), strict=True)}

    def told(change: Change) -> Change:
        if id(change) not in adjusted:
            return change
        p = adjusted[id(change)]
        return replace(change, holm=p, judgement=judged(change.low, change.high, p))

    return [
        replace(one, tables=[replace(table, changes=list(map(told, table.changes))) for table in one.tables])
        for one in found
    ]


SIGNS = dict(zip(JUDGEMENTS, ("!", "", "○", "○", "≈"), strict=True))
LEGEND = (
    "After a number: ! it differs significantly from A's; ○ it is not tested, because it has no interval or its models "
    "have too few trainings; ≈ no significant difference. A count without a sign differs. = is A's number, or none."
)
SAME = "="


def sign(change: Change) -> str:
    """Return the sign after the number of a change."""
    return SIGNS[change.judgement]


def letters(several: Several) -> str:
    """What the runs are called: A, B, C."""
    return ascii_uppercase[: len(several.runs)]
