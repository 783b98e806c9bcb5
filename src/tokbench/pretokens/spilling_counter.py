"""Pre-token counting in limited memory: full tables are written to disk as sorted runs."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.kernels.count import MOST_COUNTED, SLOT_BYTES, Counter, pretokens_in
from tokbench.kernels.runs import give_back
from tokbench.kernels.scan import Scanner
from tokbench.pretokens.tables import ROWS
from tokbench.runtime.memory_limit import megabytes_to_allow, resident_bytes

MEGABYTE = 1_000_000
"""Bytes per megabyte, as in Snakemake's ``mem_mb``."""
RESERVED_BYTES = 40 * MEGABYTE
"""Bytes reserved for short-lived buffers, for example an input batch or a compressed page."""
MIN_ROOM = 48 * MEGABYTE
"""Minimum bytes for counting: buffers of a merge, and a table large enough to be worth writing."""
UNLIMITED = 1 << 62
FIRST_SLOTS = 1 << 12
"""Slots of a new table."""
LEASE_STEP = 1 << 16
"""Smallest step in bytes by which leases grow. Large leases grow by an eighth."""


@dataclass(slots=True)
class MemoryBound:
    """Limit of the resident memory of this process, including Python and its libraries.

    Attributes:
        megabytes: Limit in units of 1,000,000 bytes (default: none).
        pretokens: Maximum number of unique pre-tokens in a table and of pre-tokens sorted at a time (default: no
            limit).
        runs: Number of runs merged at a time (default: 64). Each needs a buffer and an open file, and some systems
            limit a process to 256 open files.
        rows: Rows per row group (default: 2^20). The files depend only on this attribute.
    """

    megabytes: int | None = None
    pretokens: int = UNLIMITED
    runs: int = 64
    rows: int = ROWS
    _other_bytes: int = field(default=0, init=False)

    def room(self, used: int) -> int:
        """Return the bytes available to tables and buffers in total.

        The rest of the process counts with its peak so far, so the result never grows.

        Args:
            used: Bytes that tables and buffers use now.
        """
        if self.megabytes is None:
            return UNLIMITED
        if resident_bytes() - used > self._other_bytes:
            import pyarrow as pa

            # Allocators keep freed memory for later, which is free.
            give_back()
            pa.default_memory_pool().release_unused()
            self._other_bytes = max(self._other_bytes, resident_bytes() - used)
        return self.megabytes * MEGABYTE - RESERVED_BYTES - self._other_bytes

    def require(self, task: str, used: int = 0) -> None:
        """Check that there is room for :data:`MIN_ROOM` bytes.

        Args:
            task: Task in the message, for example ``to count``.
            used: Bytes that tables use now (default: 0).

        Raises:
            TokbenchError: there is not enough room; the message names a sufficient limit.
        """
        lacking = MIN_ROOM - self.room(used)
        if self.megabytes is not None and lacking > 0:
            needed = megabytes_to_allow(self.megabytes * MEGABYTE + lacking)
            raise TokbenchError(f"--memory {self.megabytes}: too little {task}; allow {needed} MB or more")


