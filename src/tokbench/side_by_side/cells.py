"""The cells of two tables with the same declaration: which are the same, which changed, which only one of them has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import polars as pl

from tokbench.statistics.power import ALPHA
from tokbench.statistics.seeds import trainings_of
from tokbench.statistics.verdicts import why_untested
from tokbench.tidy.table import DIFFERENCE, PROBABILITY, SHARE, Column, TidyTable

Judgement = Literal["beyond noise", "within noise", "exact", "single number", "not tested"]
BEYOND: Final = "beyond noise"
WITHIN: Final = "within noise"
EXACT: Final = "exact"
SINGLE: Final = "single number"
UNTESTED: Final = "not tested"
"""Kinds of a change: significant by an interval and a corrected test, not significant, of a count, which has no noise,
of a number without an interval, or of models with too few trainings."""
COUNTED_OVER = ("n", "reason")
"""Columns that say what a number is over; they are no numbers of their own."""
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """A cell that differs.

    Attributes:
        table: its table.
        key: what tells its row from others, in the order of the table's keys.
        column: which number.
        a, b: the two values.
        judgement: what the change is.
        low, high: 95 % interval of b minus a; of intervals that tables have, None.
        n: documents or questions that both were measured on.
        p_value: two-sided p of Student's paired t test.
        holm: it adjusted by Holm's procedure among all tests of the comparison.
        interval_a, interval_b: of each value, where the table has them.
        reason: why it is not tested, where models have too few trainings.
    """

    table: TidyTable
    key: Key
    column: Column
    a: float
    b: float
    judgement: Judgement
    low: float | None = None
    high: float | None = None
    n: int | None = None
    p_value: float | None = None
    holm: float | None = None
    interval_a: tuple[float, float] | None = None
    interval_b: tuple[float, float] | None = None
    reason: str = ""

    @property
    def difference(self) -> float:
        """b minus a."""
        return self.b - self.a

    @property
    def where(self) -> dict[str, Any]:
        """The key by the names of its columns, without what is empty."""
        return {name: one for name, one in zip(self.table.keys, self.key, strict=True) if one not in (None, "")}


@dataclass(frozen=True)
class TableComparison:
    """One table of two runs.

    Attributes:
        table: which.
        same: cells that are equal.
        changes: those that are not.
        only_a, only_b: keys of rows, or cells of numbers, that one of the two has.
    """

    table: TidyTable
    same: int
    changes: Sequence[Change]
    only_a: Sequence[Key] = field(default_factory=list)
    only_b: Sequence[Key] = field(default_factory=list)


def compare_tables(table: TidyTable, a: pl.DataFrame, b: pl.DataFrame) -> TableComparison:
    """Compare two frames of one table, cell by cell; a value that one of them lacks counts as a row of the other's."""
    keys = list(table.keys)
    same, changes = 0, []
    only: dict[str, dict[Key, None]] = {"a": {}, "b": {}}
    for row_of, mine, other in (("a", a, b), ("b", b, a)):
        alone = mine.join(other.select(keys), on=keys, how="anti", nulls_equal=True).select(keys).sort(keys)
        only[row_of] |= dict.fromkeys(alone.iter_rows())
    both = a.join(b, on=keys, how="inner", suffix="_of_b", nulls_equal=True).sort(keys)
    for column in values_of(table):
        theirs = f"{column.name}_of_b"
        in_a, in_b = both[column.name].is_not_null(), both[theirs].is_not_null()
        only["a"] |= dict.fromkeys(both.filter(in_a & ~in_b).select(keys).iter_rows())
        only["b"] |= dict.fromkeys(both.filter(in_b & ~in_a).select(keys).iter_rows())
        present = both.filter(in_a & in_b)
        differs = present[column.name] != present[theirs]
        same += len(present) - int(differs.sum())
        changes += list(_changes(table, column, present.filter(differs)))
    return TableComparison(table, same, changes, list(only["a"]), list(only["b"]))


def values_of(table: TidyTable) -> list[Column]:
    """Columns of numbers that are compared: neither keys, nor ends of an interval, nor what a number is over."""
    ends = {name for pair in _intervals(table).values() for name in pair}
    return [
        one for one in table.columns if one.dtype.is_numeric() and one.name not in {*table.keys, *ends, *COUNTED_OVER}
    ]


def _intervals(table: TidyTable) -> dict[str, tuple[str, str]]:
    """Columns of both ends of the interval of a column: those called ``low`` and ``high`` are of its first real one."""
    names = [one.name for one in table.columns]
    if not {"low", "high"} <= set(names):
        return {}
    real = [one.name for one in table.columns if one.dtype == pl.Float64 and one.name not in table.keys]
    return {real[0]: ("low", "high")}


def _changes(table: TidyTable, column: Column, rows: pl.DataFrame) -> Iterator[Change]:
    ends = _intervals(table).get(column.name)
    for row in rows.iter_rows(named=True):
        key = tuple(row[name] for name in table.keys)
        a, b = row[column.name], row[f"{column.name}_of_b"]
        of_a, of_b = (_interval(row, ends, of) for of in ("", "_of_b"))
        if of_a and of_b:
            apart = of_a[1] < of_b[0] or of_b[1] < of_a[0]
            why = why_untested(_trainings(table, row))
            kind: Judgement = UNTESTED if why else BEYOND if apart else WITHIN
            yield Change(table, key, column, a, b, kind, interval_a=of_a, interval_b=of_b, reason=why)
        else:
            yield Change(table, key, column, a, b, EXACT if _counted(column, a, b) else SINGLE)


def _trainings(table: TidyTable, row: Mapping[str, Any]) -> int | None:
    """Return the fewest trainings behind the numbers of a row in both runs; None where no model was trained."""
    if "seeds" in table.schema:
        known = [row[name] for name in ("seeds", "seeds_of_b") if row[name] is not None]
        return min(known, default=None)
    return trainings_of(str(row["model"])) if table.of_models and "model" in row else None


def _counted(column: Column, a: float, b: float) -> bool:
    """Whether two numbers are counts; all or nothing of a share are whole numbers, too, and none."""
    if column.dtype.is_integer():
        return True
    whole = float(a).is_integer() and float(b).is_integer()
    return whole and column.unit not in (SHARE, DIFFERENCE, PROBABILITY) and not {a, b} <= {-1.0, 0.0, 1.0}


def _interval(row: Mapping[str, Any], ends: tuple[str, str] | None, of: str) -> tuple[float, float] | None:
    if ends is None:
        return None
    low, high = (row[f"{end}{of}"] for end in ends)
    return None if low is None or high is None else (low, high)


def judged(low: float | None, high: float | None, holm: float | None) -> Judgement:
    """What a paired difference is, by its interval and its corrected p."""
    told = low is not None and high is not None and not low <= 0 <= high
    return BEYOND if told and holm is not None and holm <= ALPHA else WITHIN
