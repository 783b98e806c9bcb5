"""Counting and merging of files of counts in limited memory by external merge sort.

The runs of a language, sorted by bytes, are merged and equal pre-tokens added up. The sums are sorted by count in parts
that fit into memory. A second merge gives the canonical order and is written one row group at a time. The files do not
depend on the memory limit.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import add
from pathlib import Path

import numpy as np

from tokbench.corpus.languages import by_tag
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file, scratch_folder
from tokbench.kernels.runs import Merge, give_back
from tokbench.pretokenization import Pretokenization, Setting, pretokenization_of
from tokbench.pretokens import TOO_MUCH, PretokenCounts
from tokbench.pretokens.count import NO_COUNTS, check_scheme, count_languages, cut_by
from tokbench.pretokens.files import Arrays, language_table, read_languages, read_parts
from tokbench.pretokens.spilling_counter import MemoryBound, SpillingCounter
from tokbench.pretokens.tables import counts_writer

RUN_BUFFER = 1 << 18
"""Bytes of a run read at a time."""
MIN_SORTED_BYTES = 1 << 23
"""Minimum bytes sorted at a time. Fewer would give too many runs."""
LONG_DOCUMENT = 1 << 20
"""Document length in bytes from which memory is checked again."""


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over a file of counts, all languages together.

    Attributes:
        unique: Number of unique pre-tokens.
        total: Number of pre-tokens of the text.
        total_bytes: Number of bytes of the text.
    """

    unique: int
    total: int
    total_bytes: int


