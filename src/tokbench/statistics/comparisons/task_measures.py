"""Accuracy, bits per byte and probability of right answers: means of tasks, and comparisons of variants.

All measures are analysed in the same way, so that their intervals can be compared. Two variants are compared by the
differences on the questions that both answered, at one vocabulary size. Means and their intervals are those of
:mod:`tokbench.statistics.comparisons.question_groups`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import polars as pl

from tokbench.statistics.comparisons.judgement_columns import UNIT, N
from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.comparisons.pair_selection import SELECTION, sorted_pairs
from tokbench.statistics.comparisons.question_groups import (
    ANSWER_MEASURES,
    KEY,
    NO_VALUE,
    Measure,
    QuestionGroup,
    TaskEstimate,
    question_groups,
)
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.judgements import Judgement, judge
from tokbench.statistics.significance.verdicts import NOT_TESTED
from tokbench.statistics.significance.wilcoxon import benjamini_hochberg
from tokbench.statistics.undersized import LEFT_OUT, NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import (
    BENJAMINI_HOCHBERG,
    HOLM,
    MODEL,
    P_VALUE,
    QUESTIONS,
    REASON,
    SIZE,
    SOURCE_CORPUS,
    SUITE,
    TASK,
    VARIANT,
    A,
    B,
)
from tokbench.tabulation.table import MEASURE, Column, Print, TidyTable

Row = dict[str, Any]
Pair = tuple[str, str]
Key = tuple[Pair, str]
"""Pair of variants and task; the task is empty for the mean over tasks."""
FamilyKey = TypeVar("FamilyKey")
"""Key of a difference in a family of tests."""
NO_QUESTION = "no question in common"
MEASURE_NAME = Column(
    "measure", pl.String, "accuracy; answer_bits_per_byte: bits per byte of the right answer; "
    "answer_probability: probability of the right answer, normalised over the choices",
)  # fmt: skip
OVER_TASKS = replace(TASK, definition="name of the task; empty for the unweighted mean over tasks")
CLUSTERS = Column(
    "clusters", pl.Int64, "groups of questions, or documents (units) that questions are made from; questions "
    "without either count one by one", "clusters",
)  # fmt: skip
_TWO = "needs two clusters of questions"
_ONE_SEED = "trained once"
_FAMILY = "all pairs of the corpus, model, suite, size and measure; means over tasks and single tasks are two families"


def _tasks(group: QuestionGroup) -> list[tuple[str, int | None]]:
    """Return name and number of each task, after the mean over tasks, which has an empty name."""
    return [("", None), *((name, number) for number, name in enumerate(group.tasks))]


def task_measure_table(answers_by_seed: pl.DataFrame) -> pl.DataFrame:
    """Return the mean of each measure with its 95 % interval, by variant and task.

    Args:
        answers_by_seed: see :func:`question_groups`.

    Returns:
        The columns of :data:`TASK_MEASURES`, a row per corpus, model, suite, size, variant, measure and task. The
        interval is over seeds and clusters of questions, over clusters only for one seed. A mean over tasks is null if
        a task has no question with a value for every seed.
    """
    rows: list[dict[str, Any]] = []
    for measure in ANSWER_MEASURES:
        for group in question_groups(answers_by_seed, measure):
            for variant in group.variants:
                head = dict(zip(KEY, group.key, strict=True)) | {"variant": variant, "measure": measure.name}
                rows += [head | row for row in _means(group, variant)]
    return TASK_MEASURES.frame(rows).sort(*KEY, "task", "measure", "variant", maintain_order=True)


def _means(group: QuestionGroup, variant: str) -> Iterator[dict[str, Any]]:
    """Yield the columns from ``task`` for the mean over tasks and each task."""
    values = group.value(variant)
    for name, task in _tasks(group):
        of_task = group.mean(values, task)
        lacking = group.lacking(values) if task is None else None
        if of_task is None or lacking:
            yield {"task": name, "seeds": len(values), "reason": lacking or NO_VALUE}
            continue
        low, high = of_task.estimate.ends()
        counts = {"questions": of_task.questions, "clusters": of_task.clusters, "seeds": of_task.seeds}
        row = {"task": name, "value": of_task.mean, "low": low, "high": high, "reason": of_task.reason}
        yield row | counts | {"seed_deviation": of_task.seed_deviation}


def compare_task_measures(
    answers_by_seed: pl.DataFrame,
    baselines: Mapping[str, str],
    undersized: Undersized = NO_UNDERSIZED,
    *,
    measures: Sequence[Measure] = ANSWER_MEASURES,
) -> pl.DataFrame:
    """Compare every two variants of a corpus, model, suite and size by each measure, for each task and over tasks.

    Args:
        answers_by_seed: see :func:`question_groups`.
        baselines: baseline by variant, used if there are many variants; see
            :func:`tokbench.statistics.comparisons.pair_selection.select_pairs`.
        undersized: variant and size of undersized vocabularies, which are not tested; see
            :mod:`tokbench.statistics.significance.eligibility` (default: none).
        measures: measures of a question, columns of ``answers_by_seed`` (default: :data:`ANSWER_MEASURES`).

    Returns:
        The columns of :data:`TASK_MEASURE_COMPARISONS`, a row for each unordered pair, measure and task. Over tasks,
        only those that both have count. With one seed the interval is over clusters of questions only. Nothing is
        tested with fewer than three seeds or six clusters.
    """
    rows = [
        row
        for measure in measures
        for group in question_groups(answers_by_seed, measure)
        for row in _comparison_rows(group, measure, _pairs(group, measure, baselines), undersized)
    ]
    return TASK_MEASURE_COMPARISONS.frame(rows).sort(*KEY, "task", "measure", "a", "b", maintain_order=True)


def _comparison_rows(
    group: QuestionGroup, measure: Measure, pairs: Sequence[Pair], undersized: Undersized
) -> Iterator[Row]:
    """Yield a row for each pair and task, and one with a reason for a pair that has nothing in common."""
    task_estimates: dict[Key, TaskEstimate] = {}
    for pair in pairs:
        if not group.seeds(*pair):
            yield _row(group, measure, (pair, ""), None, None, NO_SEED)
            continue
        differences = group.difference(*pair)
        means = {name: group.mean(differences, task) for name, task in _tasks(group)}
        if means[""] is None:
            yield _row(group, measure, (pair, ""), None, None, NO_QUESTION)
        task_estimates |= {(pair, name): estimate for name, estimate in means.items() if estimate is not None}
    estimates = {
        key: task_estimate.estimate.exclude(LEFT_OUT)
        if _is_undersized(key, group, undersized)
        else task_estimate.estimate
        for key, task_estimate in task_estimates.items()
    }
    judgements = judge_family({key: estimate for key, estimate in estimates.items() if not key[1]}, measure)
    judgements |= judge_family({key: estimate for key, estimate in estimates.items() if key[1]}, measure)
    for key, task_estimate in task_estimates.items():
        pair, name = key
        lacking = None if name else group.lacking(group.difference(*pair))
        yield _row(group, measure, key, task_estimate, judgements[key], lacking)


def _pairs(group: QuestionGroup, measure: Measure, baselines: Mapping[str, str]) -> list[Pair]:
    """Return the unordered pairs of variants to compare."""
    sign = 1 if measure.end == "lowest" else -1
    levels = {name: group.mean(group.value(name), None) for name in group.variants}
    known = [(sign * level.mean, name) for name, level in levels.items() if level is not None]
    best = min(known)[1] if known else None
    return sorted_pairs(group.variants, best, baselines)


def _is_undersized(key: Key, group: QuestionGroup, undersized: Undersized) -> bool:
    return any((name, group.key[-1]) in undersized for name in key[0])


def judge_family(
    family: Mapping[FamilyKey, Estimate], measure: Measure
) -> dict[FamilyKey, tuple[Judgement, float | None]]:
    """Return the judgement of each difference, and its p-value after Benjamini and Hochberg's correction."""
    judgements = judge(list(family.values()), measure.end)
    p_values = [judgement.p_value for judgement in judgements if judgement.p_value is not None]
    adjusted = iter(benjamini_hochberg(p_values).tolist())
    return {
        key: (judgement, None if judgement.p_value is None else next(adjusted))
        for key, judgement in zip(family, judgements, strict=True)
    }


