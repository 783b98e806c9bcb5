"""Ranks of variants: average accuracies, and places by any measure with differences from the best and the baseline.

Averages over different cells are not comparable. A variant that lacks a cell of its model and suite has no average and
no rank; its row names the missing cells. An undersized vocabulary has an average and no rank. A model that was trained
once gives no ranks.

Tokenizers are ranked only among those of the same pre-tokenizer. The best is chosen by the numbers that it is tested
on. All pairs of the family are therefore tested together and corrected by Holm's procedure. With very many variants
only pairs with the best and the baseline are tested, and the report says so. A pair has one test: its interval and its
verdict come from the same estimate.

For trained models, :mod:`tokbench.statistics.verdicts` defines how many trainings a rank and a test need.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum
from typing import Any, NamedTuple

import polars as pl

from tokbench.metric import Direction
from tokbench.statistics.cells import Grid, grids, name_cells
from tokbench.statistics.equal_size import FEWER, NONE, Undersized, fewer_at, sizes_with_fewer
from tokbench.statistics.estimate import Estimate
from tokbench.statistics.judgements import judge
from tokbench.statistics.pairs import compared, unordered
from tokbench.statistics.verdicts import (
    ALPHA,
    BETTER,
    NO_DIFFERENCE,
    NOT_TESTED,
    NOT_TOLD,
    ONE_TRAINING,
    WORSE,
    Trainings,
    fewest,
    may_rank,
    why_untested,
)
from tokbench.tabulation.columns import AVERAGE, MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import DIFFERENCE, SHARE, Column, Print, TidyTable

RanksRow = tuple[str | int | float | None, ...]


def averages_by_size(
    accuracy: pl.DataFrame, fewer: Undersized = NONE, trainings: Trainings | None = None
) -> pl.DataFrame:
    """Return averages over tasks, with ranks among the variants of the same model, suite and size.

    Args:
        accuracy: table of accuracies, see :data:`tokbench.statistics.cells.ACCURACY`.
        fewer: variant and size of undersized vocabularies, which are not ranked; see
            :mod:`tokbench.statistics.equal_size` (default: none).
        trainings: see :func:`tokbench.statistics.verdicts.fewest`.

    Returns:
        One row per model, suite, size and variant: ``average`` (unit of the accuracies), ``rank`` (1 is best, equal
        averages share the smaller rank), ``random_baseline`` (average of the tasks' baselines), ``above_random``
        (their difference), ``n`` (cells), ``reason``. Rows are ordered by rank, then come averages without a rank,
        then variants without an average.

    Raises:
        TokbenchError: a column is missing, or a cell is duplicated.
    """
    rows: list[RanksRow] = []
    for (model, suite), grid in grids(accuracy).items():
        for size in grid.sizes:
            ranked = may_rank(fewest(trainings, model, suite, [size]))
            rows += [(model, suite, size, *row) for row in _ranked(grid, [size], fewer, ranked)]
    return pl.DataFrame(rows, schema=RANKS_BY_SIZE.schema, orient="row")


def averages(accuracy: pl.DataFrame, fewer: Undersized = NONE, trainings: Trainings | None = None) -> pl.DataFrame:
    """Return averages over sizes and tasks, with ranks among the variants of the same model and suite.

    Returns:
        The columns of :func:`averages_by_size` without ``size``.
    """
    rows: list[RanksRow] = []
    for (model, suite), grid in grids(accuracy).items():
        ranked = may_rank(fewest(trainings, model, suite, grid.sizes))
        rows += [(model, suite, *row) for row in _ranked(grid, grid.sizes, fewer, ranked)]
    return pl.DataFrame(rows, schema=RANKS.schema, orient="row")


def _ranked(grid: Grid, sizes: Sequence[int], fewer: Undersized, ranked: bool) -> list[RanksRow]:
    guesses = [guess for guess in (grid.baselines[task] for task in grid.tasks) if guess is not None]
    baseline = fsum(guesses) / len(guesses) if len(guesses) == len(grid.tasks) else None
    known: dict[str, float] = {}
    unknown: dict[str, str] = {}
    for variant, cells in grid.accuracies.items():
        if missing := grid.missing(variant, sizes):
            unknown[variant] = f"missing: {name_cells(missing)}"
        else:
            values = [cells[size, task] for size in sizes for task in grid.tasks]
            known[variant] = fsum(values) / len(values)
    rows: list[RanksRow] = []
    smaller = {variant: gone for variant in known if (gone := sizes_with_fewer([variant], sizes, fewer))}
    ascending = sorted(average for variant, average in known.items() if variant not in smaller)
    for variant, average in sorted(known.items(), key=lambda item: (item[0] in smaller, -item[1], item[0])):
        rank = None if variant in smaller or not ranked else 1 + len(ascending) - bisect_right(ascending, average)
        above = None if baseline is None else average - baseline
        why = None if ranked else ONE_TRAINING
        if variant in smaller:
            why = FEWER if len(sizes) == 1 else fewer_at(smaller[variant])
        rows.append((variant, average, rank, baseline, above, len(sizes) * len(grid.tasks), why))
    for variant, reason in unknown.items():
        cells_left = sum(size in sizes for size, _ in grid.accuracies[variant])
        rows.append((variant, None, None, baseline, None, cells_left, reason))
    return rows


_AVERAGED = (
    AVERAGE,
    Column("rank", pl.Int64, "rank by average, 1 is best; equal averages share the smaller rank; empty for an "
           "undersized vocabulary and for a model that was trained once"),
    Column("random_baseline", pl.Float64, "mean over tasks of the expected accuracy of guessing", SHARE),
    Column("above_random", pl.Float64, "average − random_baseline", DIFFERENCE, "above random"),
    Column("n", pl.Int64, "cells averaged", "cells"),
    REASON,
)  # fmt: skip
RANKS = TidyTable(
    "ranks",
    "a variant under a model and suite",
    (MODEL, SUITE, VARIANT, *_AVERAGED),
    maker=averages,
    takes=("accuracy", "fewer", "trainings"),
    prints=(
        Print(
            "downstream",
            "Average accuracy of {model} on {suite} in percent: unweighted mean over tasks and vocabulary sizes, "
            "the average at each size, and the difference from random guessing in points; n is the number of scores. "
            "The highest is bold, if each was trained twice or more.",
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
    ),
    of_models=True,
)
RANKS_BY_SIZE = TidyTable(
    "ranks_by_size",
    "a variant at a vocabulary size under a model and suite",
    (MODEL, SUITE, SIZE, VARIANT, *_AVERAGED),
    maker=averages_by_size,
    takes=("accuracy", "fewer", "trainings"),
    prints=(
        Print(
            "downstream",
            "Average accuracy over the tasks of {suite} with each model, at vocabulary size {sizes}, for which all "
            "models were trained.",
            by=("suite",),
            name="accuracy-by-model",
            arranged=True,
            form="figure",
        ),
    ),
    of_models=True,
)


Row = tuple[Any, ...]
BEST, ALIKE, UNTESTED, UNRANKED = "best", NOT_TOLD, NOT_TESTED, "not ranked"
BASELINE = "baseline"
"""Verdict for the baseline; differences from it are better, worse, no significant difference or not tested."""
NO_INTERVAL = "no interval could be had"
NO_BASELINE = "the experiment has no baseline for it"
UNBOUNDED = "the interval has no upper end, from so few documents"


class Value(NamedTuple):
    """Value of one tokenizer.

    Attributes:
        value: the number; None if it is missing.
        low, high: its 95 % interval; None if there is none (default).
        n: number of items drawn for the interval (default: None).
        reason: reason why there is no value, or why it is not ranked (default: None).
        ranked: True if it is compared with the others (default).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str | None = None
    ranked: bool = True


@dataclass(frozen=True)
class ComparisonFamily:
    """Tokenizers of one size that are compared by one measure.

    Attributes:
        head: first values of the rows, before the variant.
        over: items that intervals are over; empty if there are no intervals.
        end: better end of the measure.
        values: values by variant.
        differ: function that returns the difference of two variants, first minus second, or None if it has no standard
            error (default: always None). The estimate's number of trainings decides whether it is tested.
        untested: reason why nothing is tested (default: none).
        relative: True if differences are shares of the second variant's value (default: False).
        same_pretokenizer: True if values of different pre-tokenizers are not comparable (default: False).
        trainings: number of trainings of each variant's model; empty if no model was trained (default).
    """

    head: Row
    over: str
    end: Direction
    values: Mapping[str, Value]
    differ: Callable[[str, str], Estimate | None] = lambda a, b: None
    untested: str = ""
    relative: bool = False
    same_pretokenizer: bool = False
    trainings: Mapping[str, int] = field(default_factory=dict)

    def behind(self, variant: str, best: str) -> float | None:
        """Return the difference of two values, or None if one is missing or the divisor is zero."""
        one, other = self.values[variant].value, self.values[best].value
        if one is None or other is None:
            return None
        return one - other if not self.relative else one / other - 1 if other else None

    def compares(self, variant: str) -> bool:
        """Return True if a variant is ranked: it has a comparable value, and its model was trained often enough."""
        return self.comparable(variant) and may_rank(self.trainings.get(variant))

    def comparable(self, variant: str) -> bool:
        """Return True if a variant has a comparable value, for any number of trainings."""
        one = self.values.get(variant)
        return one is not None and one.ranked and one.value is not None

    def why_untested(self, *variants: str) -> str:
        """Return the reason why a difference of some variants is not tested."""
        known = [self.trainings[one] for one in variants if one in self.trainings]
        return why_untested(min(known, default=None)) or self.untested or NO_INTERVAL


class VariantDifference(NamedTuple):
    """Difference of two variants, first minus second.

    Attributes:
        difference, low, high: difference with its 95 % interval.
        holm: corrected p-value; None if it is not tested.
        reason: reason why it is not tested (default: None).
    """

    difference: float
    low: float
    high: float
    holm: float | None
    reason: str | None = None


Tested = Mapping[tuple[str, str], VariantDifference]
Pretokenizers = Mapping[str, str]
"""Pre-tokenizer by variant; all variants without an entry share one."""


def bests_of(family: ComparisonFamily, pretokenizers: Pretokenizers) -> dict[str, str]:
    """Return for each ranked variant the best variant of its pre-tokenizer; ties go to the first by name.

    Args:
        family: the variants.
        pretokenizers: pre-tokenizer by variant.
    """
    sign = 1 if family.end == "lowest" else -1
    ranked = {name: one.value for name, one in family.values.items() if one.value is not None and family.compares(name)}
    first: dict[str | None, str] = {}
    for _, variant in sorted((sign * value, name) for name, value in ranked.items()):
        first.setdefault(pretokenizers.get(variant), variant)
    return {name: first[pretokenizers.get(name)] for name in ranked}


def ranking_rows(family: ComparisonFamily, baselines: Mapping[str, str], pretokenizers: Pretokenizers) -> list[Row]:
    """Return a row for each variant.

    A row has head, variant and pre-tokenizer, value with interval, difference from the best of the pre-tokenizer,
    reason, and difference from the baseline.

    Args:
        family: the variants.
        baselines: baseline by variant, see :func:`tokbench.statistics.pairs.compared`.
        pretokenizers: pre-tokenizer by variant.
    """
    bests = bests_of(family, pretokenizers)
    tested = _tested(family, bests, baselines)
    return [
        (
            *(*family.head, variant, pretokenizers.get(variant), *one[:4]),
            *(family.over or None, family.trainings.get(variant)),
            *_place(family, variant, bests.get(variant), tested),
            *_next_to_baseline(family, variant, baselines.get(variant), pretokenizers, tested),
        )
        for variant, one in sorted(family.values.items())
    ]


def _place(family: ComparisonFamily, variant: str, best: str | None, tested: Tested) -> Row:
    """Return the best variant, the difference from it with its interval and p-value, the verdict and the reason."""
    one = family.values[variant]
    if best is None and family.comparable(variant):
        return (None, None, None, None, None, UNTESTED, one.reason or ONE_TRAINING)
    if best is None:
        return (None, None, None, None, None, UNRANKED, one.reason)
    if variant == best:
        return (best, 0.0, None, None, None, BEST, one.reason)
    if (found := tested.get((variant, best))) is not None:
        *numbers, reason = found
        verdict = UNTESTED if found.holm is None else WORSE if found.holm <= ALPHA else ALIKE
        return (best, *numbers, verdict, one.reason or reason)
    behind = family.behind(variant, best)
    return (best, behind, None, None, None, UNTESTED, one.reason or family.why_untested(variant, best))


def _next_to_baseline(
    family: ComparisonFamily, variant: str, baseline: str | None, pretokenizers: Pretokenizers, tested: Tested
) -> Row:
    """Return the baseline, its pre-tokenizer, the difference with its interval and p-value, verdict and reason."""
    if baseline is None:
        return (None, None, None, None, None, None, UNTESTED, NO_BASELINE)
    other = pretokenizers.get(baseline)
    head = (baseline, other)
    if variant == baseline:
        return (*head, None, None, None, None, BASELINE, None)
    untested = (None, None, None, UNTESTED)
    one = family.values[variant]
    if not family.comparable(variant):
        return (*head, None, *untested, one.reason or NO_INTERVAL)
    if not all(may_rank(family.trainings.get(name)) for name in (variant, baseline)):
        return (*head, None, *untested, ONE_TRAINING)
    if not family.comparable(baseline):
        why = family.values[baseline].reason if baseline in family.values else "it was not measured here"
        return (*head, None, *untested, f"nothing to compare with the baseline {baseline}: {why or 'it has no value'}")
    if family.same_pretokenizer and other != pretokenizers.get(variant):
        return (*head, None, *untested, "different pre-tokenizers")
    difference = family.behind(variant, baseline)
    found = tested.get((variant, baseline))
    if found is None and (opposite := tested.get((baseline, variant))) is not None:
        found = _opposite(opposite, family.relative)
        if found is None:
            return (*head, difference, *untested, UNBOUNDED)
    if found is None:
        return (*head, difference, *untested, family.why_untested(variant, baseline))
    *numbers, reason = found
    if found.holm is None:
        return (*head, *numbers, UNTESTED, reason)
    better = (found.difference < 0) == (family.end == "lowest")
    verdict = NO_DIFFERENCE if found.holm > ALPHA else BETTER if better else WORSE
    return (*head, *numbers, verdict, None)


def _opposite(one: VariantDifference, relative: bool) -> VariantDifference | None:
    """Return the difference of the reversed pair; None if its interval has no upper end.

    A relative difference is mapped end by end, so that interval and test remain the same.
    """
    if not relative:
        return one._replace(difference=-one.difference, low=-one.high, high=-one.low)
    if one.low <= -1:
        return None
    difference, low, high = (1 / (1 + end) - 1 for end in (one.difference, one.high, one.low))
    return one._replace(difference=difference, low=low, high=high)


def _tested(
    family: ComparisonFamily, bests: Mapping[str, str], baselines: Mapping[str, str]
) -> dict[tuple[str, str], VariantDifference]:
    """Return every pair with an interval, after correction over all tested pairs of the family.

    The second variant of a pair is the best of the pre-tokenizer or else the baseline.
    """
    ranked = sorted(bests)
    pairs = unordered(compared(ranked, bests, baselines)) if len(ranked) > 1 else []
    ordered = [(b, a) if bests[b] == a or (bests[a] != b and baselines.get(b) == a) else (a, b) for a, b in pairs]
    found = {pair: estimate for pair in ordered if (estimate := family.differ(*pair)) is not None}
    judged = judge(list(found.values())) if found else []
    return {
        pair: VariantDifference(one.difference, one.low, one.high, one.holm, one.reason)
        for pair, one in zip(found, judged, strict=True)
    }