@dataclass(slots=True)
class _RunFolder:
    """Merges sorted runs into runs of a folder."""

    folder: Path
    bound: MemoryBound
    size: int = 0

    def new(self) -> Path:
        self.size += 1
        return self.folder / f"merged-{self.size}"

    def merge(self, runs: Sequence[Path], *, by_count: bool = False) -> Merge:
        return Merge([os.fsencode(run) for run in runs], by_count, RUN_BUFFER)

    def reduce(self, runs: Sequence[Path], *, by_count: bool = False, keep: bool = False) -> list[Path]:
        """Merge runs until few enough remain for one merge. With ``keep``, the input runs are not deleted."""
        left = list(runs)
        while len(left) > self.bound.runs:
            batch, left = left[: self.bound.runs], left[self.bound.runs :]
            left.append(self.new())
            self.merge(batch, by_count=by_count).write(os.fsencode(left[-1]))
            _remove(set(batch).difference(runs if keep else ()))
        return left

    def totals(self, runs: Sequence[Path]) -> Totals:
        """Sum over runs of several languages, which may share pre-tokens."""
        few = self.reduce(runs, keep=True)
        merge = self.merge(few)
        merge.drain()
        _remove(set(few).difference(runs))
        return Totals(merge.unique, merge.total, merge.total_bytes)

    def sort_by_count(self, runs: Sequence[Path]) -> list[Path]:
        """Turn runs sorted by bytes into runs in canonical order."""
        merge, ordered = self.merge(runs), []
        room = max(self.bound.room(0) - RUN_BUFFER * len(runs), MIN_SORTED_BYTES)
        while merge.resort(os.fsencode(run := self.new()), room, self.bound.pretokens):
            ordered.append(run)
            give_back()
        _remove(runs)
        return ordered

    def write_groups(self, runs: Mapping[str, Sequence[Path]], scheme: str | None, file: Path) -> None:
        """Write runs in canonical order as one table.

        A row group may contain rows of two languages, as in a table written at once, because page ends depend on the
        row groups.
        """
        import pyarrow as pa

        empty = language_table(next(iter(runs)), PretokenCounts.from_pairs([], scheme))
        with counts_writer(file, empty.schema, self.bound.rows) as write:
            waiting, room = [empty], self.bound.rows
            for language, ordered in runs.items():
                merge = self.merge(ordered, by_count=True)
                while len(piece := language_table(language, self._next_counts(merge, room, scheme))):
                    waiting.append(piece)
                    room -= len(piece)
                    del piece  # Free it before the next one is built.
                    if not room:
                        write(pa.concat_tables(waiting))
                        waiting, room = [], self.bound.rows
            if waiting:
                write(pa.concat_tables(waiting))

    def _next_counts(self, merge: Merge, rows: int, scheme: str | None) -> PretokenCounts:
        """Read at most ``rows`` pre-tokens of a merge."""
        data, offsets, counts = np.empty(16 * rows, np.uint8), np.empty(rows + 1, np.int64), np.empty(rows, np.int64)
        n = merge.fill(data, offsets, counts)
        while merge.wanted:
            end = int(offsets[n])
            size = max(len(data) + len(data) // 4, end + merge.wanted)
            if size + counts.nbytes + offsets.nbytes > self.bound.room(end + 16 * n):
                raise TokbenchError(
                    f"{rows:,} pre-tokens that are written at once have more than {end:,} bytes, which is more "
                    "than the memory allowed; raise --memory"
                )
            data.resize(size, refcheck=False)
            n = merge.fill(data, offsets, counts, n)
        return PretokenCounts(data[: offsets[n]], offsets[: n + 1], counts[:n], scheme)


def _remove(runs: Iterable[Path]) -> None:
    for run in runs:
        run.unlink()


def _write_counts(
    counter: SpillingCounter, scheme: str | None, path: Path | str, folder: Path, bound: MemoryBound
) -> Totals:
    """Write the counts of a counter as :func:`tokbench.pretokens.files.write_languages` does."""
    run_folder = _RunFolder(folder, bound)
    runs = by_tag(counter.spill(), add)
    few = {language: run_folder.reduce(runs[language]) for language in sorted(runs)}
    totals = run_folder.totals([run for language in few for run in few[language]])
    ordered = {language: run_folder.reduce(run_folder.sort_by_count(few[language]), by_count=True) for language in few}
    with atomic_file(path) as partial:
        run_folder.write_groups(ordered, scheme, partial)
    return totals


def count_external(
    documents: Iterable[tuple[str, bytes]], scheme: Setting | Pretokenization, path: Path | str, bound: MemoryBound
) -> Totals:
    """Count the pre-tokens of a text by language and write them to a file.

    In addition to the tables, one document is in memory at a time.

    Args:
        documents: Language tags (empty if unknown) and texts.
        scheme: Name of a pre-tokenization, or a mapping with its ``method`` and options.
        path: Output file.
        bound: Memory limit.

    Raises:
        TokbenchError: the memory limit is too small, or as :func:`tokbench.pretokens.count.count_languages`.
    """
    pretokenization = pretokenization_of(scheme)
    scanner = pretokenization.scanner
    bound.require("to count")
    with scratch_folder(path) as folder:
        counter = SpillingCounter(folder, bound, scanner)
        for number, (language, text) in enumerate(documents):
            if len(text) >= LONG_DOCUMENT:
                bound.require(f"to count document {number} of {len(text):,} bytes", counter.shrink())
            if scanner is None:
                counter.add_pretokens(language, *cut_by(pretokenization, text, number))
            else:
                counter.add(language, text)
        return _write_counts(counter, pretokenization.text, path, folder, bound)


def import_external(table: Path | str, scheme: str, path: Path | str, bound: MemoryBound) -> Totals:
    """Convert a table of counts to a file of counts of a pre-tokenization, all languages together.

    Args:
        table: Parquet, or TSV with ``hex<TAB>count`` per line.
        scheme: Name of the pre-tokenization.
        path: Output file.
        bound: Memory limit.

    Raises:
        TokbenchError: the memory limit is too small, or as :meth:`tokbench.pretokens.PretokenCounts.read`.
    """
    bound.require("to import counts")
    with scratch_folder(path) as folder:
        counter = SpillingCounter(folder, bound)
        _, rows = read_parts(table)
        _add_rows(counter, (("", arrays) for _, arrays in rows), f"{table}:")
        return _write_counts(counter, scheme, path, folder, bound)


def merge_external(parts: Sequence[Path | str], path: Path | str, bound: MemoryBound) -> Totals:
    """Add up the counts of several files by language and write them to a file.

    Args:
        parts: Input files, in any order.
        path: Output file.
        bound: Memory limit.

    Raises:
        TokbenchError: the memory limit is too small, or as :func:`tokbench.pretokens.count.merge_counts`.
    """
    bound.require("to merge counts")
    if not parts:
        raise TokbenchError(NO_COUNTS)
    first: tuple[str, str | None] | None = None
    with scratch_folder(path) as folder:
        counter = SpillingCounter(folder, bound)
        for part in parts:
            scheme, rows = read_parts(part)
            first = first or (str(part), scheme)
            check_scheme(str(part), scheme, first)
            _add_rows(counter, rows, f"{part}: with the parts before it,")
        return _write_counts(counter, scheme, path, folder, bound)


def _add_rows(counter: SpillingCounter, rows: Iterator[tuple[str, Arrays]], place: str) -> None:
    try:
        for language, arrays in rows:
            counter.add_pretokens(language, *arrays)
        counter.check_sum()
    except OverflowError as error:
        raise TokbenchError(f"{place} {error}; {TOO_MUCH}") from None


def count_texts(
    texts: Iterable[tuple[str, bytes]],
    scheme: Pretokenization,
    megabytes: int | None,
    output: Path | str,
    check: Callable[[str], None],
) -> dict[str, PretokenCounts]:
    """Return the pre-token counts of documents by language, in order of the tags.

    Args:
        texts: Language tags and documents.
        scheme: Pre-tokenization.
        megabytes: Memory limit in MB; no limit if None.
        output: Path next to which intermediate files are written.
        check: Function called with the path of the counts before they are read, if there is a limit.
    """
    if megabytes is None:
        return dict(sorted(count_languages(texts, scheme).items()))
    with scratch_folder(output) as folder:
        path = str(folder / "counts.parquet")
        count_external(texts, scheme, path, MemoryBound(megabytes))
        check(path)
        return read_languages(path)