def _row(
    group: QuestionGroup,
    measure: Measure,
    key: Key,
    estimate: TaskEstimate | None,
    judgement: tuple[Judgement, float | None] | None,
    limit: str | None,
) -> Row:
    """Return a row of the table of comparisons."""
    (a, b), task = key
    head = dict(zip(KEY, group.key, strict=True)) | {"task": task, "measure": measure.name, "a": a, "b": b}
    if estimate is None or judgement is None:
        return head | {"verdict": NOT_TESTED, "reason": limit}
    reason = join_reasons(judgement[0].reason, limit)
    return head | difference_columns(estimate, *judgement) | {"reason": reason} | count_columns(estimate)


def difference_columns(estimate: TaskEstimate, verdict: Judgement, adjusted: float | None) -> Row:
    """Return the columns from ``difference`` to ``detectable``."""
    names = ("low", "high", "p_value", "holm", "verdict", "excluded", "detectable")
    columns = {name: getattr(verdict, name) for name in names}
    return {"difference": estimate.mean, "error": estimate.error, "benjamini_hochberg": adjusted} | columns


def count_columns(estimate: TaskEstimate) -> Row:
    """Return the columns from ``n`` to ``residual_error``."""
    counts = {"n": estimate.estimate.units, "unit": estimate.estimate.unit}
    names = ("seeds", "questions", "clusters", "seed_deviation", "question_error", "residual_error")
    return counts | {name: getattr(estimate, name) for name in names}


