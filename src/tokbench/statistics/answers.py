"""Answers of variants as aligned arrays for comparison without joins, and confidence intervals of accuracies."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain
from math import fsum, sqrt

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.statistics.bootstrap import CONFIDENCE
from tokbench.statistics.cells import Cell
from tokbench.tabulation import columns
from tokbench.tabulation.columns import (
    ACCURACY,
    AVERAGE,
    CELLS,
    HIGH,
    LOW,
    MODEL,
    QUESTIONS,
    REASON,
    SUITE,
    VARIANT,
    of_share,
)
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable, require, schema

OUTCOME = schema(columns.OUTCOME)
"""Types of the required columns of the table of outcomes; ``document`` numbers the questions of a task."""
_PLACE = ["task", "document", "size"]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Every question at every size of a model and suite, in order of task, document and size; each is a place.

    Attributes:
        cells: size and task of each cell, ascending.
        names: ``task`` and ``document`` of each place.
        cell: int64 [places], index of the place's cell.
        question: int64 [places], index of the place's question.
        task: int64 [places], index of the place's task.
    """

    cells: list[Cell]
    names: pl.DataFrame
    cell: NDArray[np.int64]
    question: NDArray[np.int64]
    task: NDArray[np.int64]

    def sheet(self, places: NDArray[np.int64]) -> "Sheet":
        """Return the sheet of these places, which must be ascending."""
        cell = self.cell[places]
        answers = np.bincount(cell, minlength=len(self.cells))
        rows = self.names[places].with_columns(beside=pl.Series(answers[cell], dtype=pl.UInt32))
        _, first, question = np.unique(self.question[places], return_index=True, return_inverse=True)
        _, starts = np.unique(self.task[places][first], return_index=True)
        return Sheet(self, places, rows, question.astype(np.int64), starts[1:], int((answers > 0).sum()), len(first))


@dataclass(frozen=True, eq=False)
class Sheet:
    """Set of questions that were answered, by size. Most variants share one sheet.

    Attributes:
        catalogue: catalogue of the places.
        places: int64 [n], ascending.
        rows: ``task`` and ``document`` of each place, and ``beside``, the number of answers in its cell.
        question: int64 [n], ascending from 0 without gaps.
        starts: int64, first question of each task except the first task.
        cells: number of cells with an answer.
        questions: number of questions.
    """

    catalogue: Catalogue
    places: NDArray[np.int64]
    rows: pl.DataFrame
    question: NDArray[np.int64]
    starts: NDArray[np.int64]
    cells: int
    questions: int

    @property
    def answered_cells(self) -> set[Cell]:
        """Size and task of each cell with an answer."""
        return {self.catalogue.cells[cell] for cell in np.unique(self.catalogue.cell[self.places]).tolist()}


@dataclass(frozen=True, eq=False)
class Answered:
    """Value for each place of a sheet: share of seeds with a right answer, or a difference of two such shares."""

    sheet: Sheet
    values: NDArray[np.float64]

    def __sub__(self, other: "Answered") -> "Answered":
        """Return the differences over the places that both have."""
        if self.sheet is other.sheet:
            return Answered(self.sheet, self.values - other.values)
        places, ours, theirs = np.intersect1d(
            self.sheet.places, other.sheet.places, assume_unique=True, return_indices=True
        )
        return Answered(self.sheet.catalogue.sheet(places), self.values[ours] - other.values[theirs])

    def by_question(self) -> list[NDArray[np.float64]]:
        """Return a float64 array for each task, with one value per question.

        The sum of all values is the mean over cells of each cell's mean.
        """
        if not self.sheet.questions:
            return []
        share = pl.col("value") / pl.col("beside") / self.sheet.cells
        rows = self.sheet.rows.with_columns(value=pl.Series(self.values))
        questions = rows.group_by("task", "document", maintain_order=True).agg(share.sum().alias("value"))
        return np.split(questions["value"].to_numpy(), self.sheet.starts)

    def sums(self) -> NDArray[np.float64]:
        """Return each question's sum over sizes, float64 [questions]."""
        return np.bincount(self.sheet.question, self.values, self.sheet.questions).astype(np.float64, copy=False)


def answers(outcomes: pl.DataFrame) -> Iterator[tuple[tuple[str, str], dict[str, Answered]]]:
    """Yield for each model and suite the answers by variant: the share of seeds that were right, for every question.

    A question is left out of a variant if one of the seeds of its model, suite and size is missing.

    Args:
        outcomes: see :data:`OUTCOME`. With a column ``seed``, a question's outcome is its mean over seeds.

    Raises:
        TokbenchError: a column is missing.
    """
    require(outcomes, columns.OUTCOME, "table of outcomes")
    seeds = pl.col("seed").n_unique() if "seed" in outcomes.columns else pl.lit(1)
    keys = [key for key in OUTCOME if key != "correct"]
    means = (
        outcomes.with_columns(wanted=seeds.over("model", "suite", "size"))
        .group_by(keys)
        .agg(pl.col("correct").mean().alias("value"), found=pl.len(), wanted=pl.col("wanted").first())
        .filter(pl.col("found") == pl.col("wanted"))
        .sort("model", "suite", "variant", *_PLACE)
    )
    for (model, suite), part in means.group_by("model", "suite", maintain_order=True):
        catalogue, placed = _catalogued(part)
        sheets: dict[bytes, Sheet] = {}
        found = {}
        for (variant,), frame in placed.group_by("variant", maintain_order=True):
            places = frame["place"].to_numpy().astype(np.int64)
            sheet = sheets.get(places.tobytes()) or sheets.setdefault(places.tobytes(), catalogue.sheet(places))
            found[str(variant)] = Answered(sheet, frame["value"].to_numpy())
        yield (str(model), str(suite)), found


