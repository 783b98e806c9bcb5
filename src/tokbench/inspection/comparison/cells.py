"""Cell-by-cell comparison of two tables, with paired tests of the changes.

Changes are tested if both runs have the values for each document, question or gold word; p is corrected by Holm's
procedure.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from tokbench.statistics.accuracies.seeds import trainings_of
from tokbench.statistics.comparisons.scoreboard_rows import ALL_RESOURCES, METRIC, alignment_difference
from tokbench.statistics.significance.eligibility import why_untested
from tokbench.statistics.significance.estimate import Estimate, ratio
from tokbench.statistics.significance.judgements import Judgement as Judged
from tokbench.statistics.significance.judgements import judge
from tokbench.statistics.significance.verdicts import NO_DIFFERENCE
from tokbench.tabulation.table import DIFFERENCE, PROBABILITY, SHARE, Column, TidyTable

Judgement = Literal["beyond noise", "within noise", "exact", "single number", "not tested"]
BEYOND: Final = "beyond noise"
WITHIN: Final = "within noise"
EXACT: Final = "exact"
SINGLE: Final = "single number"
UNTESTED: Final = "not tested"
"""Kinds of a change, in order: significant by interval and corrected test, not significant, a count without noise, a
number without an interval, and models with too few trainings."""
COUNTED_OVER = ("n", "reason")
"""Columns that describe a number, and are not compared."""
Key = tuple[Any, ...]


@dataclass(frozen=True)
class Change:
    """A cell with different values.

    Attributes:
        table: its table.
        key: key of its row, in the order of the table's keys.
        column: its column.
        a, b: the two values.
        judgement: kind of the change.
        low, high: 95 % interval of b - a. Default: None, also if the table has intervals of the values.
        n: number of common documents, questions or words. Default: None.
        p_value: two-sided p of the paired test. Default: None.
        holm: p after Holm's correction over the comparison. Default: None.
        interval_a, interval_b: intervals of the values, if the table has them. Default: None.
        reason: reason why the change is not tested (too few trainings). Default: empty.
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
        """b - a."""
        return self.b - self.a

    @property
    def where(self) -> dict[str, Any]:
        """The key by column, without empty values."""
        return {name: one for name, one in zip(self.table.keys, self.key, strict=True) if one not in (None, "")}


@dataclass(frozen=True)
class TableComparison:
    """Comparison of one table of two runs.

    Attributes:
        table: declaration of the table.
        same: number of equal cells.
        changes: cells that differ.
        only_a, only_b: keys of rows, or of values, that only one run has.
    """

    table: TidyTable
    same: int
    changes: Sequence[Change]
    only_a: Sequence[Key] = field(default_factory=list)
    only_b: Sequence[Key] = field(default_factory=list)


def compare_tables(table: TidyTable, a: pl.DataFrame, b: pl.DataFrame) -> TableComparison:
    """Compare two frames of one table cell by cell; a missing value counts as a row of only the other."""
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
    """Return the numeric columns to compare: no keys, no ends of intervals, none of :data:`COUNTED_OVER`."""
    ends = {name for pair in _intervals(table).values() for name in pair}
    return [
        one for one in table.columns if one.dtype.is_numeric() and one.name not in {*table.keys, *ends, *COUNTED_OVER}
    ]


def _intervals(table: TidyTable) -> dict[str, tuple[str, str]]:
    """Return the interval columns by column: ``low`` and ``high`` belong to the first real column."""
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
    """Return the smaller number of trainings of a row in the two runs; None if no model was trained."""
    if "seeds" in table.schema:
        known = [row[name] for name in ("seeds", "seeds_of_b") if row[name] is not None]
        return min(known, default=None)
    return trainings_of(str(row["model"])) if table.of_models and "model" in row else None


def _counted(column: Column, a: float, b: float) -> bool:
    """Return True if two numbers are counts; integers -1, 0 and 1 in a real column may be shares."""
    if column.dtype.is_integer():
        return True
    whole = float(a).is_integer() and float(b).is_integer()
    return whole and column.unit not in (SHARE, DIFFERENCE, PROBABILITY) and not {a, b} <= {-1.0, 0.0, 1.0}


def _interval(row: Mapping[str, Any], ends: tuple[str, str] | None, of: str) -> tuple[float, float] | None:
    if ends is None:
        return None
    low, high = (row[f"{end}{of}"] for end in ends)
    return None if low is None or high is None else (low, high)


WORDS = "alignment_by_word"


def alignment_differences(
    one: TableComparison, a: Mapping[str, pl.DataFrame], b: Mapping[str, pl.DataFrame]
) -> dict[Key, Estimate]:
    """Estimate over words the difference of each changed alignment of complete resources, b - a.

    Args:
        one: comparison of the tables of intrinsic metrics.
        a, b: tables of both runs by name.
    """
    if WORDS not in a or WORDS not in b:
        return {}
    found = {}
    for change in one.changes:
        if change.where.get("metric") == METRIC and not change.where.get("language"):
            of_a, of_b = (_words(frames[WORDS], change) for frames in (a, b))
            if _same_places(of_a, of_b) and (estimate := alignment_difference((of_b, change.b), (of_a, change.a))):
                found[change.key] = estimate
    return found


