"""Counting and merging within a limit of resident memory: tables go to sorted runs on disk where they are full.

The runs of a language are merged by bytes, which adds up equal pre-tokens. The sums are sorted by count, a part that
fits into memory at a time, and a second merge gives the canonical order, which is written a row group at a time. The
files do not depend on the limit.
"""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tokbench.corpus.languages import by_tag
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file, scratch_folder
from tokbench.kernels.count import MOST_COUNTED, SLOT_BYTES, Counter, pretokens_in
from tokbench.kernels.runs import Merge, give_back
from tokbench.kernels.scan import Scanner
from tokbench.pretokenization import Pretokenization, Setting, pretokenization_of
from tokbench.pretokens import TOO_MUCH, PretokenCounts
from tokbench.pretokens.count import NOTHING, check_scheme, cut_by
from tokbench.pretokens.files import ROWS, counts_writer, read_languages, read_parts
from tokbench.runtime.memory_limit import resident, to_allow

MEGABYTE = 1_000_000
"""As in Snakemake's ``mem_mb``."""
MARGIN = 40 * MEGABYTE
"""Left free for what comes and goes between two looks: a batch that is being read, a page that is being compressed."""
LEAST = 48 * MEGABYTE
"""Room without which counting does not begin: the buffers of a merge, and a table that is worth being written."""
MOST = 1 << 62
FIRST_SLOTS = 1 << 12
"""Slots with which a table begins."""
STEP = 1 << 16
"""Bytes by which the smallest leases grow; larger ones by an eighth."""
MOST_RUNS = 64
"""Runs merged at a time: each takes a buffer and an open file, of which systems allow 256 at least."""
BUFFER = 1 << 18
"""Bytes of a run read at a time."""
LEAST_SORTED = 1 << 23
"""Bytes that are sorted at a time, however little room there is: fewer would make more runs than a disk is fit for."""
LONG = 1 << 20
"""Bytes of a document at which memory is looked at again."""


