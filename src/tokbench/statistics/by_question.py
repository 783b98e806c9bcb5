"""Variants compared question by question, and averages with intervals, from the outcome of every question.

Accuracies alone hide which questions two variants answered alike, and that every vocabulary size was asked the same
ones. Here a question is drawn, or counted, as one whatever the sizes. Averages are those of the other statistics: over
cells (size and task), each the mean of its questions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import combinations, permutations
from math import fsum

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.bootstrap import stratified_sums, summarized
from tokbench.statistics.cells import name_cells
from tokbench.statistics.pairs import adjusted, unadjusted
from tokbench.statistics.tails import binomial_tail
from tokbench.statistics.wilcoxon import DECIMALS
from tokbench.tidy import columns
from tokbench.tidy.table import Column, Print, TidyTable, require, schema

OUTCOME = schema(columns.OUTCOME)
"""Types of the columns that are needed of the table of outcomes; ``document`` numbers the questions of a task."""
QUESTION = ["task", "document"]
CELL = ["size", "task"]


@dataclass(frozen=True, slots=True)
class Answers:
    """What the questions that both of two variants answered say; all None where there is none.

    Attributes:
        mean_difference: of the average accuracies, first minus second.
        low, high: 95 % interval of it, by the paired bootstrap over the questions of each task; None for one question.
        bootstrap_p: one-sided, by the same resamples.
        better, worse: questions that the first answered right at more sizes than the second, and at fewer.
        p_value: of the one-sided exact sign test on these, which for a single size is McNemar's (1947).
        questions: answered by both.
    """

    mean_difference: float | None
    low: float | None
    high: float | None
    bootstrap_p: float | None
    better: int
    worse: int
    p_value: float | None
    questions: int


def compare_questions(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Compare every ordered pair of variants over the questions that both answered.

    Args:
        outcomes: see :data:`OUTCOME`; with a column ``seed``, a question's outcome is its mean over seeds.

    Returns:
        One row per model, suite and ordered pair: the columns of :class:`Answers`, ``holm`` and
        ``benjamini_hochberg`` (p-values adjusted for all tests of the model and suite), ``missing`` (cells that only
        one of the two has), and ``reason``, which names them.

    Raises:
        TokbenchError: a column is missing.
    """
    rows: list[tuple[str | float | int | None, ...]] = []
    for head, answers in _answers(outcomes):
        found: dict[tuple[str, str], tuple[str | float | int | None, ...]] = {}
        for a, b in combinations(answers, 2):
            both = answers[a].join(answers[b], on=[*CELL, "document"], maintain_order="left")
            differences = both.with_columns(value=pl.col("value") - pl.col("value_right"))
            single = sorted(_cells(answers[a]) ^ _cells(answers[b]))
            reason = f"left out, in one of the two only: {name_cells(single)}" if single else None
            if both.is_empty():
                reason = "no question in common"
            forth, back = _compared(differences)
            found[a, b] = (*astuple(forth), len(single), reason)
            found[b, a] = (*astuple(back), len(single), reason)
        rows += [(*head, *pair, *found[pair]) for pair in permutations(answers, 2)]
    return adjusted(pl.DataFrame(rows, schema=unadjusted(QUESTION_COMPARISONS), orient="row"))


