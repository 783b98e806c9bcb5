"""Accuracy, bits per byte and probability of right answers: means of tasks, and comparisons of variants.

All measures are analysed in the same way, so that their intervals can be compared. A value is a mean over questions,
or an unweighted mean over tasks of such means. Two variants are compared by the differences on the questions that both
answered, at one vocabulary size. Questions of one group (such as a paradigm of BLiMP), or made from one document or
unit of documents, are a cluster. Seeds and clusters are crossed random effects. The interval is therefore for other
seeds and other questions, and tasks are fixed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.metric import Direction
from tokbench.statistics.comparisons.judgement_columns import UNIT, N
from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.comparisons.pair_selection import WHICH, sorted_pairs
from tokbench.statistics.significance.estimate import Estimate, ratio, ratio_over_both
from tokbench.statistics.significance.judgements import Judgement, judge
from tokbench.statistics.significance.verdicts import NOT_TESTED
from tokbench.statistics.significance.wilcoxon import benjamini_hochberg
from tokbench.statistics.undersized import LEFT_OUT, NONE, Undersized
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
Values = NDArray[np.float64]
KEY = ("source_corpus", "model", "suite", "size")
QUESTION_UNIT, CLUSTER_UNIT = "questions", "clusters of questions"
NO_QUESTION = "no question in common"
NO_VALUE = "no question with a value for every seed"
ONE_CLUSTER = "one cluster of questions: how much the value varies between clusters is not known"
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


@dataclass(frozen=True)
class Measure:
    """A measure of answers.

    Attributes:
        name: name in tables.
        column: column of the table ``answer_measures`` with the value of a question.
        end: better end.
    """

    name: str
    column: str
    end: Direction


ACCURACY = Measure("accuracy", "correct", "highest")
ANSWER_MEASURES = (
    ACCURACY,
    Measure("answer_bits_per_byte", "bits_per_byte", "lowest"),
    Measure("answer_probability", "probability", "highest"),
)


@dataclass(frozen=True, slots=True)
class TaskEstimate:
    """Mean of a measure, or of a difference, over questions and seeds.

    Attributes:
        mean: the mean.
        estimate: the mean with its spread over seeds and clusters of questions, over clusters only for one seed.
        seeds, questions, clusters: numbers of each.
        seed_deviation: standard deviation of the seeds' means; None for one seed.
        question_error: part of the standard error that more seeds do not reduce; all of it for one seed.
        residual_error: part of the standard error from variation of single answers between seeds, which more seeds and
            more questions reduce; None for one seed.
    """

    mean: float
    estimate: Estimate
    seeds: int
    questions: int
    clusters: int
    seed_deviation: float | None = None
    question_error: float | None = None
    residual_error: float | None = None

    @property
    def error(self) -> float | None:
        """Standard error; None if it is not known."""
        return self.estimate.error if self.estimate.error < inf else None

    @property
    def reason(self) -> str | None:
        """Reason why there is no interval; None if there is one."""
        return ONE_CLUSTER if self.error is None else None


def estimate_mean(values: Values, task: NDArray[np.int64], cluster: NDArray[np.int64]) -> TaskEstimate:
    """Return the unweighted mean over tasks of the means over their questions, with its spread.

    Each question contributes (value - mean of its task) / (questions of the task x tasks). Contributions are added by
    cluster and seed, and the sums are the units of :func:`tokbench.statistics.significance.estimate.ratio`. A cluster
    may have questions of several tasks. With several tasks, contributions are widened for the degree of freedom that
    the mean of each task takes.

    Args:
        values: float64 [seeds, questions], one or more of both.
        task: task of each question, int64 [questions].
        cluster: cluster of each question, int64 [questions].
    """
    seeds, questions = values.shape
    _, of_task, counts = np.unique(task, return_inverse=True, return_counts=True)
    _, of_cluster = np.unique(cluster, return_inverse=True)
    clusters = int(of_cluster.max()) + 1
    weights = 1 / (len(counts) * counts[of_task])
    means = np.array([exact_sum(values[:, of_task == number].ravel()) for number in range(len(counts))])
    means /= seeds * counts
    mean = exact_sum(means) / len(means)
    unit = QUESTION_UNIT if clusters == questions else CLUSTER_UNIT
    widening = _widening(of_task, of_cluster)
    if widening is None:
        return TaskEstimate(mean, Estimate(mean, inf, 1.0, seeds, clusters, unit), seeds, questions, clusters)
    shares = np.bincount(of_cluster, weights, clusters).astype(np.float64, copy=False)
    contributions = (values - means[of_task]) * weights * widening[of_task]
    parts = mean * shares + np.stack([np.bincount(of_cluster, row, clusters) for row in contributions])
    if seeds < 2:
        found = ratio(parts, shares, unit=unit, trained=True)
        assert found is not None
        return TaskEstimate(mean, replace(found, difference=mean), 1, questions, clusters, None, found.error)
    both = ratio_over_both(parts, shares)
    spreads = (both.seed_deviation, both.document_error, both.residual_error)
    return TaskEstimate(mean, replace(both.estimate, difference=mean, unit=unit), seeds, questions, clusters, *spreads)


def _widening(of_task: NDArray[np.int64], of_cluster: NDArray[np.int64]) -> Values | None:
    """Return the factor of each task's contributions; None if a task has only one cluster.

    It is sqrt(m (n - 1) / ((m - 1) n)) for n clusters, of which m are in the task: as many equal ones as its own have
    the effective size of (Kish 1965). With one task it is 1.
    """
    clusters, tasks = int(of_cluster.max()) + 1, int(of_task.max()) + 1
    factors = np.ones(tasks)
    for number in range(tasks):
        sizes = np.bincount(of_cluster[of_task == number]).astype(np.float64)
        effective = exact_sum(sizes) ** 2 / exact_sum(sizes * sizes)
        if effective <= 1:
            return None
        if tasks > 1:
            factors[number] = sqrt(effective / (effective - 1) * (clusters - 1) / clusters)
    return factors


@dataclass(frozen=True)
class QuestionGroup:
    """Values of one measure on the questions of a corpus, model, suite and size.

    Attributes:
        key: values of :data:`KEY`.
        tasks: names of the tasks, ascending.
        task: task of each question, int64 [questions].
        cluster: cluster of each question, int64 [questions].
        values: float64 [questions] by variant and seed, NaN where missing.
    """

    key: tuple[Any, ...]
    tasks: Sequence[str]
    task: NDArray[np.int64]
    cluster: NDArray[np.int64]
    values: Mapping[str, Mapping[int | None, Values]]

    @property
    def variants(self) -> list[str]:
        """Variants in alphabetical order."""
        return sorted(self.values)

    def mean(self, values: Values, task: int | None) -> TaskEstimate | None:
        """Return the mean over the questions that every seed has; None if there are none.

        Args:
            values: float64 [seeds, questions].
            task: only this task; None for the mean over tasks.
        """
        known = ~np.isnan(values).any(axis=0)
        if task is not None:
            known &= self.task == task
        if not known.any():
            return None
        return estimate_mean(values[:, known], self.task[known], self.cluster[known])

    def seeds(self, *variants: str) -> list[int | None]:
        """Return the seeds that all variants have."""
        first, *others = (self.values[variant] for variant in variants)
        return [seed for seed in first if all(seed in other for other in others)]

    def value(self, variant: str) -> Values:
        """Return the values of a variant, float64 [seeds, questions]."""
        return np.stack(list(self.values[variant].values()))

    def difference(self, a: str, b: str) -> Values:
        """Return the differences of two variants with a common seed, a minus b, float64 [seeds, questions]."""
        return np.stack([self.values[a][seed] - self.values[b][seed] for seed in self.seeds(a, b)])

    def estimate(self, a: str, b: str = "") -> Estimate | None:
        """Return the mean over tasks of a variant, or its difference from another, a minus b.

        None without a common seed, or if a task has no question with a value for every seed.
        """
        if b and not self.seeds(a, b):
            return None
        values = self.difference(a, b) if b else self.value(a)
        found = None if self.lacking(values) else self.mean(values, None)
        return None if found is None else found.estimate

    def lacking(self, values: Values) -> str | None:
        """Return the reason why a mean over tasks is incomplete: tasks without a known question; None if complete."""
        known = set(self.task[~np.isnan(values).any(axis=0)].tolist())
        gone = [name for number, name in enumerate(self.tasks) if number not in known]
        return f"left out, {NO_VALUE}: {', '.join(gone)}" if gone else None


def question_cluster() -> pl.Expr:
    """Return the name of a question's cluster: its group, the document that it is made from, or itself."""
    return (
        pl.when(pl.col("group") != "")
        .then(pl.format("group {} {}", "task", "group"))
        .when(pl.col("source_document").is_not_null())
        .then(pl.format("document {}", "source_document"))
        .otherwise(pl.format("question {} {}", "task", "document"))
    )