class SpillingCounter:
    """Counter by language, with tables in memory and sorted runs on disk.

    Args:
        folder: Folder of the runs.
        bound: Memory limit of all tables.
        scanner: Scanner that splits documents into pre-tokens (default: none; each document is one pre-token).
    """

    def __init__(self, folder: Path, bound: MemoryBound, scanner: Scanner | None = None) -> None:
        self._folder, self._bound, self._scanner = folder, bound, scanner
        self._tables: dict[str, Counter] = {}
        self._runs: dict[str, list[Path]] = {}
        self._weight = 0

    @property
    def leased_bytes(self) -> int:
        """Bytes of all tables, including leased bytes not yet in use."""
        return sum(map(_leased_bytes, self._tables.values()))

    def add(self, language: str, text: bytes) -> None:
        """Split a document into pre-tokens and count them.

        Raises:
            TokbenchError: a pre-token does not fit into memory.
        """
        self._feed(language, lambda table, start: table.add(text, start), len(text))

    def add_pretokens(
        self,
        language: str,
        data: NDArray[np.uint8],
        offsets: NDArray[np.int64],
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        """Count pre-tokens. The arguments are those of :meth:`tokbench.kernels.count.Counter.add_pretokens`.

        Raises:
            TokbenchError: a pre-token does not fit into memory.
            OverflowError: the sum of each count times the length of its pre-token plus one exceeds 2^62.
        """
        self._feed(
            language,
            lambda table, start: table.add_pretokens(data, offsets, counts, start),
            max(len(offsets) - 1, 0),
        )

    def check_sum(self) -> None:
        """Check that sums over the text in all languages fit into 63 bits.

        Raises:
            OverflowError: the sum over all languages exceeds 2^62.
        """
        if self._weight + sum(table.weight for table in self._tables.values()) > MOST_COUNTED:
            raise OverflowError(
                f"the counts, each times the bytes of its pre-token and one, add up past 2^62 ({MOST_COUNTED})"
            )

    def shrink(self) -> int:
        """Write the largest tables to disk until the rest fits into the limit, and return the bytes in use."""
        self._make_room(0)
        return self._used_bytes()

    def spill(self) -> dict[str, list[Path]]:
        """Write all tables to disk, and return the runs of each language, sorted by bytes."""
        for language in list(self._tables):
            self._spill(language)
        return self._runs or {"": []}

    def _feed(self, language: str, add_from: Callable[[Counter, int], int], end: int) -> None:
        start = add_from(self._table(language), 0)
        while start < end:
            self._extend(language)
            start = add_from(self._table(language), start)

    def _table(self, language: str) -> Counter:
        if language not in self._tables:
            self._runs.setdefault(language, [])
            self._make_room(SLOT_BYTES * FIRST_SLOTS)
            self._tables[language] = Counter(self._scanner)
            self._lease(self._tables[language])
        return self._tables[language]

    def _extend(self, language: str) -> None:
        """Extend the lease of a full table, or write the table to disk."""
        table = self._tables[language]
        wider = 2 * SLOT_BYTES * table.slots
        if needed := table.wanted:
            step = max(needed, LEASE_STEP, table.leased_bytes // 8)
            if not self._make_room(step):
                raise TokbenchError(
                    f"a pre-token of {needed:,} bytes does not fit into the memory allowed; raise --memory"
                )
            table = self._table(language)
            self._lease(table, extra_bytes=table.leased_bytes + step)
        elif len(table) >= self._bound.pretokens:
            self._write(language)
        elif self._free_bytes() >= wider:
            self._lease(table, 2 * table.slots, table.leased_bytes)
        elif self._free_bytes() < 0:
            self._spill(language)
        else:
            self._write(language, wider=4 * wider <= 3 * (self._free_bytes() + _leased_bytes(table)))

    def _lease(self, table: Counter, slots: int | None = None, extra_bytes: int = 0) -> None:
        table.lease(min(pretokens_in(slots or table.slots), self._bound.pretokens), extra_bytes)

    def _used_bytes(self) -> int:
        return sum(table.held for table in self._tables.values())

    def _free_bytes(self) -> int:
        return self._bound.room(self._used_bytes()) - self.leased_bytes

    def _make_room(self, size: int) -> bool:
        """Write the largest tables to disk until ``size`` bytes are free; return whether they are."""
        while self._free_bytes() < size:
            if not self._tables:
                return False
            self._spill(max(self._tables, key=lambda language: (_leased_bytes(self._tables[language]), language)))
        return True

    def _spill(self, language: str) -> None:
        """Write a table to a run and free its memory."""
        if len(self._tables[language]):
            self._write(language)
        self._weight += self._tables.pop(language).weight
        give_back()

    def _write(self, language: str, *, wider: bool = False) -> None:
        """Write a table to a run and empty it, with double the slots if ``wider``."""
        table = self._tables[language]
        run = self._folder / f"counted-{sum(map(len, self._runs.values()))}"
        table.spill(os.fsencode(run), wider)
        give_back()
        self._lease(table)
        self._runs[language].append(run)


def _leased_bytes(table: Counter) -> int:
    return SLOT_BYTES * table.slots + table.leased_bytes
