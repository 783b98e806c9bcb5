"""Average accuracies for the scoreboard, with intervals over the questions that were asked."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from math import fsum, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.estimate import Estimate, interval
from tokbench.statistics.standing import Family, Value

Tasks = list[NDArray[np.float64]]
"""For each task the answers to its questions: 1 where right, 0 where not, or the share of seeds that were right."""


def accuracies(measure: str, ranks_by_size: pl.DataFrame, outcomes: pl.DataFrame) -> Iterator[Family]:
    """Average accuracy of every model, suite and size.

    Questions of a task are independent draws, all variants are asked the same, tasks are fixed, and a mean over tasks
    counts each alike. Seeds are averaged before; what they vary by is in no interval here.

    Args:
        measure: what the measure is called.
        ranks_by_size: see :data:`tokbench.statistics.ranks.RANKS_BY_SIZE`.
        outcomes: see :data:`tokbench.statistics.answers.OUTCOME`, with a column ``seed`` or without.
    """
    keys = ["model", "suite", "size"]
    answered = dict(outcomes.group_by(keys))
    for key, part in ranks_by_size.sort(*keys, "variant").group_by(keys, maintain_order=True):
        model, suite, size = key
        known = answered.get(key)
        seeds = 1 if known is None or "seed" not in known.columns else max(1, known["seed"].drop_nulls().n_unique())
        sheets = {} if known is None else _sheets(known)
        values, kept = {}, {}
        for row in part.iter_rows(named=True):
            name, average = row["variant"], row["average"]
            if not row["n"]:
                continue
            sheet = sheets.get(name)
            if average is None or sheet is None or abs(_average(sheet) - average) > 1e-9 or _few(sheet):
                values[name] = Value(average, reason=row["reason"])
                continue
            kept[name] = sheet
            values[name] = Value(average, *interval(_estimate(sheet)), sum(map(len, sheet)), row["reason"])
        if not values:
            continue
        head = (None, size, measure, model, suite, f"share of questions of {suite} that {model} answers right, a mean "
                "over tasks")  # fmt: skip
        yield Family(
            head, "questions" if kept else "", "highest", values, _differences(kept, seeds),
            "the answers to its questions are not there", trainings=dict.fromkeys(values, seeds),
        )  # fmt: skip


def _differences(sheets: Mapping[str, Tasks], seeds: int) -> Callable[[str, str], Estimate | None]:
    def differ(a: str, b: str) -> Estimate | None:
        if a not in sheets or b not in sheets:
            return None
        estimate = _estimate([one - other for one, other in zip(sheets[a], sheets[b], strict=True)])
        return replace(estimate, trainings=seeds)

    return differ


def _sheets(outcomes: pl.DataFrame) -> dict[str, Tasks]:
    """The answers of each variant that answered every question that any did, means over seeds."""
    place = ["task", "document"]
    means = outcomes.group_by("variant", *place).agg(pl.col("correct").mean())
    wide = means.pivot("variant", index=place, values="correct").sort(place)
    starts = np.flatnonzero(wide["task"].ne_missing(wide["task"].shift()).to_numpy())[1:]
    names = [name for name in wide.columns if name not in place and not wide[name].null_count()]
    return {name: np.split(wide[name].to_numpy().astype(np.float64), starts) for name in names}


def _few(sheet: Tasks) -> bool:
    return min(map(len, sheet)) < 2


def _average(sheet: Tasks) -> float:
    return fsum(fsum(task.tolist()) / len(task) for task in sheet) / len(sheet)


def _estimate(sheet: Tasks) -> Estimate:
    """The mean over tasks of each task's mean, its standard error over questions, and degrees of freedom.

    Tasks are strata: the variance of a mean of m tasks is the sum of theirs over m squared; degrees of freedom are
    Satterthwaite's.
    """
    squares = []
    for task in sheet:
        mean = fsum(task.tolist()) / len(task)
        apart = task - mean
        squares.append(fsum((apart * apart).tolist()) / (len(task) - 1) / len(task))
    whole = fsum(squares)
    parts = fsum(one * one / (len(task) - 1) for one, task in zip(squares, sheet, strict=True))
    degrees = whole * whole / parts if parts else float(sum(len(task) - 1 for task in sheet))
    return Estimate(_average(sheet), sqrt(whole) / len(sheet), degrees)
