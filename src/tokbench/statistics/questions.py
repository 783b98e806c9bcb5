"""Comparison of variants by question, and averages with intervals, from the outcome of every question.

Accuracies do not show which questions two variants answered in the same way, or that all vocabulary sizes were asked
the same questions. Here a question is drawn or counted once, with all its sizes. Averages are those of the other
statistics: means over cells (size and task) of the mean over the cell's questions.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from math import fsum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.answers import Answered, answers, cells_of, restricted, without_sizes
from tokbench.statistics.bootstrap import stratified_sums, summarized
from tokbench.statistics.distributions import binomial_tail
from tokbench.statistics.equal_size import AS_MANY, NONE, Undersized, left_out, sizes_with_fewer
from tokbench.statistics.pairs import WHICH, adjusted, best_of, compared, unadjusted, unordered, why_left_out
from tokbench.statistics.verdicts import Trainings, fewest, may_rank, why_untested
from tokbench.statistics.wilcoxon import DECIMALS
from tokbench.tabulation import columns
from tokbench.tabulation.table import Column, Print, TidyTable

NO_QUESTION = "no question in common"


@dataclass(frozen=True, slots=True)
class Answers:
    """Comparison of two variants over the questions that both answered; all None if there are none.

    Attributes:
        mean_difference: difference of the average accuracies, first minus second.
        low, high: its 95 % interval, by the paired bootstrap over the questions of each task; None for one question.
        bootstrap_p: one-sided p-value from the same resamples.
        better, worse: questions that the first answered right at more sizes than the second, and at fewer.
        p_value: p-value of the one-sided exact sign test on these; for a single size, McNemar's test (1947).
        questions: questions answered by both.
    """

    mean_difference: float | None
    low: float | None
    high: float | None
    bootstrap_p: float | None
    better: int
    worse: int
    p_value: float | None
    questions: int


def compare_questions(
    outcomes: pl.DataFrame,
    ranks: pl.DataFrame | None = None,
    baselines: Mapping[str, str] | None = None,
    fewer: Undersized = NONE,
    trainings: Trainings | None = None,
) -> pl.DataFrame:
    """Compare variants over the questions that both answered, at sizes where neither vocabulary is undersized.

    Args:
        outcomes: see :data:`tokbench.statistics.answers.OUTCOME`. With a column ``seed``, a question's outcome is its
            mean over seeds.
        ranks: table of ranks, to find the best variant of each model and suite (default: None, no best), see
            :func:`tokbench.statistics.pairs.compared`.
        baselines: baseline by variant (default: none).
        fewer: variant and size of undersized vocabularies, see :mod:`tokbench.statistics.equal_size` (default: none).
        trainings: see :func:`tokbench.statistics.verdicts.fewest`. With fewer than three there are differences and
            intervals, but no p-values.

    Returns:
        One row per model, suite and ordered pair: the columns of :class:`Answers`, ``holm`` and
        ``benjamini_hochberg`` (p-values adjusted for all tests of the model and suite), ``missing`` (cells that only
        one of the two has), and ``reason``, which names them.

    Raises:
        TokbenchError: a column is missing.
    """
    rows: list[tuple[str | float | int | None, ...]] = []
    best = {} if ranks is None else best_of(ranks)
    for head, given in answers(outcomes):
        pairs = compared(list(given), best.get(head), baselines or {})
        cells = {variant: answered.sheet.answered_cells for variant, answered in given.items()}
        found: dict[tuple[str, str], tuple[str | float | int | None, ...]] = {}
        sizes = {size for size, _ in cells_of(given)}
        for a, b in unordered(pairs):
            smaller = sizes_with_fewer((a, b), sizes, fewer)
            differences = without_sizes(given[a] - given[b], smaller)
            single = sorted(cells[a] ^ cells[b])
            reason = why_left_out(single, left_out(cells[a] | cells[b], smaller))
            if not differences.sheet.questions:
                reason = NO_QUESTION + AS_MANY * bool(smaller)
            forth, back = _compared(differences)
            answered = {size for size, _ in differences.sheet.answered_cells}
            if answered and (why := why_untested(fewest(trainings, *head, answered))):
                forth, back = (replace(one, bootstrap_p=None, p_value=None) for one in (forth, back))
                reason = "; ".join(filter(None, (why, reason)))
            found[a, b] = (*astuple(forth), len(single), reason)
            found[b, a] = (*astuple(back), len(single), reason)
        rows += [(*head, *pair, *found[pair]) for pair in pairs]
    return adjusted(pl.DataFrame(rows, schema=unadjusted(QUESTION_COMPARISONS), orient="row"))


def question_intervals(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return average accuracy of every variant with its 95 % interval, by the bootstrap over questions of each task.

    Args:
        outcomes: see :func:`compare_questions`.

    Returns:
        The columns of :data:`QUESTION_INTERVALS`, one row per model, suite and variant.
    """
    rows = []
    for head, given in answers(outcomes):
        for variant, answered in given.items():
            values, sheet = answered.by_question(), answered.sheet
            drawn = summarized(stratified_sums(values)) if sheet.questions > 1 else None
            interval = (drawn.low, drawn.high) if drawn else (None, None)
            rows.append((*head, variant, _total(values), *interval, sheet.cells, sheet.questions))
    return pl.DataFrame(rows, schema=QUESTION_INTERVALS.schema, orient="row")