def join_reasons(*reasons: str | None) -> str | None:
    """Join reasons; None if there are none."""
    return "; ".join(filter(None, reasons)) or None


TASK_MEASURES = TidyTable(
    "task_measures",
    "a measure of a variant's answers to the questions of a task, under a model and suite",
    (
        SOURCE_CORPUS,
        MODEL,
        SUITE,
        SIZE,
        VARIANT,
        OVER_TASKS,
        MEASURE_NAME,
        Column("value", pl.Float64, "mean over questions and seeds", MEASURE),
        Column("low", pl.Float64, "lower end of its 95 % interval, over seeds and clusters of questions", MEASURE,
               empty=_TWO),
        Column("high", pl.Float64, "upper end of this interval", MEASURE, empty=_TWO),
        QUESTIONS,
        CLUSTERS,
        Column("seed_deviation", pl.Float64, "standard deviation of the seeds' values", MEASURE, "deviation by seed",
               empty=_ONE_SEED),
        Column("seeds", pl.Int64, "seeds that the model was trained with", "seeds"),
        REASON,
    ),
    maker=task_measure_table,
    takes=("answers_by_seed",),
    keys=("source_corpus", "model", "suite", "size", "variant", "task", "measure"),
    prints=(
        Print(
            "statistics",
            "Accuracy, bits per byte of the right answer (fewer are better) and probability of the right answer over "
            "the choices, {model} on {suite}. The 95 % interval is for other seeds and other questions of the same "
            "tasks; with one seed, only for other questions. Rows without a task are means over tasks.",
            (
                "source_corpus", "variant", "size", "task", "measure", "value", "low", "high", "questions", "clusters",
                "seeds",
            ),
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
TASK_MEASURE_COMPARISONS = TidyTable(
    "task_measure_comparisons",
    f"two variants at a vocabulary size under a model and suite, by a measure of answers on a task; {SELECTION}",
    (
        SOURCE_CORPUS,
        MODEL,
        SUITE,
        SIZE,
        OVER_TASKS,
        MEASURE_NAME,
        A,
        B,
        Column("difference", pl.Float64, "value of a minus that of b", MEASURE, "a − b"),
        Column("error", pl.Float64, "standard error of the difference, seeds and clusters of questions as crossed "
               "random effects", MEASURE, empty=_TWO),
        Column("low", pl.Float64, "lower end of its 95 % interval", MEASURE, empty=_TWO),
        Column("high", pl.Float64, "upper end of this interval", MEASURE, empty=_TWO),
        replace(P_VALUE, definition="two-sided p-value, by sign flips of the units or Student's t"),
        replace(HOLM, definition=f"p-value after Holm's correction over {_FAMILY}"),
        BENJAMINI_HOCHBERG,
        Column("verdict", pl.String, "verdict on a by Holm's p at level 0.05: better, worse, no significant "
               "difference, or not tested (see reason)", "", "a is"),
        Column("excluded", pl.Float64, "if not significant: larger differences, of either sign, are excluded by "
               "simultaneous 95 % intervals for all pairs of the family", MEASURE, "excluded above",
               empty="the difference is significant"),
        Column("detectable", pl.Float64, "true difference that the uncorrected test detects with probability 0.8",
               MEASURE),
        REASON,
        N,
        UNIT,
        Column("seeds", pl.Int64, "seeds that both models were trained with", "seeds"),
        replace(QUESTIONS, definition="questions that both answered"),
        CLUSTERS,
        Column("seed_deviation", pl.Float64, "standard deviation of the paired difference between seeds", MEASURE,
               empty=_ONE_SEED),
        Column("question_error", pl.Float64, "part of the standard error that is due to the questions; more seeds do "
               "not reduce it", MEASURE, "error by questions", empty=_TWO),
        Column("residual_error", pl.Float64, "part of the standard error that is due to single answers of single "
               "seeds; more seeds and more questions reduce it", MEASURE, "error by answers", empty=_ONE_SEED),
    ),
    maker=compare_task_measures,
    takes=("answers_by_seed", "baselines", "undersized"),
    prints=(
        Print(
            "statistics",
            "Variants compared by their answers, {model} on {suite}, mean over tasks; paired by seed and question. The "
            "95 % interval allows for both. Bits per byte are better if fewer, the other measures if more. p, Holm: "
            "corrected over the pairs of the measure. With fewer than three seeds nothing is tested.",
            (
                "source_corpus", "size", "measure", "a", "b", "difference", "low", "high", "holm",
                "benjamini_hochberg", "verdict", "detectable", "seeds", "questions", "clusters",
            ),
            by=("model", "suite"),
            files=("downstream/{model}/{a}/{size}/{suite}.json", "downstream/{model}/{b}/{size}/{suite}.json"),
            folds_above=20,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
