"""The processes that were measured, and the file that keeps them; see :mod:`measure` why nothing else is imported."""

import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

START = 0.001
"""Gigabytes on which a job takes little more than its start."""


@dataclass(frozen=True)
class Process:
    """One process, one line of ``scale.csv``.

    Attributes:
        gigabytes: size that was asked for.
        stage, name: as of :class:`scale_plan.Job`.
        text_bytes: of the corpus; what a job of many reads is its share.
        pretokens: its different ones, where they are counted by then.
        jobs: of the stage, this one included.
        processor, wall: seconds.
        peak_mb: resident memory at the most, of 10**6 bytes; bound_mb: what the rule gives.
        disk_bytes: what it wrote and left.
        error: why there are no numbers.
    """

    gigabytes: float
    stage: str
    name: str
    text_bytes: int
    pretokens: int
    jobs: int
    processor: float
    wall: float
    peak_mb: float
    bound_mb: int
    disk_bytes: int
    error: str = ""


class Scale:
    """The runs so far, and the file that keeps them.

    Args:
        table: the CSV.
        again: sizes whose lines are taken out of it.
        longest: seconds that a job may take.
        without: constructions that are left out.
    """

    def __init__(self, table: Path, again: list[float], longest: float, without: Sequence[str] = ()) -> None:
        self.table, self.longest, self.without = table, longest, without
        self.done = [process for process in read(table) if process.gigabytes not in again]

    def add(self, process: Process) -> None:
        """Keep one, at once."""
        self.done.append(process)
        self.table.parent.mkdir(parents=True, exist_ok=True)
        with self.table.open("w", newline="", encoding="utf-8") as target:
            writer = csv.DictWriter(target, [field.name for field in fields(Process)], lineterminator="\n")
            writer.writeheader()
            for row in map(asdict, sorted(self.done, key=lambda kept: kept.gigabytes)):
                shown = {key: f"{value:.6g}" for key, value in row.items() if isinstance(value, float)}
                writer.writerow({**row, **shown})
        told = process.error or f"{process.processor:8.2f} s {process.peak_mb:7.0f} of {process.bound_mb:6} MB"
        print(f"{process.gigabytes:6g} GB  {process.stage:24}{process.name:28.28}{told}", file=sys.stderr, flush=True)

    def expected(self, stage: str, gigabytes: float) -> float:
        """Seconds of the longest job of a stage, if they grow as they did between the two sizes before."""
        seen: dict[float, float] = {}
        for process in self.done:
            size = process.gigabytes
            if process.stage == stage and START < size < gigabytes and not process.error:
                seen[size] = max(process.processor, seen.get(size, 0.0))
        if not seen:
            return 0.0
        *before, last = sorted(seen)
        grown = seen[last] / seen[before[-1]] if before else gigabytes / last
        return seen[last] * max(1.0, grown)


def read(table: Path) -> list[Process]:
    """The lines of a CSV; none where there is no file."""
    if not table.exists():
        return []
    with table.open(newline="", encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    kinds = Process.__annotations__
    return [Process(**{key: kinds[key](value) for key, value in row.items()}) for row in rows]