def restricted(given: dict[str, Answered], cells: set[Cell]) -> dict[str, Answered]:
    """Return only the answers in these cells; variants without any are left out."""
    chosen: dict[Sheet, tuple[NDArray[np.bool_], Sheet]] = {}
    found = {}
    for variant, answered in given.items():
        sheet = answered.sheet
        if sheet not in chosen:
            catalogue = sheet.catalogue
            kept = np.array([cell in cells for cell in catalogue.cells])[catalogue.cell[sheet.places]]
            chosen[sheet] = kept, catalogue.sheet(sheet.places[kept])
        kept, part = chosen[sheet]
        if part.questions:
            found[variant] = Answered(part, answered.values[kept])
    return found


def without_sizes(answered: Answered, sizes: Collection[int]) -> Answered:
    """Return the answers at all other vocabulary sizes; unchanged if ``sizes`` is empty."""
    if not sizes:
        return answered
    catalogue, places = answered.sheet.catalogue, answered.sheet.places
    kept = np.array([size not in sizes for size, _ in catalogue.cells])[catalogue.cell[places]]
    return Answered(catalogue.sheet(places[kept]), answered.values[kept])


def cells_of(given: dict[str, Answered]) -> list[Cell]:
    """Return every cell that has an answer, ascending."""
    sheets = {answered.sheet for answered in given.values()}
    return sorted(set(chain.from_iterable(sheet.answered_cells for sheet in sheets)))


def _catalogued(part: pl.DataFrame) -> tuple[Catalogue, pl.DataFrame]:
    """Return the catalogue of a model and suite, and the rows with a column ``place``."""
    places = part.select(_PLACE).unique().sort(_PLACE).with_row_index("place")
    cells = places.select("size", "task").unique().sort("size", "task").with_row_index("cell")
    question = (places["task"] != places["task"].shift()) | (places["document"] != places["document"].shift())
    task = places["task"] != places["task"].shift()
    numbered = places.join(cells, on=["size", "task"], how="left", maintain_order="left")
    catalogue = Catalogue(
        cells.select("size", "task").rows(),
        places.select("task", "document"),
        numbered["cell"].to_numpy().astype(np.int64),
        np.cumsum(question.fill_null(True).to_numpy()),
        np.cumsum(task.fill_null(True).to_numpy()),
    )
    return catalogue, part.join(places, on=_PLACE, how="left", maintain_order="left")


def wilson(share: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Return the Wilson score interval of a share (Wilson 1927).

    Args:
        share: share between 0 and 1.
        n: number of questions, at least one.
        confidence: confidence level (default: 0.95).
    """
    from tokbench.statistics.distributions import ndtri

    z = -float(ndtri((1 - confidence) / 2))
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def average_intervals(accuracy: pl.DataFrame, confidence: float = CONFIDENCE) -> pl.DataFrame:
    """Return the interval of each variant's average accuracy over other questions of the same kind.

    Questions are assumed independent and cells fixed. The standard error of the average of m cells is
    sqrt(sum of a(1 - a)/n) / m. The interval does not cover training with another seed, or other tasks.

    Args:
        accuracy: table of accuracies as shares, see :data:`tokbench.tabulation.columns.ACCURACY`.
        confidence: confidence level (default: 0.95).

    Returns:
        One row per model, suite and variant: ``average``, ``stderr``, ``low``, ``high`` (shares), ``cells``,
        ``questions``, ``reason`` (why there is no average).

    Raises:
        TokbenchError: a column is missing, or an accuracy is not a share between 0 and 1.
    """
    require(accuracy, ACCURACY, "accuracy table")
    from tokbench.statistics.distributions import ndtri

    z = -float(ndtri((1 - confidence) / 2))
    rows: list[tuple[str | float | int | None, ...]] = []
    keys = ["model", "suite", "variant"]
    ordered = accuracy.sort(*keys, "size", "task").with_columns(pl.col("accuracy").fill_nan(None))
    for head, part in ordered.group_by(keys, maintain_order=True):
        known = part.drop_nulls("accuracy").select("accuracy", "n").rows()
        outside = [share for share, _ in known if not 0 <= share <= 1]
        if outside:
            raise TokbenchError(
                f"accuracy table: {outside[0]} is not a share between 0 and 1; divide percentages by 100"
            )
        lacking = part.height - len(known) + sum(not n for _, n in known)
        if lacking:
            reason = f"{lacking} of {part.height} cells have no accuracy or no number of questions"
            rows.append((*map(str, head), None, None, None, None, part.height, None, reason))
            continue
        average = fsum(share for share, _ in known) / len(known)
        error = sqrt(fsum(share * (1 - share) / n for share, n in known)) / len(known)
        bounds = max(0.0, average - z * error), min(1.0, average + z * error)
        rows.append((*map(str, head), average, error, *bounds, len(known), sum(n for _, n in known), None))
    return pl.DataFrame(rows, schema=INTERVALS.schema, orient="row")


INTERVALS = TidyTable(
    "intervals",
    "a variant under a model and suite",
    (
        MODEL,
        SUITE,
        VARIANT,
        AVERAGE,
        Column("stderr", pl.Float64, "standard error of the average over questions", SHARE, "standard error", 2),
        of_share(LOW),
        of_share(HIGH),
        CELLS,
        QUESTIONS,
        REASON,
    ),
    maker=average_intervals,
    takes=("accuracy",),
    keys=("model", "suite", "variant"),
    prints=(
        Print(
            "statistics",
            "Average accuracy in percent. The 95 % interval is for the same models on other questions of the same "
            "kind: questions are independent draws; tasks, sizes and seeds are fixed.",
            ("variant", "model", "suite", "average", "stderr", "low", "high", "cells", "questions"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)
