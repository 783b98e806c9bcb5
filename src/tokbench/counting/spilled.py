"""Tables of counts that are written to sorted runs where they would take more than their room."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.kernels.count import MOST_COUNTED, SLOT_BYTES, Counter, pretokens_in
from tokbench.kernels.runs import give_back
from tokbench.kernels.scan import Scanner

MOST = 1 << 62
FIRST_SLOTS = 1 << 12
"""Slots with which a table begins."""
STEP = 1 << 16
"""Bytes by which the smallest leases grow; larger ones by an eighth."""


@dataclass(slots=True, eq=False)
class _Table:
    counter: Counter
    leased: int = 0
    """Bytes of long pre-tokens that it may hold."""

    @property
    def size(self) -> int:
        return SLOT_BYTES * self.counter.slots + self.leased


class Spilled:
    """Counts by language, in tables where there is room and in runs where there is none.

    Args:
        folder: where the runs go.
        scanner: what cuts the documents; each is one pre-token where there is none.
        room: tells how many bytes all tables may take, given how many they take now.
        most: unique pre-tokens that a table holds at most.

    Attributes:
        runs: for each language that was seen, its runs, each sorted by bytes.
    """

    def __init__(
        self, folder: Path, scanner: Scanner | None = None, *, room: Callable[[int], int], most: int = MOST
    ) -> None:
        self.runs: dict[str, list[Path]] = {}
        self._folder, self._scanner, self._room, self._most = folder, scanner, room, most
        self._tables: dict[str, _Table] = {}
        self._weight = 0

    def add(self, language: str, text: bytes) -> None:
        """Cut a document into pre-tokens and count them.

        Raises:
            TokbenchError: a pre-token is longer than there is room.
        """
        self._feed(language, lambda counter, start: counter.add(text, start), len(text))

    def add_pretokens(
        self,
        language: str,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        """Count pre-tokens that are cut already, as :meth:`tokbench.kernels.count.Counter.add_pretokens` does.

        Raises:
            TokbenchError: a pre-token is longer than there is room.
            OverflowError: the counts, each times the bytes of its pre-token and one, add up past 2^62.
        """
        self._feed(
            language,
            lambda counter, start: counter.add_pretokens(data, offsets, counts, start),
            max(len(offsets) - 1, 0),
        )

    def end(self) -> None:
        """Write what is left in tables."""
        for language in list(self._tables):
            self._spill(language)

    def check(self) -> None:
        """See that sums over the whole text stay in 63 bits.

        Raises:
            OverflowError: the counts of all languages together add up past 2^62.
        """
        if self._weight + sum(table.counter.weight for table in self._tables.values()) > MOST_COUNTED:
            raise OverflowError(
                f"the counts, each times the bytes of its pre-token and one, add up past 2^62 ({MOST_COUNTED})"
            )

    def shrink(self) -> int:
        """Write tables, the largest first, until what is held fits; return how many bytes are held then."""
        self._make_room(0)
        return sum(table.counter.held for table in self._tables.values())

    def _feed(self, language: str, add: Callable[[Counter, int], int], end: int) -> None:
        start = add(self._table(language).counter, 0)
        while start < end:
            self._grant(language)
            start = add(self._table(language).counter, start)

    def _table(self, language: str) -> _Table:
        if language not in self._tables:
            self.runs.setdefault(language, [])
            self._make_room(SLOT_BYTES * FIRST_SLOTS)
            self._tables[language] = _Table(Counter(self._scanner))
            self._lease(self._tables[language])
        return self._tables[language]

    def _grant(self, language: str) -> None:
        """Let a table that stopped go on, with a larger lease or emptied."""
        table = self._tables[language]
        counter = table.counter
        wanted, wider = counter.wanted, SLOT_BYTES * 2 * counter.slots
        if wanted:
            step = max(wanted, STEP, table.leased // 8)
            if not self._make_room(step):
                raise TokbenchError(
                    f"a pre-token of {wanted:,} bytes does not fit into the memory allowed; raise --memory"
                )
            table = self._table(language)
            table.leased += step
            self._lease(table)
        elif len(counter) >= self._most:
            self._write(language)
        elif self._left() >= wider:
            self._lease(table, 2 * counter.slots)
        elif self._left() < 0:
            self._spill(language)
        else:
            self._write(language, wider=4 * wider <= 3 * (self._left() + table.size))

    def _lease(self, table: _Table, slots: int | None = None) -> None:
        table.counter.lease(min(pretokens_in(slots or table.counter.slots), self._most), table.leased)

    def _left(self) -> int:
        held = sum(table.counter.held for table in self._tables.values())
        return self._room(held) - sum(table.size for table in self._tables.values())

    def _make_room(self, more: int) -> bool:
        """Give the memory of tables back, the largest first, until so many bytes fit; whether they do."""
        while self._left() < more:
            if not self._tables:
                return False
            self._spill(max(self._tables, key=lambda name: (self._tables[name].size, name)))
        return True

    def _spill(self, language: str) -> None:
        """Write a table and give its memory back."""
        table = self._tables[language]
        if len(table.counter):
            self._write(language)
        self._weight += table.counter.weight
        del self._tables[language], table
        give_back()

    def _write(self, language: str, *, wider: bool = False) -> None:
        """Write a table and empty it."""
        table = self._tables[language]
        run = self._folder / f"counted-{sum(map(len, self.runs.values()))}"
        table.counter.spill(os.fsencode(run), wider)
        table.leased = 0
        give_back()
        self._lease(table)
        self.runs[language].append(run)
