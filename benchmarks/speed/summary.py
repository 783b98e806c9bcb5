"""Summaries of runs: best times, median ratios and exponents of growth."""

import statistics
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

OURS = "tokbench"
ALIKE = 1e-3
"""Maximum relative difference in tokens of equal encodings, because of document boundaries."""


@dataclass(frozen=True)
class Row:
    """A run, see :class:`benchmarks.speed.measure.Run`; missing numbers are NaN."""

    text: dict[str, str]

    def __getitem__(self, key: str) -> str:
        return self.text[key]

    def number(self, key: str) -> float:
        return float(self.text[key] or "nan")

    @property
    def label(self) -> str:
        return self["package"] + (f" ({self['way']})" if self["way"] else "")


@dataclass(frozen=True)
class Entry:
    """A peer on one task, compared with Tokbench.

    Attributes:
        label: name of the peer.
        work, whole, peak: seconds of the work, seconds of the process, and peak MiB; best of the rounds.
        ratio, whole_ratio: median over rounds of its time divided by Tokbench's, for work and process.
        tokens: number of tokens.
        note: reason why it is not comparable; else empty.
    """

    label: str
    work: float
    whole: float
    peak: float
    ratio: float
    whole_ratio: float
    tokens: int
    note: str


def read_runs(path: Path) -> list[Row]:
    rows = pl.read_parquet(path).iter_rows(named=True)
    return [Row({key: "" if value is None else str(value) for key, value in row.items()}) for row in rows]


def least(rows: Iterable[Row], key: str) -> float:
    """Return the minimum of a column; NaN if there are no numbers."""
    found = [row.number(key) for row in rows if row[key]]
    return min(found, default=float("nan"))


def best(rows: list[Row]) -> tuple[float, float, float]:
    """Return the minimum seconds of work, seconds of the process, and MiB."""
    return least(rows, "work"), least(rows, "wall"), least(rows, "peak_mib")


def command_line(runs: list[Row]) -> tuple[float, float]:
    """Return seconds and MiB of Tokbench's commands in sequence; NaN if the task has none."""
    rows = [row for row in runs if row["measured"] == "command line"]
    return least(rows, "wall"), least(rows, "peak_mib")


def tasks_of(rows: list[Row], section: str) -> Iterator[tuple[str, list[Row]]]:
    """Yield the titles of a section's tasks with their runs, in order of appearance."""
    own = [row for row in rows if row["section"] == section]
    for task in dict.fromkeys(row["task"] for row in own):
        runs = [row for row in own if row["task"] == task]
        yield runs[0]["title"], runs


def entries(runs: list[Row]) -> tuple[Entry, list[Entry]]:
    """Return the entry of Tokbench, and those of the peers in order of appearance."""
    ours = [row for row in runs if row["package"] == OURS]
    called = [row for row in ours if row["measured"] == "function"]
    tokens = int(called[0].number("tokens"))
    error = next((row["error"] for row in ours if row["error"]), "")
    own = Entry(OURS, *best(called), 1.0, 1.0, tokens, error)
    peers = []
    for label in dict.fromkeys(row.label for row in runs if row["package"] != OURS):
        theirs = [row for row in runs if row.label == label]
        beside = {row["round"]: row for row in called if row["against"] == label}
        found = theirs[0]["tokens"]
        note = theirs[0]["error"]
        if theirs[0]["same_ids"] == "True" and found and abs(int(found) - tokens) > ALIKE * tokens:
            note = "other ids"
        peers.append(
            Entry(
                label,
                *best(theirs),
                _ratio(theirs, beside, "work"),
                _ratio(theirs, beside, "wall"),
                int(found or 0),
                note,
            )
        )
    return own, peers


def _ratio(theirs: list[Row], beside: dict[str, Row], key: str) -> float:
    ratios = [row.number(key) / beside[row["round"]].number(key) for row in theirs if row["round"] in beside]
    return statistics.median(ratios) if ratios else float("nan")


def growth(rows: list[Row], by: str) -> dict[str, dict[float, float]]:
    """Return the minimum seconds of work by title and by ``share``, ``size`` or ``threads``, other settings fixed."""
    usual = {"share": "1.0", "size": None, "threads": "1"}
    found: dict[str, dict[float, float]] = {}
    for title, runs in tasks_of(rows, "growth"):
        size = runs[0]["size"]
        kept = [
            row
            for row in runs
            if not row["error"]
            and all(key == by or float(row[key]) == float(value or size) for key, value in usual.items())
        ]
        values = sorted({row.number(by) for row in kept})
        if len(values) > 1:
            found[title] = {value: least((row for row in kept if row.number(by) == value), "work") for value in values}
    return found


def exponent(seconds: dict[float, float]) -> float:
    """Fit the exponent of growth by least squares on logarithms."""
    return float(np.polyfit(np.log(list(seconds)), np.log(list(seconds.values())), 1)[0])