class Bound:
    """A limit of resident memory, Python and its libraries included.

    Args:
        megabytes: of 1,000,000 bytes; no limit when None.
    """

    def __init__(self, megabytes: int | None = None) -> None:
        self.megabytes = megabytes
        self._outside = 0

    def room(self, held: int) -> int:
        """Bytes that tables and buffers may take in all.

        What the rest of the process takes is the most that has been seen of it, so room only shrinks.

        Args:
            held: bytes that they take now.
        """
        if self.megabytes is None:
            return MOST
        self._outside = max(self._outside, resident() - held)
        return self.megabytes * MEGABYTE - MARGIN - self._outside

    def require(self, size: int, what: str, held: int = 0) -> None:
        """See that there is room.

        Args:
            size: bytes wanted.
            what: what they are for: ``to count``.
            held: bytes of them that are taken now.

        Raises:
            TokbenchError: there is not; the message says what would do.
        """
        lacking = size - self.room(held)
        if self.megabytes is not None and lacking > 0:
            needed = to_allow(self.megabytes * MEGABYTE + lacking)
            raise TokbenchError(f"--memory {self.megabytes}: too little {what}; allow {needed} MB or more")


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
    """Write the counts of the runs of each language, as :func:`tokbench.pretokens.files.write_languages` does.

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


def count_within(
    documents: Iterable[tuple[str, bytes]],
    scheme: Setting | Pretokenization,
    path: Path | str,
    bound: Bound,
    *,
    most: int = MOST,
    runs: int = MOST_RUNS,
    rows: int = ROWS,
) -> Totals:
    """Write the counts of each language of a text.

    One document is held at a time, whole, beside the tables.

    Args:
        documents: language tags (empty where unknown) and texts.
        scheme: a pre-tokenization: its name, or a mapping with its ``method`` and options.
        path: the file.
        bound: of the memory of this process.
        most: unique pre-tokens that are held at a time, however much room there is.
        runs: runs that are merged at a time.
        rows: rows of a row group.

    Raises:
        TokbenchError: the bound is too small, or as :func:`tokbench.pretokens.count.count_languages`.
    """
    chosen = pretokenization_of(scheme)
    scanner = chosen.scanner
    bound.require(LEAST, "to count")
    with scratch_folder(path) as folder:
        tables = Spilled(folder, scanner, room=bound.room, most=most)
        for number, (language, text) in enumerate(documents):
            if len(text) >= LONG:
                bound.require(LEAST, f"to count document {number} of {len(text):,} bytes", tables.shrink())
            if scanner is None:
                tables.add_pretokens(language, *cut_by(chosen, text, number))
            else:
                tables.add(language, text)
        tables.end()
        found = tables.runs or {"": []}
        return write_runs(found, chosen.text, path, folder, Sizes(bound.room, most, runs, rows))


def take_within(
    table: Path | str,
    scheme: str,
    path: Path | str,
    bound: Bound,
    *,
    most: int = MOST,
    runs: int = MOST_RUNS,
    rows: int = ROWS,
) -> Totals:
    """Write the counts of a table that comes from elsewhere as those of a scheme, all languages together.

    Args:
        table: Parquet, or TSV ``hex<TAB>count``.
        scheme: what they are written as.
        path: the file.
        bound: of the memory of this process.
        most: unique pre-tokens that are held at a time, however much room there is.
        runs: runs that are merged at a time.
        rows: rows of a row group.

    Raises:
        TokbenchError: the bound is too small, or as :meth:`tokbench.pretokens.PretokenCounts.read`.
    """
    bound.require(LEAST, "to take counts")
    with scratch_folder(path) as folder:
        tables = Spilled(folder, room=bound.room, most=most)
        _, rows_of_table = read_parts(table)
        try:
            for _, arrays in rows_of_table:
                tables.add_pretokens("", *arrays)
            tables.check()
        except OverflowError as error:
            raise TokbenchError(f"{table}: {error}; {TOO_MUCH}") from None
        tables.end()
        return write_runs(tables.runs or {"": []}, scheme, path, folder, Sizes(bound.room, most, runs, rows))


def merge_within(
    parts: Sequence[Path | str],
    path: Path | str,
    bound: Bound,
    *,
    most: int = MOST,
    runs: int = MOST_RUNS,
    rows: int = ROWS,
) -> Totals:
    """Write the sum of the counts of several files, each language by itself.

    Args:
        parts: the files, in any order.
        path: the file.
        bound: of the memory of this process.
        most: unique pre-tokens that are held at a time, however much room there is.
        runs: runs that are merged at a time.
        rows: rows of a row group.

    Raises:
        TokbenchError: the bound is too small, or as :func:`tokbench.pretokens.count.merge_counts`.
    """
    bound.require(LEAST, "to merge counts")
    if not parts:
        raise TokbenchError(NOTHING)
    first: tuple[str, str | None] | None = None
    with scratch_folder(path) as folder:
        tables = Spilled(folder, room=bound.room, most=most)
        for part in parts:
            scheme, rows_of_part = read_parts(part)
            first = first or (str(part), scheme)
            check_scheme(str(part), scheme, first)
            try:
                for language, arrays in rows_of_part:
                    tables.add_pretokens(language, *arrays)
                tables.check()
            except OverflowError as error:
                raise TokbenchError(f"{part}: with the parts before it, {error}; {TOO_MUCH}") from None
        tables.end()
        scheme = first[1] if first else None
        return write_runs(tables.runs or {"": []}, scheme, path, folder, Sizes(bound.room, most, runs, rows))


def count_texts(
    texts: Iterable[tuple[str, bytes]],
    scheme: Pretokenization,
    megabytes: int | None,
    beside: Path | str,
    check: Callable[[str], None] = lambda _: None,
) -> dict[str, PretokenCounts]:
    """Return the pre-token counts of documents by language.

    Args:
        texts: the documents, each with its language.
        scheme: how they are cut.
        megabytes: limit of memory (default: none).
        beside: counts that take more are sorted on disk in the folder of this path.
        check: called with the file of the counts before they are read.
    """
    with scratch_folder(beside) as folder:
        path = str(folder / "counts.parquet")
        count_within(texts, scheme, path, Bound(megabytes))
        check(path)
        return read_languages(path)
