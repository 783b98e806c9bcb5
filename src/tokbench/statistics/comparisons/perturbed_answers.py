"""Accuracy and bits per byte of the right answer after perturbations of the questions, and comparisons of variants.

The change of a question is its value after the perturbation minus that of the clean question, of the same model. Only
questions that the kind changes count. Two variants are compared by their changes, paired by seed and question. Seeds
and clusters of questions are crossed random effects, as in :mod:`tokbench.statistics.comparisons.task_measures`. Tasks
and kinds are fixed: means over them are unweighted, and a question keeps its cluster under every kind.

A variant with a lower accuracy has less to lose. ``relative`` is therefore the change divided by the value of the clean
questions. For accuracy, TokSuite (Altıntaş and others 2025) reports its negative, the relative drop.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.comparisons.pair_selection import SELECTION, sorted_pairs
from tokbench.statistics.comparisons.question_groups import (
    ANSWER_MEASURES,
    KEY,
    NO_VALUE,
    Measure,
    TaskEstimate,
    estimate_mean,
    question_cluster,
)
from tokbench.statistics.comparisons.task_measures import (
    CLUSTERS,
    NO_QUESTION,
    OVER_TASKS,
    TASK_MEASURE_COMPARISONS,
    TASK_MEASURES,
    count_columns,
    difference_columns,
    join_reasons,
    judge_family,
)
from tokbench.statistics.significance.judgements import Judgement
from tokbench.statistics.significance.verdicts import NOT_TESTED
from tokbench.statistics.undersized import LEFT_OUT, NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import KIND, MODEL, QUESTIONS, REASON, SIZE, SOURCE_CORPUS, SUITE, VARIANT, A, B
from tokbench.tabulation.table import EXCESS, MEASURE, Column, Print, TidyTable

Row = dict[str, Any]
Pair = tuple[str, str]
Key = tuple[Pair, str, str]
"""Pair of variants, task and kind; an empty task or kind is the mean over all."""
Values = NDArray[np.float64]
MEASURES = tuple(measure for measure in ANSWER_MEASURES if measure.name in ("accuracy", "answer_bits_per_byte"))
NO_CHANGE = "no question that the perturbation changes"
MEASURE_NAME = Column("measure", pl.String, "accuracy; answer_bits_per_byte: bits per byte of the right answer")
OVER_KINDS = replace(KIND, definition="kind of perturbation; empty for the unweighted mean over kinds")
_QUESTIONS = "questions that the kind changes; in a mean over kinds, a question counts once for each"
_HEAD = (SOURCE_CORPUS, MODEL, SUITE, SIZE)
_FAMILY = (
    "all pairs of the corpus, model, suite, size and measure; means over tasks and kinds, single tasks, single kinds, "
    "and single tasks under single kinds are four families"
)
_COMPARED = {column.name: column for column in TASK_MEASURE_COMPARISONS.columns}


@dataclass(frozen=True)
class Selection:
    """Questions of some tasks under some kinds.

    Attributes:
        task, kind: names; empty for all.
        cells: numbers of their cells.
        unchanged: number of their questions that are left out, counted for each kind.
    """

    task: str
    kind: str
    cells: frozenset[int]
    unchanged: int


@dataclass(frozen=True)
class PerturbedGroup:
    """Values of one measure for the changed questions of a corpus, model, suite and size.

    Attributes:
        key: values of :data:`KEY`.
        cells: task and kind of each cell.
        selections: means over tasks and kinds, single tasks, and single kinds.
        cell: cell of each place (a question under a kind), int64 [places].
        cluster: cluster of its question, int64 [places].
        values: float64 [2, places] by variant and seed, clean and perturbed, NaN where missing.
    """

    key: tuple[Any, ...]
    cells: Sequence[tuple[str, str]]
    selections: Sequence[Selection]
    cell: NDArray[np.int64]
    cluster: NDArray[np.int64]
    values: Mapping[str, Mapping[int | None, Values]]

    def seeds(self, *variants: str) -> list[int | None]:
        """Return the seeds that all variants have."""
        first, *rest = (self.values[variant] for variant in variants)
        return [seed for seed in first if all(seed in of_variant for of_variant in rest)]

    def value(self, variant: str) -> Values:
        """Return the clean and perturbed values of a variant, float64 [2, seeds, places]."""
        return np.stack(list(self.values[variant].values()), axis=1)

    def change(self, variant: str) -> Values:
        """Return the changes of a variant, perturbed minus clean, float64 [seeds, places]."""
        clean, perturbed = self.value(variant)
        return perturbed - clean

    def difference(self, a: str, b: str) -> Values:
        """Return the differences of the changes of two variants with common seeds, float64 [seeds, places]."""
        shared = self.seeds(a, b)
        of_a, of_b = (np.stack([self.values[name][seed] for seed in shared], axis=1) for name in (a, b))
        change: Values = (of_a[1] - of_a[0]) - (of_b[1] - of_b[0])
        return change

    def known(self, values: Values, selection: Selection) -> NDArray[np.bool_]:
        """Return the places of a selection that have a value for every seed, bool [places]."""
        return np.isin(self.cell, list(selection.cells)) & ~np.isnan(values).any(axis=0)

    def mean(self, values: Values, selection: Selection) -> TaskEstimate | None:
        """Return the unweighted mean over the cells of a selection; None if no place is known."""
        known = self.known(values, selection)
        return estimate_mean(values[:, known], self.cell[known], self.cluster[known]) if known.any() else None

    def lacking(self, values: Values, selection: Selection) -> str | None:
        """Return the reason why a mean is incomplete: cells without a known question; None if it is complete."""
        known = set(self.cell[self.known(values, selection)].tolist())
        missing = [" ".join(self.cells[number]) for number in sorted(selection.cells - known)]
        return f"left out, {NO_VALUE}: {', '.join(missing)}" if missing else None


def perturbed_groups(perturbed_by_seed: pl.DataFrame, measure: Measure) -> Iterator[PerturbedGroup]:
    """Yield the values of a measure for each corpus, model, suite and size.

    Args:
        perturbed_by_seed: table ``perturbed_answers`` with a column ``seed``, which is null for models trained once.
        measure: the measure.
    """
    before, after = f"clean_{measure.column}", measure.column
    marked = perturbed_by_seed.with_columns(pl.col(before, after).cast(pl.Float64), cluster=question_cluster())
    for key, part in marked.sort(*KEY, maintain_order=True).group_by(*KEY, maintain_order=True):
        answers = part.filter(pl.col("edits") > 0).drop_nulls([before, after])
        cells = answers.select("task", "kind").unique(maintain_order=True).rows()
        number = {cell: place for place, cell in enumerate(cells)}
        places = answers.select("task", "kind", "document", "cluster").unique(
            ["task", "kind", "document"], keep="first"
        )
        places = places.sort("task", "kind", "document").with_row_index("place")
        cell = np.array([number[task, kind] for task, kind in places.select("task", "kind").rows()], np.int64)
        _, cluster = np.unique(places["cluster"].to_numpy(), return_inverse=True)
        placed = answers.join(places.drop("cluster"), on=["task", "kind", "document"], maintain_order="left")
        values: dict[str, dict[int | None, Values]] = {}
        for (variant, seed), of_run in placed.sort("variant", "seed").group_by("variant", "seed", maintain_order=True):
            of_seed = np.full((2, len(places)), np.nan)
            of_seed[:, of_run["place"].to_numpy()] = of_run.select(before, after).to_numpy().T
            values.setdefault(str(variant), {})[seed] = of_seed
        selections = list(_selections(part, cells))
        yield PerturbedGroup(key, cells, selections, cell, cluster.astype(np.int64), values)


def _selections(part: pl.DataFrame, cells: Sequence[tuple[str, str]]) -> Iterator[Selection]:
    """Yield the mean over all tasks and kinds, means over either, and single ones."""
    left_out = part.filter(edits=0).select("task", "kind", "document").unique()
    unchanged = {(task, kind): count for task, kind, count in left_out.group_by("task", "kind").len().iter_rows()}
    tasks, kinds = (part[name].unique(maintain_order=True).to_list() for name in ("task", "kind"))
    for task, kind in product(["", *sorted(tasks)], ["", *kinds]):
        numbers = frozenset(
            number for number, cell in enumerate(cells) if task in ("", cell[0]) and kind in ("", cell[1])
        )
        of_none = sum(count for (of, by), count in unchanged.items() if task in ("", of) and kind in ("", by))
        yield Selection(task, kind, numbers, of_none)


def perturbed_measure_table(perturbed_by_seed: pl.DataFrame) -> pl.DataFrame:
    """Return the values of clean and perturbed questions and the interval of their difference, by variant.

    Args:
        perturbed_by_seed: see :func:`perturbed_groups`.

    Returns:
        The columns of :data:`PERTURBED_MEASURES`, a row per corpus, model, suite, size, variant, task, kind and
        measure. The 95 % interval of the difference is over seeds and clusters of questions, over clusters only for one
        seed.
    """
    rows: list[Row] = []
    for measure in MEASURES:
        for group in perturbed_groups(perturbed_by_seed, measure):
            for selection, variant in product(group.selections, group.values):
                head = dict(zip(KEY, group.key, strict=True)) | {"variant": variant, "measure": measure.name}
                of = {"task": selection.task, "kind": selection.kind}
                rows.append(head | of | _change(group, variant, selection))
    return PERTURBED_MEASURES.frame(rows).sort(*KEY, "task", maintain_order=True)


def _change(group: PerturbedGroup, variant: str, selection: Selection) -> Row:
    """Return the columns from ``clean`` on."""
    values = group.value(variant)
    changes = values[1] - values[0]
    change, lacking = group.mean(changes, selection), group.lacking(changes, selection)
    if change is None or lacking:
        counts = {"questions": 0 if change is None else change.questions, "unchanged": selection.unchanged}
        return counts | {"seeds": len(changes), "reason": lacking or NO_CHANGE}
    clean, perturbed = (estimate.mean for of in values if (estimate := group.mean(of, selection)))
    low, high = change.estimate.ends()
    row: Row = {"clean": clean, "perturbed": perturbed, "difference": change.mean, "low": low, "high": high}
    row["relative"] = change.mean / clean if clean else None
    names = ("questions", "clusters", "seed_deviation", "seeds", "reason")
    return row | {"unchanged": selection.unchanged} | {name: getattr(change, name) for name in names}


def compare_perturbed(
    perturbed_by_seed: pl.DataFrame, baselines: Mapping[str, str], undersized: Undersized = NO_UNDERSIZED
) -> pl.DataFrame:
    """Compare every two variants of a corpus, model, suite and size by their changes under perturbations.

    Args:
        perturbed_by_seed: see :func:`perturbed_groups`.
        baselines: baseline by variant, used if there are many variants.
        undersized: variant and size of undersized vocabularies, which are not tested (default: none).

    Returns:
        The columns of :data:`PERTURBED_COMPARISONS`, a row for each unordered pair, measure, task and kind. With fewer
        than three seeds there is no test.
    """
    rows = [
        row
        for measure in MEASURES
        for group in perturbed_groups(perturbed_by_seed, measure)
        for row in _comparison_rows(group, measure, baselines, undersized)
    ]
    return PERTURBED_COMPARISONS.frame(rows).sort(*KEY, "task", maintain_order=True)


def _comparison_rows(
    group: PerturbedGroup, measure: Measure, baselines: Mapping[str, str], undersized: Undersized
) -> Iterator[Row]:
    """Yield a row for each pair and selection with a common question, and one with a reason for other pairs."""
    estimates_of_task: dict[Key, TaskEstimate] = {}
    reasons: dict[Key, list[str | None]] = {}
    # Estimate each pair's differences, over all tasks and kinds and over each.
    for pair in _pairs(group, measure, baselines):
        whole = (pair, "", "")
        if not group.seeds(*pair):
            reasons[whole] = [NO_SEED]
            continue
        differences = group.difference(*pair)
        for selection in group.selections:
            key = (pair, selection.task, selection.kind)
            task_estimate = group.mean(differences, selection)
            if task_estimate is not None:
                estimates_of_task[key] = task_estimate
                reasons[key] = [group.lacking(differences, selection)]
        if whole not in estimates_of_task:
            reasons[whole] = [NO_QUESTION]
    # Undersized vocabularies are compared, but not tested.
    smaller = {key for key in estimates_of_task if any((name, group.key[-1]) in undersized for name in key[0])}
    estimates = {
        key: task_estimate.estimate.exclude(LEFT_OUT * (key in smaller))
        for key, task_estimate in estimates_of_task.items()
    }
    judgements: dict[Key, tuple[Judgement, float | None]] = {}
    # Means over tasks, over kinds, over both, and single cells are families of tests of their own.
    for family in product((False, True), (False, True)):
        of_family = {key: estimate for key, estimate in estimates.items() if (bool(key[1]), bool(key[2])) == family}
        judgements |= judge_family(of_family, measure)
    # Rows in the order of selections, then of pairs.
    order = {(selection.task, selection.kind): place for place, selection in enumerate(group.selections)}
    for key in sorted(reasons, key=lambda key: (order[key[1:]], key[0])):
        (a, b), task, kind = key
        head = dict(zip(KEY, group.key, strict=True)) | {"task": task, "kind": kind}
        head |= {"measure": measure.name, "a": a, "b": b}
        if key not in estimates_of_task:
            yield head | {"verdict": NOT_TESTED, "reason": join_reasons(*reasons[key])}
            continue
        task_estimate, (verdict, adjusted) = estimates_of_task[key], judgements[key]
        reason = join_reasons(verdict.reason, *reasons[key])
        yield (
            head
            | difference_columns(task_estimate, verdict, adjusted)
            | {"reason": reason}
            | count_columns(task_estimate)
        )


def _pairs(group: PerturbedGroup, measure: Measure, baselines: Mapping[str, str]) -> list[Pair]:
    """Return the unordered pairs of variants to compare."""
    sign = 1 if measure.end == "lowest" else -1
    whole = group.selections[0]
    levels = {name: group.mean(group.change(name), whole) for name in group.values}
    known = [(sign * level.mean, name) for name, level in levels.items() if level is not None]
    best = min(known)[1] if known else None
    return sorted_pairs(list(group.values), best, baselines)


PERTURBED_MEASURES = TidyTable(
    "perturbed_measures",
    "a measure of a variant's answers to the questions of a task, clean and perturbed, under a model and suite",
    (
        *_HEAD,
        VARIANT,
        OVER_TASKS,
        OVER_KINDS,
        MEASURE_NAME,
        Column("clean", pl.Float64, "mean over the clean questions that the kind changes, and over seeds", MEASURE),
        Column("perturbed", pl.Float64, "mean over the same questions after the perturbation", MEASURE),
        Column("difference", pl.Float64, "perturbed minus clean", MEASURE, "perturbed − clean"),
        Column("low", pl.Float64, "lower end of the 95 % interval of the difference, paired by question, over seeds "
               "and clusters of questions", MEASURE, empty=TASK_MEASURES["low"].empty),
        Column("high", pl.Float64, "upper end of this interval", MEASURE, empty=TASK_MEASURES["high"].empty),
        Column("relative", pl.Float64, "difference / clean; for accuracy, minus the relative drop", EXCESS,
               "relative (%)", 1, "the value of the clean questions is zero"),
        replace(QUESTIONS, definition=_QUESTIONS),
        Column("unchanged", pl.Int64, "questions that the kind does not change, which are left out; in a mean over "
               "kinds, counted once for each", "questions"),
        CLUSTERS,
        Column("seed_deviation", pl.Float64, "standard deviation of the seeds' differences", MEASURE,
               "deviation by seed", empty=TASK_MEASURES["seed_deviation"].empty),
        TASK_MEASURES["seeds"],
        REASON,
    ),
    maker=perturbed_measure_table,
    takes=("perturbed_by_seed",),
    keys=("source_corpus", "model", "suite", "size", "variant", "task", "kind", "measure"),
    prints=(
        Print(
            "statistics",
            "Accuracy and bits per byte of the right answer of {model} on {suite}, before and after each kind of "
            "perturbation of the questions; mean over tasks. Only questions that the kind changes count. The 95 % "
            "interval is that of the difference, paired by question, for other seeds and other questions; with one "
            "seed, only for other questions. Rows without a kind are means over kinds.",
            (
                "source_corpus", "size", "variant", "kind", "measure", "clean", "perturbed", "difference", "low",
                "high", "questions", "unchanged", "clusters", "seeds",
            ),
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=20,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
PERTURBED_COMPARISONS = TidyTable(
    "perturbed_comparisons",
    "two variants at a vocabulary size under a model and suite, by changes of a measure under perturbations; "
    f"{SELECTION}",
    (
        *_HEAD,
        OVER_TASKS,
        OVER_KINDS,
        MEASURE_NAME,
        A,
        B,
        replace(_COMPARED["difference"], definition="change of a (perturbed minus clean) minus that of b"),
        *(_COMPARED[name] for name in ("error", "low", "high", "p_value")),
        replace(_COMPARED["holm"], definition=f"p-value after Holm's correction over {_FAMILY}"),
        _COMPARED["benjamini_hochberg"],
        replace(_COMPARED["verdict"], definition="verdict on a by Holm's p at level 0.05: better (it loses less), "
                "worse, no significant difference, or not tested (see reason)"),
        *(_COMPARED[name] for name in ("excluded", "detectable", "reason", "n", "unit", "seeds")),
        replace(QUESTIONS, definition=_QUESTIONS),
        *(_COMPARED[name] for name in ("clusters", "seed_deviation", "question_error", "residual_error")),
    ),
    maker=compare_perturbed,
    takes=("perturbed_by_seed", "baselines", "undersized"),
    prints=(
        Print(
            "statistics",
            "Variants compared by their changes under perturbations of the questions, {model} on {suite}: change "
            "(perturbed minus clean) of a minus that of b, mean over tasks; paired by seed and question. Better: a "
            "loses less accuracy, or needs fewer additional bits. p, Holm: corrected over the pairs of the measure, "
            "and over kinds in rows with a kind. With fewer than three seeds nothing is tested.",
            (
                "source_corpus", "size", "kind", "measure", "a", "b", "difference", "low", "high", "holm",
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
