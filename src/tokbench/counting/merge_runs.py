"""Sorted runs merged into one file of counts, in memory that does not grow with what they hold.

Counts of equal pre-tokens are added up in a merge by bytes. What that gives is sorted again by count, a room of memory
at a time, and a second merge gives the canonical order, which is written a row group at a time.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tokbench.atomic import atomic_file
from tokbench.errors import TokbenchError
from tokbench.kernels.runs import Merge, give_back
from tokbench.languages import by_tag
from tokbench.pretoken_checksums import ROWS, counts_writer
from tokbench.pretokens import PretokenCounts

MOST_RUNS = 64
"""Runs merged at a time: each takes a buffer and an open file, of which systems allow 256 at least."""
BUFFER = 1 << 18
"""Bytes of a run read at a time."""
LEAST_SORTED = 1 << 23
"""Bytes that are sorted at a time, however little room there is: fewer would make more runs than a disk is fit for."""


@dataclass(frozen=True, slots=True)
class Totals:
    """What a file of counts holds, all languages together.

    Attributes:
        unique: pre-tokens.
        total: pre-tokens of the text.
        total_bytes: bytes of the text.
    """

    unique: int
    total: int
    total_bytes: int

    def __len__(self) -> int:
        return self.unique


@dataclass(frozen=True, slots=True)
class Sizes:
    """How much is held at a time; the file does not depend on it, but for ``rows``.

    Attributes:
        room: tells how many bytes may be taken, given how many are taken now.
        most: pre-tokens that are sorted at a time.
        runs: runs that are merged at a time.
        rows: rows of a row group.
    """

    room: Callable[[int], int]
    most: int = 1 << 62
    runs: int = MOST_RUNS
    rows: int = ROWS


def write_runs(
    runs: Mapping[str, Sequence[Path]], scheme: str | None, path: Path | str, folder: Path, sizes: Sizes
) -> Totals:
    """Write the counts of the runs of each language, as :func:`tokbench.counting.languages.write_languages` does.

    Args:
        runs: for each language its runs, sorted by bytes; they are removed.
        scheme: the pre-tokenization that cut the text.
        path: the file.
        folder: where runs go that are needed on the way.
        sizes: how much is held at a time.

    Raises:
        TokbenchError: a row group does not fit into the memory allowed.
    """
    work = _Work(folder, sizes)
    runs = by_tag(runs, lambda one, other: [*one, *other])
    few = {language: work.fewer(runs[language]) for language in sorted(runs)}
    totals = work.totals([run for each in few.values() for run in each])
    ordered = {language: work.fewer(work.by_count(each), by_count=True) for language, each in few.items()}
    with atomic_file(path) as partial:
        _write_groups(work, ordered, scheme, partial)
    return totals


class _Work:
    """The runs that are made on the way."""

    def __init__(self, folder: Path, sizes: Sizes) -> None:
        self.folder, self.sizes, self.made = folder, sizes, 0

    def run(self) -> Path:
        self.made += 1
        return self.folder / f"merged-{self.made}"

    def merge(self, runs: Sequence[Path], *, by_count: bool = False) -> Merge:
        return Merge([os.fsencode(run) for run in runs], by_count, BUFFER)

    def fewer(self, runs: Sequence[Path], *, by_count: bool = False, keep: bool = False) -> list[Path]:
        """Runs that hold the same, few enough to be merged at once."""
        left, most = list(runs), self.sizes.runs
        while len(left) > most:
            taken, left = left[:most], left[most:]
            whole = self.run()
            self.merge(taken, by_count=by_count).write(os.fsencode(whole))
            left.append(whole)
            for run in taken:
                if not keep or run not in runs:
                    run.unlink()
        return left

    def totals(self, runs: Sequence[Path]) -> Totals:
        """Of all languages together, whose pre-tokens may be the same."""
        few = self.fewer(runs, keep=True)
        merge = self.merge(few)
        merge.drain()
        for run in few:
            if run not in runs:
                run.unlink()
        return Totals(merge.unique, merge.total, merge.total_bytes)

    def by_count(self, runs: Sequence[Path]) -> list[Path]:
        """The counts of runs sorted by bytes as runs of canonical order."""
        merge, found = self.merge(runs), []
        room = max(self.sizes.room(0) - BUFFER * len(runs), LEAST_SORTED)
        while merge.resort(os.fsencode(run := self.run()), room, self.sizes.most):
            found.append(run)
            give_back()
        for run in runs:
            run.unlink()
        return found


def _write_groups(work: _Work, runs: Mapping[str, Sequence[Path]], scheme: str | None, file: Path) -> None:
    """Write a table in row groups that are those of one that is written whole.

    A group that begins in one language and goes on in another is made of a piece of each, as it is in that table: where
    pages end depends on it.
    """
    alone = set(runs) <= {""}
    empty = _piece("" if not alone else None, PretokenCounts.from_pairs([], scheme))
    with counts_writer(file, empty.schema, work.sizes.rows) as write:
        waiting: list[pa.Table] = []
        room, written = work.sizes.rows, False
        for language, ordered in runs.items():
            merge = work.merge(ordered, by_count=True)
            while len(piece := _piece(None if alone else language, _taken(merge, room, scheme, work))):
                waiting.append(piece)
                room -= len(piece)
                del piece  # It goes before the next is made.
                if not room:
                    write(pa.concat_tables(waiting))
                    waiting, room, written = [], work.sizes.rows, True
        if waiting or not written:
            write(pa.concat_tables(waiting or [empty]))


def _piece(language: str | None, counts: PretokenCounts) -> pa.Table:
    table = counts.to_arrow()
    return table if language is None else table.add_column(0, "language", pa.repeat(language, len(table)))


def _taken(merge: Merge, rows: int, scheme: str | None, work: _Work) -> PretokenCounts:
    """The next pre-tokens of a merge, so many as there are."""
    data, offsets, counts = np.empty(16 * rows, np.uint8), np.empty(rows + 1, np.int64), np.empty(rows, np.int64)
    found = merge.fill(data, offsets, counts)
    while merge.wanted:
        wider = max(len(data) + len(data) // 4, int(offsets[found]) + merge.wanted)
        if wider + counts.nbytes + offsets.nbytes > work.sizes.room(int(offsets[found]) + 16 * found):
            raise TokbenchError(
                f"{rows:,} pre-tokens that are written at once have more than {offsets[found]:,} bytes, which is more "
                "than the memory allowed; raise --memory"
            )
        data.resize(wider, refcheck=False)
        found = merge.fill(data, offsets, counts, found)
    return PretokenCounts(data[: offsets[found]], offsets[: found + 1], counts[:found], scheme)
