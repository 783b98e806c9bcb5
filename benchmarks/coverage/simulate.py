"""Simulation of the coverage of intervals and the errors of tests: how often each cell's draw is True.

Every cell has its own random generator, derived from the seed and the labels of the cell, so the result depends neither
on the number of processes nor on other cells.
"""

import hashlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from math import sqrt

import numpy as np

from benchmarks.coverage.cases import Case

SEED = 20261128


@dataclass(frozen=True)
class Share:
    """Share of draws of a case that are True.

    Attributes:
        table, row, column, times: those of the case.
        hits: draws that are True.
    """

    table: str
    row: tuple[str, ...]
    column: str
    times: int
    hits: int

    @property
    def value(self) -> float:
        """Share between 0 and 1."""
        return self.hits / self.times

    @property
    def error(self) -> float:
        """Standard error of the share by the number of draws."""
        return sqrt(max(self.value * (1 - self.value), 1 / self.times) / self.times)


def share_of(case: Case, seed: int = SEED) -> Share:
    """Draw a case."""
    label = repr((case.table, case.row, case.column))
    entropy = int.from_bytes(hashlib.sha256(label.encode()).digest()[:8])
    rng = np.random.default_rng([seed, entropy])
    hits = sum(bool(case.draw(rng)) for _ in range(case.times))
    return Share(case.table, case.row, case.column, case.times, hits)


def simulate(cases: Sequence[Case], processes: int = 1) -> Iterator[Share]:
    """Draw all cases, and yield their shares in the same order.

    Args:
        cases: the cases; each must have its own table, row and column.
        processes: number of processes (default: 1).
    """
    if processes == 1:
        yield from map(share_of, cases)
        return
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(share_of, cases)
