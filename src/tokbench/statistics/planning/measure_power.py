"""Power of measures of answers: which measure separates the same models by the most, in units of its standard error.

For each pair of variants, the difference is divided by its standard error. The sources of the error are those of
:mod:`tokbench.statistics.comparisons.task_measures`: seeds and questions. The ratio of the pooled difference to the
pooled error is the signal-to-noise ratio (as in Heineman et al. 2025, "Signal and Noise", where the noise is that of
checkpoints). A larger ratio needs fewer seeds or questions for the same verdict. It does not say which measure is
closer to the question.
"""

from dataclasses import dataclass
from math import ceil, fsum, sqrt
from typing import Any

import polars as pl

from tokbench.statistics.comparisons.question_groups import ACCURACY, ANSWER_MEASURES
from tokbench.statistics.comparisons.task_measures import CLUSTERS, MEASURE_NAME, OVER_TASKS
from tokbench.statistics.planning.seed_plan import MOST, Pilot, smallest_number
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.student import detectable, power_of
from tokbench.statistics.significance.verdicts import BETTER, NOT_TESTED, POWER, WORSE
from tokbench.statistics.significance.wilcoxon import DECIMALS
from tokbench.tabulation.columns import MODEL, QUESTIONS, REASON, SIZE, SOURCE_CORPUS, SUITE
from tokbench.tabulation.table import MEASURE, Column, Print, TidyTable

Row = dict[str, Any]
KEY = ("source_corpus", "model", "suite", "size", "task")
MOST_QUESTIONS = 1_000_000
"""Largest number of clusters of questions in the search."""
SIGN = {measure.name: 1 if measure.end == "highest" else -1 for measure in ANSWER_MEASURES}
_RATIO = "root mean square of the pairs' differences / that of"


def measure_power(task_measure_comparisons: pl.DataFrame) -> pl.DataFrame:
    """Compare the measures of answers by how far they separate the same pairs of variants.

    Args:
        task_measure_comparisons: see :data:`tokbench.statistics.comparisons.task_measures.TASK_MEASURE_COMPARISONS`.

    Returns:
        The columns of :data:`MEASURE_POWER`, a row per corpus, model, suite, size, task and measure, over the pairs
        that have a standard error by every measure.
    """
    rows: list[Row] = []
    known = task_measure_comparisons.filter(pl.col("error") > 10**-DECIMALS)
    for key, part in known.group_by(*KEY, maintain_order=True):
        measures = part["measure"].unique(maintain_order=True).to_list()
        shared = part.filter(pl.col("measure").n_unique().over("a", "b") == len(measures))
        frames = {name: shared.filter(measure=name).sort("a", "b") for name in measures}
        if shared.is_empty():
            continue
        pools = {name: pool(frame) for name, frame in frames.items()}
        for name, frame in frames.items():
            pooled = pools[name]
            rank = 1 + sum(rival.ratio > pooled.ratio for rival in pools.values())
            against = _agreement(frame, frames.get(ACCURACY.name), SIGN[name])
            verdicts = frame.filter(pl.col("verdict") != NOT_TESTED)["verdict"]
            significant = int(verdicts.is_in([BETTER, WORSE]).sum()) if len(verdicts) else None
            row = dict(zip(KEY, key, strict=True)) | {"measure": name, "pairs": len(frame), "significant": significant}
            row |= {"seeds": pooled.seeds, "questions": pooled.questions, "clusters": pooled.clusters}
            row |= {"difference": pooled.difference, "error": pooled.error, "signal_to_noise": pooled.ratio}
            row |= {"over_seeds": _signal_to_noise(pooled, pooled.seed_error), "rank": rank}
            row |= {"over_questions": _signal_to_noise(pooled, pooled.question_error)} | against
            rows.append(row | (_needed_columns(pooled) if pooled.seeds > 1 else _needed_columns_of_one_seed(pooled)))
    return MEASURE_POWER.frame(rows)


@dataclass(frozen=True, slots=True)
class Pool:
    """Differences and errors of some pairs of variants by one measure, as root mean squares.

    Attributes:
        difference: differences of the pairs.
        error: standard errors of the differences.
        seeds, questions, clusters: fewest of a pair.
        deviation: standard deviations of the differences between seeds; 0 for one seed.
        residual: standard errors from single answers of single seeds; 0 for one seed.
    """

    difference: float
    error: float
    seeds: int
    questions: int
    clusters: int
    deviation: float
    residual: float

    @property
    def ratio(self) -> float:
        """Signal-to-noise ratio."""
        return self.difference / self.error

    @property
    def seed_error(self) -> float:
        """Standard error from seeds, with these questions."""
        return self.deviation / sqrt(self.seeds)

    @property
    def question_error(self) -> float:
        """Rest of the standard error, which more seeds do not reduce."""
        return sqrt(max(self.error**2 - self.seed_error**2, 0.0))


def pool(pairs: pl.DataFrame) -> Pool:
    """Return the root mean squares over some rows of the comparisons by one measure."""
    seeds, questions, clusters = (int(str(pairs[name].min())) for name in ("seeds", "questions", "clusters"))
    difference, error, deviation, residual = (
        sqrt(fsum((value or 0.0) ** 2 for value in pairs[name].to_list()) / len(pairs))
        for name in ("difference", "error", "seed_deviation", "residual_error")
    )
    return Pool(difference, error, seeds, questions, clusters, deviation, residual)


def _signal_to_noise(pooled: Pool, error: float) -> float | None:
    """Return the difference in units of a part of its error; None if that part is zero."""
    return pooled.difference / error if error > 10**-DECIMALS else None


