"""Measures of answers to questions: means over tasks, with their spread over seeds and clusters of questions.

A value is a mean over questions, or an unweighted mean over tasks of such means. Questions of one group (such as a
paradigm of BLiMP), or made from one document or unit of documents, are a cluster. Seeds and clusters are crossed random
effects. The interval is therefore for other seeds and other questions, and tasks are fixed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.metric import Direction
from tokbench.statistics.significance.estimate import Estimate, ratio, ratio_over_both

Values = NDArray[np.float64]
KEY = ("source_corpus", "model", "suite", "size")
QUESTION_UNIT, CLUSTER_UNIT = "questions", "clusters of questions"
NO_VALUE = "no question with a value for every seed"
ONE_CLUSTER = "one cluster of questions: how much the value varies between clusters is not known"


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
        estimate = ratio(parts, shares, unit=unit, trained=True)
        assert estimate is not None
        return TaskEstimate(mean, replace(estimate, difference=mean), 1, questions, clusters, None, estimate.error)
    ratio_of_both = ratio_over_both(parts, shares)
    spreads = (ratio_of_both.seed_deviation, ratio_of_both.document_error, ratio_of_both.residual_error)
    return TaskEstimate(
        mean, replace(ratio_of_both.estimate, difference=mean, unit=unit), seeds, questions, clusters, *spreads
    )


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
        first, *rest = (self.values[variant] for variant in variants)
        return [seed for seed in first if all(seed in of_variant for of_variant in rest)]

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
        estimate = None if self.lacking(values) else self.mean(values, None)
        return None if estimate is None else estimate.estimate

    def lacking(self, values: Values) -> str | None:
        """Return the reason why a mean over tasks is incomplete: tasks without a known question; None if complete."""
        known = set(self.task[~np.isnan(values).any(axis=0)].tolist())
        missing = [name for number, name in enumerate(self.tasks) if number not in known]
        return f"left out, {NO_VALUE}: {', '.join(missing)}" if missing else None


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
        for (variant, seed), of_run in placed.group_by("variant", "seed", maintain_order=True):
            of_seed = np.full(len(places), np.nan)
            of_seed[of_run["place"].to_numpy()] = of_run[measure.column].to_numpy()
            values.setdefault(str(variant), {})[seed] = of_seed
        yield QuestionGroup(key, tasks.tolist(), task.astype(np.int64), clusters.astype(np.int64), values)
