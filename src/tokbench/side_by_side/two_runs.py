"""Two runs side by side: what changed, what only one of them has, and what made each."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tokbench.side_by_side.cells import (
    BEYOND,
    EXACT,
    SINGLE,
    UNTESTED,
    WITHIN,
    Change,
    Judgement,
    TableComparison,
    compare_tables,
)
from tokbench.side_by_side.paired import SUMMED, paired
from tokbench.side_by_side.run import Run
from tokbench.statistics.tidy_tables import IN_PARTS
from tokbench.tidy.table import TidyTable

NAMES = ("corpus", "variant", "size", "language", "metric", "model", "suite", "task", "order", "training_bytes")
"""Columns whose values are told where only one run has them."""
JUDGEMENTS: tuple[Judgement, ...] = (BEYOND, EXACT, SINGLE, UNTESTED, WITHIN)
"""From what matters most to what matters least."""
Both = tuple[str, str]
"""What each of the two has; empty where it has none."""


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        a, b: the runs.
        tables: the tables that both have.
        tables_a, tables_b: those that only one of them has, by name.
        values_a, values_b: names that only one of them has in its tables, by column.
    """

    a: Run
    b: Run
    tables: Sequence[TableComparison]
    tables_a: Sequence[str]
    tables_b: Sequence[str]
    values_a: Mapping[str, Sequence[str]]
    values_b: Mapping[str, Sequence[str]]

    @property
    def same(self) -> int:
        """Cells that are equal."""
        return sum(one.same for one in self.tables)

    def changes(self, *judgements: Judgement) -> list[Change]:
        """Cells that differ, by what their change is, then by table, in order of keys; parts of distributions last."""
        wanted = judgements or JUDGEMENTS
        every = [change for one in self.tables for change in one.changes]
        every.sort(key=lambda change: change.where.get("metric") in IN_PARTS)
        return [change for judgement in wanted for change in every if change.judgement == judgement]

    @property
    def alone(self) -> tuple[int, int]:
        """Rows, or numbers of them, that only one of the two has."""
        return sum(len(one.only_a) for one in self.tables), sum(len(one.only_b) for one in self.tables)

    @property
    def differs(self) -> bool:
        """Whether anything changed, but for changes within noise, or only one of the two has something."""
        return bool(self.changes(BEYOND, EXACT, SINGLE, UNTESTED) or any(self.alone) or self.tables_a or self.tables_b)

    @property
    def versions(self) -> dict[str, Both]:
        """Packages and revisions that made the two, where they are not the same."""
        told = [{what: " and ".join(found) for what, found in run.versions.items()} for run in (self.a, self.b)]
        return _unlike(*told)

    @property
    def corpora(self) -> dict[str, Both]:
        """Checksums of splits that are not the same."""
        return _unlike(self.a.corpora, self.b.corpora)

    @property
    def tokenizers(self) -> dict[str, Both]:
        """Checksums of tokenizers that are not the same."""
        return _unlike(self.a.tokenizers, self.b.tokenizers)


def compare_runs(a: Run, b: Run, declared: Iterable[TidyTable]) -> Comparison:
    """Set two runs side by side: every table with keys that both have, cell by cell."""
    tables = [table for table in declared if table.keys and table.name not in SUMMED]
    both = [table for table in tables if table.name in a.frames and table.name in b.frames]
    found = [compare_tables(table, a.frames[table.name], b.frames[table.name]) for table in both]
    only_a, only_b = (
        [table.name for table in tables if table.name in one.frames and table.name not in other.frames]
        for one, other in ((a, b), (b, a))
    )
    values_a, values_b = (dict(_values(one, other)) for one, other in ((a, b), (b, a)))
    return Comparison(a, b, paired(found, a.frames, b.frames), only_a, only_b, values_a, values_b)


def _values(run: Run, other: Run) -> Iterator[tuple[str, list[str]]]:
    """Names that only the first has in tables that both have."""
    for name in NAMES:
        sets = [
            {
                value
                for table, frame in one.frames.items()
                if table in run.frames and table in other.frames and name in frame.columns
                for value in frame[name].drop_nulls().unique()
            }
            for one in (run, other)
        ]
        if lacking := sorted(sets[0] - sets[1]):
            yield name, [str(value) for value in lacking]


def _unlike(a: Mapping[str, str], b: Mapping[str, str]) -> dict[str, Both]:
    both = {what: (a.get(what, ""), b.get(what, "")) for what in sorted({*a, *b})}
    return {what: pair for what, pair in both.items() if pair[0] != pair[1]}