def _agreement(frame: pl.DataFrame, accuracy: pl.DataFrame | None, sign: int) -> Row:
    """Return the number of pairs that are ordered as by accuracy, and of those that are separated further."""
    if accuracy is None or frame["measure"][0] == ACCURACY.name:
        return {}
    ours, theirs = (part["difference"] / part["error"] for part in (frame, accuracy))
    return {"agreed": int((sign * ours * theirs > 0).sum()), "further": int((ours.abs() > theirs.abs()).sum())}


def _needed_columns(pooled: Pool) -> Row:
    """Return the columns from ``detectable`` to ``reason`` for two or more seeds."""
    seeds, clusters, difference = pooled.seeds, pooled.clusters, pooled.difference
    error, degrees = _plan(clusters, pooled.deviation, pooled.question_error).error(seeds)
    seeds_needed = _plan(clusters, pooled.deviation, pooled.question_error).needed(difference)
    of_answers = min(seeds * pooled.residual**2, pooled.deviation**2)
    of_training = pooled.deviation**2 - of_answers

    def detects(number: int) -> bool:
        """Return True if ``number`` clusters detect the difference; variance of training stays, the rest shrinks."""
        share = clusters / number
        plan = _plan(number, sqrt(of_training + of_answers * share), pooled.question_error * sqrt(share))
        return plan.power(difference, seeds) >= POWER

    needed = smallest_number(detects, MOST_QUESTIONS)
    reasons = [f"more than {MOST:,} seeds"] * (seeds_needed is None)
    reasons += ["no number of questions: seeds alone hide the difference"] * (needed is None)
    questions_needed = None if needed is None else ceil(needed * pooled.questions / clusters)
    row = {
        "detectable": error * detectable(degrees),
        "seeds_needed": seeds_needed,
        "questions_needed": questions_needed,
    }
    return row | {"reason": "; ".join(reasons) or None}


def _plan(clusters: int, deviation: float, question_error: float) -> Pilot:
    """Return a seed plan's estimates, with clusters of questions in place of documents."""
    return Pilot((), 1, 2, clusters, 0.0, deviation, deviation, question_error)


def _needed_columns_of_one_seed(pooled: Pool) -> Row:
    """Return the columns from ``detectable`` to ``reason`` for one seed, over questions only."""

    def detects(number: int) -> bool:
        error = pooled.error * sqrt(pooled.clusters / number)
        return power_of(pooled.difference / error, number - 1.0) >= POWER

    needed = smallest_number(detects, MOST_QUESTIONS)
    questions_needed = None if needed is None else ceil(needed * pooled.questions / pooled.clusters)
    row = {"detectable": pooled.error * detectable(pooled.clusters - 1.0), "questions_needed": questions_needed}
    return row | {"reason": ONE_TRAINING}


MEASURE_POWER = TidyTable(
    "measure_power",
    "a measure of answers to the questions of a task, under a model and suite",
    (
        SOURCE_CORPUS,
        MODEL,
        SUITE,
        SIZE,
        OVER_TASKS,
        MEASURE_NAME,
        Column("pairs", pl.Int64, "pairs of variants that all measures compare", "pairs"),
        Column("significant", pl.Int64, "pairs that differ significantly after Holm's correction", "pairs",
               empty="nothing is tested with fewer than three trainings"),
        Column("seeds", pl.Int64, "fewest seeds of a pair", "seeds"),
        QUESTIONS,
        CLUSTERS,
        Column("difference", pl.Float64, "root mean square of the pairs' differences", MEASURE),
        Column("error", pl.Float64, "root mean square of their standard errors", MEASURE, "standard error"),
        Column("over_seeds", pl.Float64, f"{_RATIO} the standard errors from seeds, with these questions", "",
               "difference / error by seeds", 2, "trained once"),
        Column("over_questions", pl.Float64, f"{_RATIO} the standard errors from questions, with any number of seeds",
               "", "difference / error by questions", 2, "no variation between questions in common to the seeds"),
        Column("signal_to_noise", pl.Float64, "difference / error; 1 is expected of variants that do not differ", "",
               "signal / noise", 2),
        Column("rank", pl.Int64, "rank of the measure by signal-to-noise ratio; 1 separates the pairs the most"),
        Column("agreed", pl.Int64, "pairs that are ordered as by accuracy", "pairs", "same order",
               empty="accuracy is not compared with itself"),
        Column("further", pl.Int64, "pairs whose difference in standard errors is larger than that of accuracy",
               "pairs", "separated further", empty="accuracy is not compared with itself"),
        Column("detectable", pl.Float64, "true difference that these seeds and questions detect with probability 0.8, "
               "by the two-sided t test at level 0.05; for one seed, these questions", MEASURE),
        Column("seeds_needed", pl.Int64, "fewest seeds that detect a true difference of this root mean square with "
               "these questions", "seeds", "seeds needed"),
        Column("questions_needed", pl.Int64, "fewest questions that detect it with these seeds", "questions",
               "questions needed"),
        REASON,
    ),
    maker=measure_power,
    takes=("task_measure_comparisons",),
    prints=(
        Print(
            "statistics",
            "Measures of the same answers, {model} on {suite}: which separates the variants the most. Signal / noise: "
            "difference of two variants / its standard error over seeds and questions, pooled over the pairs; 1 is "
            "expected of variants that do not differ. Needed: seeds, or questions, that detect the observed "
            "difference with probability 0.8, not corrected for the number of pairs. Rows without a task are means "
            "over tasks.",
            (
                "source_corpus", "size", "task", "measure", "pairs", "significant", "seeds", "questions", "difference",
                "error", "signal_to_noise", "over_seeds", "over_questions", "agreed", "further", "detectable",
                "seeds_needed", "questions_needed",
            ),
            by=("model", "suite"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