def question_groups(
    answers_by_seed: pl.DataFrame, measure: Measure, keys: Sequence[str] = KEY
) -> Iterator[QuestionGroup]:
    """Yield the values of a measure for each corpus, model, suite and size.

    Args:
        answers_by_seed: table ``answer_measures`` with a column ``seed``, which is null for models trained once. Models
            that differ only in the seed share a name.
        measure: the measure.
        keys: columns of the groups (default: source corpus, model, suite and size).
    """
    known = answers_by_seed.with_columns(pl.col(measure.column).cast(pl.Float64), cluster=question_cluster())
    known = known.drop_nulls(measure.column).sort(*keys, "variant", "seed")
    for key, part in known.group_by(*keys, maintain_order=True):
        places = part.select("task", "document", "cluster").unique(["task", "document"], keep="first")
        places = places.sort("task", "document").with_row_index("place")
        tasks, task = np.unique(places["task"].to_numpy(), return_inverse=True)
        _, clusters = np.unique(places["cluster"].to_numpy(), return_inverse=True)
        placed = part.join(places.drop("cluster"), on=["task", "document"], how="left", maintain_order="left")
        values: dict[str, dict[int | None, Values]] = {}
        for (variant, seed), one in placed.group_by("variant", "seed", maintain_order=True):
            of_seed = np.full(len(places), np.nan)
            of_seed[one["place"].to_numpy()] = one[measure.column].to_numpy()
            values.setdefault(str(variant), {})[seed] = of_seed
        yield QuestionGroup(key, tasks.tolist(), task.astype(np.int64), clusters.astype(np.int64), values)


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
    fewer: Undersized = NONE,
    *,
    measures: Sequence[Measure] = ANSWER_MEASURES,
) -> pl.DataFrame:
    """Compare every two variants of a corpus, model, suite and size by each measure, for each task and over tasks.

    Args:
        answers_by_seed: see :func:`question_groups`.
        baselines: baseline by variant, used if there are many variants; see
            :func:`tokbench.statistics.comparisons.pair_selection.compared`.
        fewer: variant and size of undersized vocabularies, which are not tested; see
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
        for row in _compared(group, measure, _pairs(group, measure, baselines), fewer)
    ]
    return TASK_MEASURE_COMPARISONS.frame(rows).sort(*KEY, "task", "measure", "a", "b", maintain_order=True)


def _compared(group: QuestionGroup, measure: Measure, pairs: Sequence[Pair], fewer: Undersized) -> Iterator[Row]:
    """Yield a row for each pair and task, and one with a reason for a pair that has nothing in common."""
    found: dict[Key, TaskEstimate] = {}
    for pair in pairs:
        if not group.seeds(*pair):
            yield _row(group, measure, (pair, ""), None, None, NO_SEED)
            continue
        differences = group.difference(*pair)
        means = {name: group.mean(differences, task) for name, task in _tasks(group)}
        if means[""] is None:
            yield _row(group, measure, (pair, ""), None, None, NO_QUESTION)
        found |= {(pair, name): one for name, one in means.items() if one is not None}
    estimates = {
        key: one.estimate.excluded(LEFT_OUT) if _undersized(key, group, fewer) else one.estimate
        for key, one in found.items()
    }
    judged = judge_family({key: one for key, one in estimates.items() if not key[1]}, measure)
    judged |= judge_family({key: one for key, one in estimates.items() if key[1]}, measure)
    for key, one in found.items():
        pair, name = key
        lacking = None if name else group.lacking(group.difference(*pair))
        yield _row(group, measure, key, one, judged[key], lacking)


def _pairs(group: QuestionGroup, measure: Measure, baselines: Mapping[str, str]) -> list[Pair]:
    """Return the unordered pairs of variants to compare."""
    sign = 1 if measure.end == "lowest" else -1
    levels = {name: group.mean(group.value(name), None) for name in group.variants}
    known = [(sign * one.mean, name) for name, one in levels.items() if one is not None]
    best = min(known)[1] if known else None
    return sorted_pairs(group.variants, best, baselines)


def _undersized(key: Key, group: QuestionGroup, fewer: Undersized) -> bool:
    return any((name, group.key[-1]) in fewer for name in key[0])


def judge_family(
    family: Mapping[FamilyKey, Estimate], measure: Measure
) -> dict[FamilyKey, tuple[Judgement, float | None]]:
    """Return the judgement of each difference, and its p-value after Benjamini and Hochberg's correction."""
    judgements = judge(list(family.values()), measure.end)
    tested = [one.p_value for one in judgements if one.p_value is not None]
    adjusted = iter(benjamini_hochberg(tested).tolist())
    return {
        key: (one, None if one.p_value is None else next(adjusted)) for key, one in zip(family, judgements, strict=True)
    }


