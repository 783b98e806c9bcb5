"""Summaries of the measurements: median speeds and ratios, and agreement of ids."""

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.speed.tasks import OURS, PACKAGES

Rows = list[dict[str, Any]]
Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Entry:
    """One library on one task.

    Attributes:
        peer: Name of the library's package.
        seconds: Median seconds, by measure.
        ratios: Median over the rounds of its seconds over Tokbench's in the same round, by measure.
        speed: Median megabytes (10^6 bytes) per second, by measure.
        peak: Least peak memory over the rounds, in MiB.
        tokens: Tokens of all measures.
        rounds: Number of rounds.
        same: Whether its ids are Tokbench's.
        error: Why measures are missing; empty if none are.
    """

    peer: str
    seconds: dict[str, float]
    ratios: dict[str, float]
    speed: dict[str, float]
    peak: float
    tokens: int
    rounds: int
    same: bool
    error: str

    @property
    def ours(self) -> bool:
        return self.peer == OURS


def read(path: Path) -> Rows:
    """Return the measurements of a run."""
    return pl.read_parquet(path).to_dicts()


def time_of(row: dict[str, Any]) -> float:
    """Return the seconds that the tables show: processor time of one thread, wall-clock time of several."""
    return float(row["processor"] if row["threads"] == 1 else row["seconds"])


def tasks_of(rows: Rows, kind: str) -> Iterator[tuple[Key, list[Entry]]]:
    """Yield the tasks of a kind with an entry for each library, Tokbench first, then the fastest first."""
    chosen = [row for row in rows if row["kind"] == kind]
    names = ("kind", "text", "tokenizer", "threads")
    for key in dict.fromkeys(tuple(row[name] for name in names) for row in chosen):
        own = [row for row in chosen if tuple(row[name] for name in names) == key]
        yield key, entries(own)


def entries(rows: Rows) -> list[Entry]:
    """Return an entry for each library of a task."""
    ours = {(row["round"], row["measure"]): row for row in rows if row["peer"] == OURS and not row["error"]}
    made = [
        entry([row for row in rows if row["peer"] == peer], ours) for peer in dict.fromkeys(r["peer"] for r in rows)
    ]
    first = next((row["measure"] for row in ours.values()), "")
    return sorted(made, key=lambda entry: (not entry.ours, entry.ratios.get(first, math.inf)))


def entry(rows: Rows, ours: dict[tuple[int, str], dict[str, Any]]) -> Entry:
    """Return the entry of one library. ``ours``: Tokbench's rows by round and measure."""
    good = [row for row in rows if not row["error"]]
    seconds: dict[str, list[float]] = {}
    ratios: dict[str, list[float]] = {}
    speed: dict[str, float] = {}
    for row in good:
        measure = row["measure"]
        seconds.setdefault(measure, []).append(time_of(row))
        if reference := ours.get((row["round"], measure)):
            ratios.setdefault(measure, []).append(time_of(row) / time_of(reference))
    medians = {measure: statistics.median(values) for measure, values in seconds.items()}
    sizes = {row["measure"]: row["bytes"] for row in good}
    speed = {measure: sizes[measure] / value / 1e6 for measure, value in medians.items()}
    peer = rows[0]["peer"]
    first = {row["measure"]: row for row in reversed(good)}
    references = {measure: row for (_, measure), row in ours.items()}
    return Entry(
        PACKAGES.get(peer, peer),
        medians,
        {measure: statistics.median(values) for measure, values in ratios.items()},
        speed,
        min((row["peak_mib"] for row in rows), default=math.nan),
        sum(row["tokens"] for row in first.values()),
        max((row["round"] for row in good), default=-1) + 1,
        all(row["ids"] == references[measure]["ids"] for measure, row in first.items() if measure in references),
        next((row["error"] for row in rows if row["error"]), ""),
    )