def _words(by_word: pl.DataFrame, change: Change) -> pl.DataFrame:
    where = change.where
    kept = by_word.filter(variant=where["variant"], size=where["size"])
    return kept if where["corpus"] == ALL_RESOURCES else kept.filter(corpus=where["corpus"])


def _same_places(a: pl.DataFrame, b: pl.DataFrame) -> bool:
    """Return True if groups of words have equal sizes in both, as with equal gold data."""
    both = a.join(b, on=["corpus", "word"], suffix="_of_b")
    return both["words"].equals(both["words_of_b"].alias("words"))


Frames = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class Drawn:
    """A table of the single values behind the numbers of another table.

    Attributes:
        table: its name.
        keys: keys that it shares with the other table.
        column: column of the other table.
        whole: keys of the other table that are empty in rows over all single values. Default: none.
        of: columns that must be equal in both runs. Default: document, language and bytes.
    """

    table: str
    keys: tuple[str, ...]
    column: str
    whole: tuple[str, ...] = ()
    of: tuple[str, ...] = ("document", "language", "bytes")


DRAWN = {
    "ngram_bits": Drawn(
        "ngram_documents", ("variant", "size", "corpus", "order", "training_bytes"), "value", whole=("language",)
    ),
    "bits_per_byte": Drawn("document_bits", ("variant", "size", "model", "suite"), "value"),
    "accuracy": Drawn("outcomes", ("variant", "size", "model", "suite", "task"), "accuracy", of=("document",)),
}
"""Tables of single values, by the table of their aggregates."""
INTRINSIC = "intrinsic"
TESTED = {name: drawn.column for name, drawn in DRAWN.items()} | {INTRINSIC: "value"}
"""The tested column of each table."""
SUMMED = frozenset(
    {*(drawn.table for drawn in DRAWN.values()), "answer_measures", "perturbed_answers", "tokens_by_document", WORDS}
)
"""Tables of documents, questions and words; their aggregates are compared instead."""


def paired(found: Sequence[TableComparison], a: Frames, b: Frames) -> list[TableComparison]:
    """Test changes for which both runs have the same documents, questions or words.

    Holm's correction is over the cells that changed.

    Args:
        found: comparisons of tables.
        a, b: tables of both runs by name.
    """
    estimates = {(place, key): one for place, of in enumerate(found) for key, one in _differences(of, a, b).items()}
    judged = dict(zip(estimates, judge(list(estimates.values())), strict=True))
    return [
        replace(
            one,
            changes=[
                _tested(change, judged.get((place, change.key)), estimates.get((place, change.key)))
                for change in one.changes
            ],
        )
        for place, one in enumerate(found)
    ]


def _differences(one: TableComparison, a: Frames, b: Frames) -> dict[Key, Estimate]:
    if one.table.name == INTRINSIC:
        return alignment_differences(one, a, b)
    drawn = DRAWN.get(one.table.name)
    if drawn is None or drawn.table not in a or drawn.table not in b:
        return {}
    wanted = {_shared(change, drawn): change.key for change in one.changes if _is_whole(change, drawn)}
    if not wanted:
        return {}
    of_a, of_b = (_parts(frames[drawn.table], drawn, wanted) for frames in (a, b))
    found = {}
    for shared, key in wanted.items():
        if shared in of_a and shared in of_b and (estimate := _difference(of_a[shared], of_b[shared], drawn)):
            found[key] = estimate
    return found


def _is_whole(change: Change, drawn: Drawn) -> bool:
    return change.column.name == drawn.column and not any(change.where.get(name) for name in drawn.whole)


def _shared(change: Change, drawn: Drawn) -> Key:
    where = dict(zip(change.table.keys, change.key, strict=True))
    return tuple(where[name] for name in drawn.keys)


def _parts(frame: pl.DataFrame, drawn: Drawn, wanted: Mapping[Key, Any]) -> dict[Key, pl.DataFrame]:
    rows = pl.DataFrame(list(wanted), schema={name: frame.schema[name] for name in drawn.keys}, orient="row")
    some = frame.join(rows, on=list(drawn.keys), how="semi").sort("document")
    return some.partition_by(drawn.keys, as_dict=True)


def _difference(a: pl.DataFrame, b: pl.DataFrame, drawn: Drawn) -> Estimate | None:
    """Return the difference b - a; None if the documents or questions differ."""
    if not a.select(drawn.of).equals(b.select(drawn.of)):
        return None
    trained = "model" in drawn.keys
    column, unit = ("correct", "questions") if "correct" in a.columns else ("bits", "documents")
    parts = b[column].cast(pl.Float64).to_numpy() - a[column].cast(pl.Float64).to_numpy()
    wholes = np.ones(len(parts)) if column == "correct" else a["bytes"].to_numpy().astype(np.float64)
    return ratio(parts, wholes, unit=unit, trained=trained)


def _tested(change: Change, judged: Judged | None, estimate: Estimate | None) -> Change:
    if judged is None or estimate is None or change.column.name != TESTED[change.table.name]:
        return change
    kind: Judgement = WITHIN if judged.verdict == NO_DIFFERENCE else UNTESTED if judged.reason else BEYOND
    ends = {"low": judged.low, "high": judged.high, "n": estimate.units, "p_value": judged.p_value}
    return replace(change, judgement=kind, holm=judged.holm, reason=judged.reason or "", **ends)  # type: ignore[arg-type]