def _row(
    group: QuestionGroup,
    measure: Measure,
    key: Key,
    one: TaskEstimate | None,
    judged: tuple[Judgement, float | None] | None,
    limit: str | None,
) -> Row:
    """Return a row of the table of comparisons."""
    (a, b), task = key
    head = dict(zip(KEY, group.key, strict=True)) | {"task": task, "measure": measure.name, "a": a, "b": b}
    if one is None or judged is None:
        return head | {"verdict": NOT_TESTED, "reason": limit}
    reason = joined_reasons(judged[0].reason, limit)
    return head | judged_values(one, *judged) | {"reason": reason} | counts_of(one)


def judged_values(one: TaskEstimate, verdict: Judgement, adjusted: float | None) -> Row:
    """Return the columns from ``difference`` to ``detectable``."""
    names = ("low", "high", "p_value", "holm", "verdict", "excluded", "detectable")
    judged = {name: getattr(verdict, name) for name in names}
    return {"difference": one.mean, "error": one.error, "benjamini_hochberg": adjusted} | judged


def counts_of(one: TaskEstimate) -> Row:
    """Return the columns from ``n`` to ``residual_error``."""
    counts = {"n": one.estimate.units, "unit": one.estimate.unit}
    names = ("seeds", "questions", "clusters", "seed_deviation", "question_error", "residual_error")
    return counts | {name: getattr(one, name) for name in names}


def joined_reasons(*reasons: str | None) -> str | None:
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
    f"two variants at a vocabulary size under a model and suite, by a measure of answers on a task; {WHICH}",
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
    takes=("answers_by_seed", "baselines", "fewer"),
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