def question_intervals(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Average accuracy of every variant with its 95 % interval, by the bootstrap over the questions of each task.

    Args:
        outcomes: as for :func:`compare_questions`.

    Returns:
        The columns of :data:`QUESTION_INTERVALS`, one row per model, suite and variant.
    """
    rows = []
    for head, answers in _answers(outcomes):
        for variant, frame in answers.items():
            values = _by_question(frame)
            questions = sum(map(len, values))
            drawn = summarized(stratified_sums(values)) if questions > 1 else None
            interval = (drawn.low, drawn.high) if drawn else (None, None)
            rows.append((*head, variant, _total(values), *interval, len(_cells(frame)), questions))
    return pl.DataFrame(rows, schema=QUESTION_INTERVALS.schema, orient="row")


def behind_the_best(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Test every accuracy against the best of its model, suite, size and task, on the questions that both answered.

    Args:
        outcomes: as for :func:`compare_questions`.

    Returns:
        One row per variant that is not the best, for every task and, with an empty ``task``, for the average over
        tasks, among variants that have them all: ``best`` (of equals the first by name), ``p_value`` (two-sided;
        of a task that of the exact sign test, of the average that of the bootstrap; null for a single question),
        ``questions``.
    """
    rows: list[tuple[str | float | int | None, ...]] = []
    for head, answers in _answers(outcomes):
        every = pl.concat([frame.with_columns(variant=pl.lit(variant)) for variant, frame in answers.items()])
        for (size,), part in every.group_by("size", maintain_order=True):
            tasks = part["task"].unique().sort().to_list()
            whole = part.filter(pl.col("task").n_unique().over("variant") == len(tasks))
            for task, cells in (("", whole), *((task, part.filter(task=task)) for task in tasks)):
                rows += [(*head, size, task, *tested) for tested in _behind(cells, averaged=not task)]
    return pl.DataFrame(rows, schema=BEHIND_THE_BEST.schema, orient="row").sort(
        "model", "suite", "size", "task", "variant"
    )


def _behind(cells: pl.DataFrame, averaged: bool) -> Iterator[tuple[str, str, float | None, int]]:
    """Variant, best variant, p-value and questions, of the answers of several variants to the same tasks."""
    frames = {
        str(variant): frame for (variant,), frame in cells.sort("variant").group_by("variant", maintain_order=True)
    }
    if not frames:
        return
    best = max(frames, key=lambda variant: _total(_by_question(frames[variant])))
    for variant in frames.keys() - {best}:
        both = frames[best].join(frames[variant], on=[*CELL, "document"], maintain_order="left")
        one_sided = [
            answers.bootstrap_p if averaged else answers.p_value
            for answers in _compared(both.with_columns(value=pl.col("value") - pl.col("value_right")))
        ]
        lower = min((p_value for p_value in one_sided if p_value is not None), default=None)
        yield variant, best, None if lower is None else min(1.0, 2 * lower), len(both)


def _answers(outcomes: pl.DataFrame) -> Iterator[tuple[tuple[str, str], dict[str, pl.DataFrame]]]:
    """By model and suite, and by variant: size, task, document and ``value``, the share of seeds that were right.

    A question that lacks one of the seeds of its model, suite and size is left out.
    """
    require(outcomes, columns.OUTCOME, "table of outcomes")
    seeds = pl.col("seed").n_unique() if "seed" in outcomes.columns else pl.lit(1)
    keys = [key for key in OUTCOME if key != "correct"]
    means = (
        outcomes.with_columns(wanted=seeds.over("model", "suite", "size"))
        .group_by(keys)
        .agg(pl.col("correct").mean().alias("value"), found=pl.len(), wanted=pl.col("wanted").first())
        .filter(pl.col("found") == pl.col("wanted"))
        .sort("model", "suite", "variant", *QUESTION, "size")
    )
    for (model, suite), part in means.group_by("model", "suite", maintain_order=True):
        by_variant = part.group_by("variant", maintain_order=True)
        yield (
            (str(model), str(suite)),
            {str(variant): frame.select(*CELL, "document", "value") for (variant,), frame in by_variant},
        )


def _cells(frame: pl.DataFrame) -> set[tuple[int, str]]:
    return set(frame.select(CELL).unique().iter_rows())


def _by_question(frame: pl.DataFrame) -> list[NDArray[np.float64]]:
    """By task, a value for every question; all of them add up to the mean over cells of each cell's mean."""
    share = pl.col("value") / pl.len().over(CELL) / len(_cells(frame))
    questions = frame.with_columns(value=share).group_by(QUESTION, maintain_order=True).agg(pl.col("value").sum())
    return [task["value"].to_numpy() for _, task in questions.group_by("task", maintain_order=True)]


def _compared(differences: pl.DataFrame) -> tuple[Answers, Answers]:
    """The first against the second, and the second against the first."""
    values = _by_question(differences)
    if not values:
        nothing = Answers(None, None, None, None, 0, 0, None, 0)
        return nothing, nothing
    sums = differences.group_by(QUESTION).agg(pl.col("value").sum().round(DECIMALS))["value"]
    better, worse = int((sums > 0).sum()), int((sums < 0).sum())
    drawn = stratified_sums(values)

    def answers(sign: int, better: int, worse: int) -> Answers:
        low, high, bootstrap_p = astuple(summarized(sign * drawn)) if len(sums) > 1 else (None, None, None)
        p_value = binomial_tail(better, better + worse)
        return Answers(sign * _total(values), low, high, bootstrap_p, better, worse, p_value, len(sums))

    return answers(1, better, worse), answers(-1, worse, better)


def _total(values: Sequence[NDArray[np.float64]]) -> float:
    return fsum(float(value) for task in values for value in task)


_TWO = "an interval needs two questions"
QUESTION_COMPARISONS = TidyTable(
    "question_comparisons",
    "an ordered pair of variants under a model and suite, over the questions that both answered",
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
        replace(columns.P_VALUE, definition="p of the one-sided exact sign test on these", empty=_TWO),
        replace(columns.HOLM, empty=_TWO),
        replace(columns.BENJAMINI_HOCHBERG, empty=_TWO),
        replace(columns.QUESTIONS, definition="questions that both answered"),
        replace(columns.MISSING, heading="cells missing"),
        columns.REASON,
    ),
    maker=compare_questions,
    takes=("outcomes",),
    prints=(
        Print(
            "statistics",
            "Is a better than b over the questions that both answered, {model} on {suite}? The questions that one of "
            "them answered right more often than the other, over all sizes, and p of the one-sided exact sign test on "
            "them (of a single size McNemar's). low, high: 95 % interval of the difference of the averages, by the "
            "paired bootstrap over the questions of each task; a question is drawn with all its sizes.",
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
    "a variant at a vocabulary size that is not the best at a task, under a model and suite",
    (
        columns.MODEL,
        columns.SUITE,
        columns.SIZE,
        replace(columns.TASK, definition="name of the task; empty for the average over tasks"),
        columns.VARIANT,
        Column("best", pl.String, "the best variant, of equals the first by name"),
        replace(
            columns.P_VALUE,
            definition="two-sided p against the best: of a task by the sign test, of the average by the bootstrap",
        ),
        replace(columns.QUESTIONS, definition="questions that both answered"),
    ),
    maker=behind_the_best,
    takes=("answered",),
    prints=(
        Print(
            "downstream",
            "Which accuracies are not significantly below the highest, in the tables of accuracies.",
            by=("model", "suite", "size"),
            arranged=True,
            form="signs",
        ),
    ),
    of_models=True,
)