def behind_the_best(
    outcomes: pl.DataFrame, fewer: Undersized = NONE, trainings: Trainings | None = None
) -> pl.DataFrame:
    """Test every accuracy against the best of its model, suite, size and task, on the questions that both answered.

    Args:
        outcomes: see :func:`compare_questions`.
        fewer: variant and size of undersized vocabularies, which are not tested (default: none).
        trainings: see :func:`tokbench.statistics.verdicts.fewest`. Models that were trained once have no row.

    Returns:
        One row per variant that is not the best, for every task and, with an empty ``task``, for the average over
        tasks. Averages are compared among variants that have all tasks. ``best`` is the best variant (ties go to the
        first by name). ``p_value`` is two-sided: of the exact sign test for a task, of the bootstrap for the average;
        null for a single question and for two trainings. ``questions`` counts the questions of both.
    """
    rows: list[tuple[str | float | int | None, ...]] = []
    for head, given in answers(outcomes):
        cells = cells_of(given)
        for size in sorted({size for size, _ in cells}):
            trained = fewest(trainings, *head, [size])
            if not may_rank(trained):
                continue
            tests = not why_untested(trained)
            here = {(size, task) for at, task in cells if at == size}
            alike = {variant: one for variant, one in given.items() if (variant, size) not in fewer}
            part = restricted(alike, here)
            whole = {variant: one for variant, one in part.items() if one.sheet.cells == len(here)}
            rows += [(*head, size, "", *one) for one in _behind(whole, averaged=True, tested=tests)]
            for cell in sorted(here):
                of_cell = _behind(restricted(part, {cell}), averaged=False, tested=tests)
                rows += [(*head, *cell, *one) for one in of_cell]
    return pl.DataFrame(rows, schema=BEHIND_THE_BEST.schema, orient="row").sort(
        "model", "suite", "size", "task", "variant"
    )


def _behind(
    given: Mapping[str, Answered], averaged: bool, tested: bool
) -> Iterator[tuple[str, str, float | None, int]]:
    """Yield variant, best variant, p-value and number of common answers, for variants in the same cells."""
    if not given:
        return
    best = max(sorted(given), key=lambda variant: _total(given[variant].by_question()))
    for variant in given.keys() - {best}:
        differences = given[best] - given[variant]
        test = _bootstrapped if averaged else _sign_test
        one_sided = test(differences) if tested else []
        lower = min((p_value for p_value in one_sided if p_value is not None), default=None)
        yield variant, best, None if lower is None else min(1.0, 2 * lower), len(differences.values)


def _bootstrapped(differences: Answered) -> list[float | None]:
    return [answers.bootstrap_p for answers in _compared(differences)]


def _sign_test(differences: Answered) -> list[float | None]:
    if not differences.sheet.questions:
        return []
    better, worse = _counted(differences)
    return [binomial_tail(side, better + worse) for side in (better, worse)]


def _counted(differences: Answered) -> tuple[int, int]:
    """Return the number of questions that the first answered right more often, and that of the second."""
    sums = np.round(differences.sums(), DECIMALS)
    return int((sums > 0).sum()), int((sums < 0).sum())


