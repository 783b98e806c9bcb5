"""The answers of variants as arrays that line up, so that two are compared without joining tables."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import chain

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.cells import Cell
from tokbench.tidy import columns
from tokbench.tidy.table import require, schema

OUTCOME = schema(columns.OUTCOME)
"""Types of the columns that are needed of the table of outcomes; ``document`` numbers the questions of a task."""
_PLACE = ["task", "document", "size"]


@dataclass(frozen=True, eq=False)
class Catalogue:
    """Every question at every size of a model and suite, in order of task, document and size; a place is one of them.

    Attributes:
        cells: size and task, ascending.
        names: ``task`` and ``document`` of each place.
        cell, question, task: int64 [places], the number of each in its own order.
    """

    cells: list[Cell]
    names: pl.DataFrame
    cell: NDArray[np.int64]
    question: NDArray[np.int64]
    task: NDArray[np.int64]

    def sheet(self, places: NDArray[np.int64]) -> "Sheet":
        """The sheet of these places, which ascend."""
        cell = self.cell[places]
        answers = np.bincount(cell, minlength=len(self.cells))
        rows = self.names[places].with_columns(beside=pl.Series(answers[cell], dtype=pl.UInt32))
        _, first, question = np.unique(self.question[places], return_index=True, return_inverse=True)
        _, starts = np.unique(self.task[places][first], return_index=True)
        return Sheet(self, places, rows, question.astype(np.int64), starts[1:], int((answers > 0).sum()), len(first))


@dataclass(frozen=True, eq=False)
class Sheet:
    """Which questions were answered at which sizes. Most variants share one.

    Attributes:
        catalogue: what the places are of.
        places: int64 [n], ascending.
        rows: ``task`` and ``document`` of each, and ``beside``, how many answers its cell has.
        question: int64 [n], ascending from 0 without a gap.
        starts: int64, the first question of each task but the first.
        cells, questions: how many there are.
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
    """A value for each place of a sheet: the share of seeds that were right, or the difference of two such shares."""

    sheet: Sheet
    values: NDArray[np.float64]

    def __sub__(self, other: "Answered") -> "Answered":
        """The differences over the places that both have."""
        if self.sheet is other.sheet:
            return Answered(self.sheet, self.values - other.values)
        places, ours, theirs = np.intersect1d(
            self.sheet.places, other.sheet.places, assume_unique=True, return_indices=True
        )
        return Answered(self.sheet.catalogue.sheet(places), self.values[ours] - other.values[theirs])

    def by_question(self) -> list[NDArray[np.float64]]:
        """By task, a value for every question; all of them add up to the mean over cells of each cell's mean."""
        if not self.sheet.questions:
            return []
        share = pl.col("value") / pl.col("beside") / self.sheet.cells
        rows = self.sheet.rows.with_columns(value=pl.Series(self.values))
        questions = rows.group_by("task", "document", maintain_order=True).agg(share.sum().alias("value"))
        return np.split(questions["value"].to_numpy(), self.sheet.starts)

    def sums(self) -> NDArray[np.float64]:
        """float64 [questions], the sum over sizes of each."""
        return np.bincount(self.sheet.question, self.values, self.sheet.questions).astype(np.float64, copy=False)


def answers(outcomes: pl.DataFrame) -> Iterator[tuple[tuple[str, str], dict[str, Answered]]]:
    """By model and suite, and by variant: the share of seeds that were right, question by question.

    A question that lacks one of the seeds of its model, suite and size is left out.

    Args:
        outcomes: see :data:`OUTCOME`; with a column ``seed``, a question's outcome is its mean over seeds.

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
    """The answers in these cells alone, of the variants that have any."""
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
    """The answers at other vocabulary sizes alone; the same where none is named."""
    if not sizes:
        return answered
    catalogue, places = answered.sheet.catalogue, answered.sheet.places
    kept = np.array([size not in sizes for size, _ in catalogue.cells])[catalogue.cell[places]]
    return Answered(catalogue.sheet(places[kept]), answered.values[kept])


def cells_of(given: dict[str, Answered]) -> list[Cell]:
    """Every cell that has an answer, ascending."""
    sheets = {answered.sheet for answered in given.values()}
    return sorted(set(chain.from_iterable(sheet.answered_cells for sheet in sheets)))


def _catalogued(part: pl.DataFrame) -> tuple[Catalogue, pl.DataFrame]:
    """Every place of a model and suite, and its rows with the number of theirs."""
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