def _compared(differences: Answered) -> tuple[Answers, Answers]:
    """Return the first against the second, and the second against the first."""
    values, questions = differences.by_question(), differences.sheet.questions
    if not values:
        nothing = Answers(None, None, None, None, 0, 0, None, 0)
        return nothing, nothing
    better, worse = _counted(differences)
    drawn, total = stratified_sums(values), _total(values)

    def answers(sign: int, better: int, worse: int) -> Answers:
        low, high, bootstrap_p = astuple(summarized(sign * drawn)) if questions > 1 else (None, None, None)
        p_value = binomial_tail(better, better + worse)
        return Answers(sign * total, low, high, bootstrap_p, better, worse, p_value, questions)

    return answers(1, better, worse), answers(-1, worse, better)


def _total(values: Sequence[NDArray[np.float64]]) -> float:
    return fsum(float(value) for task in values for value in task)


_TWO = "an interval needs two questions"
QUESTION_COMPARISONS = TidyTable(
    "question_comparisons",
    f"an ordered pair of variants under a model and suite, over the questions that both answered; {WHICH}",
    (
        columns.MODEL,
        columns.SUITE,
        columns.A,
        columns.B,
        replace(columns.MEAN_DIFFERENCE, empty=_TWO),
        replace(columns.LOW, empty=_TWO),
        replace(columns.HIGH, empty=_TWO),
        replace(columns.BOOTSTRAP_P, empty=_TWO),
        Column("better", pl.Int64, "questions that a answered right at more sizes", "questions", "a better"),
        Column("worse", pl.Int64, "questions that b answered right at more sizes", "questions", "b better"),
        replace(columns.P_VALUE, definition="p-value of the one-sided exact sign test on these", empty=_TWO),
        replace(columns.HOLM, empty=_TWO),
        replace(columns.BENJAMINI_HOCHBERG, empty=_TWO),
        replace(columns.QUESTIONS, definition="questions that both answered"),
        replace(columns.MISSING, heading="cells missing"),
        columns.REASON,
    ),
    maker=compare_questions,
    takes=("outcomes", "ranks", "baselines", "fewer", "trainings"),
    prints=(
        Print(
            "statistics",
            "Tests of whether a is better than b on the questions that both answered, by {model} on {suite}. A better, "
            "b better: questions that one of the two answered right more often, over all sizes. p: one-sided exact "
            "sign test on these (McNemar's test for a single size). low, high: 95 % interval of the difference of the "
            "averages, by the paired bootstrap over the questions of each task. A question is drawn with all its "
            "sizes.",
            (
                "a", "b", "mean_difference", "low", "high", "bootstrap_p", "better", "worse", "p_value", "holm",
                "benjamini_hochberg", "questions", "missing",
            ),
            by=("model", "suite"),
            files=("downstream/{model}/{a}/{size}/{suite}.json", "downstream/{model}/{b}/{size}/{suite}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
QUESTION_INTERVALS = TidyTable(
    "question_intervals",
    "a variant under a model and suite",
    (
        columns.MODEL,
        columns.SUITE,
        columns.VARIANT,
        columns.AVERAGE,
        replace(columns.of_share(columns.LOW), empty=_TWO),
        replace(columns.of_share(columns.HIGH), empty=_TWO),
        columns.CELLS,
        columns.QUESTIONS,
    ),
    maker=question_intervals,
    takes=("outcomes",),
    keys=("model", "suite", "variant"),
    prints=(
        Print(
            "statistics",
            "Average accuracy of {model} on {suite} in percent, with a 95 % interval by the bootstrap over the "
            "questions of each task; a question is drawn with all its sizes.",
            ("variant", "average", "low", "high", "cells", "questions"),
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)
BEHIND_THE_BEST = TidyTable(
    "behind_the_best",
    "a variant that is not the best at a task and vocabulary size, under a model and suite",
    (
        columns.MODEL,
        columns.SUITE,
        columns.SIZE,
        replace(columns.TASK, definition="name of the task; empty for the average over tasks"),
        columns.VARIANT,
        Column("best", pl.String, "best variant; ties go to the first by name"),
        replace(
            columns.P_VALUE,
            definition="two-sided p-value against the best: sign test for a task, bootstrap for the average; empty for "
            "fewer than three trainings",
        ),
        replace(columns.QUESTIONS, definition="questions that both answered"),
    ),
    maker=behind_the_best,
    takes=("outcomes", "fewer", "trainings"),
    prints=(
        Print(
            "downstream",
            "Accuracies that are not significantly below the highest, in the tables of accuracies.",
            by=("model", "suite", "size"),
            arranged=True,
            form="signs",
        ),
    ),
    of_models=True,
)
