"""External sort of a corpus by shard: each part is partitioned into one file, and shards are written from all of them.

A part is read once, in its own order. Whenever the memory is full, its texts are written in shard order, so the file
consists of sorted runs. A row group contains documents of only one group of shards. A reader of one group reads only
its row groups, and gets the documents of each shard in their original order.

Drawn documents are shuffled: the documents of each place are sorted by number in memory, place after place.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise, starmap
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.corpus.documents import GROUP_BYTES, ContinuationPiece, Document, document_of, noted_rests, rests_in
from tokbench.corpus.limits import language_of
from tokbench.corpus.read import COPIES as COPIES_OF_ROW
from tokbench.corpus.read import holds_rows
from tokbench.corpus.shards import COPIES, LONG, OPEN_BYTES, Tags, open_shards
from tokbench.corpus.shuffle import DOMAIN, ShardAssignment, ShardTotals
from tokbench.corpus.sources import Source
from tokbench.corpus.splits import UNUSED
from tokbench.errors import TokbenchError
from tokbench.io.arrow import array_of, column, ends_of, number_column, truth_column
from tokbench.io.atomic import atomic_file
from tokbench.io.job_record import job_metadata
from tokbench.io.parquet import batches, parquet, raw, strings
from tokbench.runtime.memory_limit import MemoryLimit

SCHEMA = pa.schema(
    [("place", pa.int32()), ("document", pa.int64()), ("language", pa.string()), ("text", pa.large_binary())]
)
ROW = np.dtype([("place", "<i4"), ("document", "<i8"), ("size", "<i8"), ("language", "<i4")])
BYTES_OF_OWN_GROUP = 1 << 22
"""Bytes of a text above which it is written in its own row group."""
PER_DOCUMENT = 100
"""Bytes of memory per document of a shard, for very short documents that wait for a full row group."""
_row = Struct("<iqqi").pack


def partition_part(
    source: Source,
    documents: Iterator[Document],
    places: Path,
    groups: Sequence[range],
    path: Path,
    allowed: MemoryLimit,
) -> None:
    """Write the texts of a part's documents to one Parquet file, sorted by shard in runs. The file is written
    atomically.

    Args:
        source: source with the default language and the renamed tags.
        documents: documents of the part in order, with their original tags.
        places: file with their shards.
        groups: shards that are written together.
        path: output file.
        allowed: memory limit. It determines how often texts are flushed; the shards do not depend on it.

    Raises:
        TokbenchError: the documents differ from those in ``places``.
    """
    assignment = ShardAssignment(places)
    _check_longest(assignment.longest, allowed)
    left = allowed.room - COPIES * assignment.longest - 2 * OPEN_BYTES
    if holds_rows(source):
        left -= COPIES_OF_ROW * assignment.longest_in_pieces
    rows = chain.from_iterable(zip(*(column.tolist() for column in batch), strict=True) for batch in assignment.read())
    with (
        atomic_file(path) as partial,
        pq.ParquetWriter(
            partial,
            SCHEMA,
            compression="zstd",
            compression_level=1,
            use_dictionary=["language"],
            write_statistics=["place"],
            write_page_checksum=True,
        ) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())
        if assignment.domain is not None:
            writer.add_key_value_metadata({DOMAIN.decode(): assignment.domain})
        queue = _Queue(writer, groups, max(GROUP_BYTES, left // 2))
        rests = array("q")

        def write_document(row: tuple[int, int, int], document: Document) -> int:
            number, size, place = row
            if len(document.text) != size:
                raise _changed_source()
            if place != UNUSED:
                if isinstance(document, ContinuationPiece):
                    rests.append(number)
                language = language_of(source, document.language) or assignment.untagged
                queue.add(place, number, language, document.text)
            return 1

        # The source must have exactly the documents whose sizes were read before.
        if sum(map(write_document, rows, documents)) < len(assignment) or next(documents, None) is not None:
            raise _changed_source()
        queue.spill()
        if noted := noted_rests(rests):
            writer.add_key_value_metadata(noted)


def _check_longest(size: int, allowed: MemoryLimit) -> None:
    """Reject a text that does not fit into memory.

    Raises:
        TokbenchError: it does not.
    """
    allowed.require(f"a document of {size:,} bytes", COPIES * size, "cut it into shorter ones (longest_document)")


def _changed_source() -> TokbenchError:
    return TokbenchError("the source changed while it was read; prepare the corpus again")


def write_partitions(
    queues: Sequence[Path], places: range, totals: ShardTotals, paths: Sequence[Path], allowed: MemoryLimit
) -> None:
    """Write shards from the partitions of all parts; their bytes depend only on the documents in them.

    Args:
        queues: files written by :func:`partition_part`, in the order of the parts.
        places: places of the shards to write, numbered over all splits.
        totals: documents and bytes of all places.
        paths: output files, inside one folder that is written atomically.
        allowed: memory limit.

    Raises:
        TokbenchError: a partition is missing or damaged, or its documents differ from those assigned to a shard.
    """
    longest = totals.longest[places.start : places.stop]
    _check_longest(int(longest.max(initial=0)), allowed)
    domains = list(map(_domain_of, queues))
    if domains[0] is not None:
        _write_sorted(dict(zip(queues, domains, strict=True)), places, totals, paths, allowed)
        return
    for batch in batches_of(places, totals, allowed):
        _write_batch(queues, places, batch, totals, paths[batch.start - places.start : batch.stop - places.start])


def batches_of(places: range, totals: ShardTotals, allowed: MemoryLimit) -> list[range]:
    """Split shards into batches that fit into memory, each of at least one shard."""
    longest = int(totals.longest[places.start : places.stop].max(initial=0))
    room = (allowed.room - COPIES * longest - 2 * OPEN_BYTES) // 2
    sizes = totals.bytes + PER_DOCUMENT * totals.documents
    cuts, filled = [places.start], 0
    for place in places:
        filled += int(sizes[place])
        if filled > room and place > cuts[-1]:
            cuts.append(place)
            filled = int(sizes[place])
    return [range(*both) for both in pairwise([*cuts, places.stop])]


def _write_batch(
    queues: Sequence[Path], group: range, batch: range, totals: ShardTotals, paths: Sequence[Path]
) -> None:
    plain = np.flatnonzero(totals.longest[batch.start : batch.stop] > LONG).tolist()
    written = np.zeros((2, len(batch)), np.int64)
    with open_shards(paths, plain) as add:

        def write_document(place: int, document: Document) -> None:
            shard = place - batch.start
            written[:, shard] += 1, len(document.text)
            add(document, shard)

        for queue in queues:
            for _ in starmap(write_document, _read(queue, group, batch)):
                pass
    _check_written(queues, written, np.stack([totals.documents, totals.bytes])[:, batch.start : batch.stop], paths)


def _check_written(
    queues: Sequence[Path], written: NDArray[np.int64], expected: NDArray[np.int64], paths: Sequence[Path]
) -> None:
    """Reject shards that did not get the documents that were assigned to them.

    Args:
        queues: files of the documents, for the message.
        written, expected: documents and bytes of each shard, int64 [2, shards].
        paths: the shards.
    """
    if len(wrong := np.flatnonzero((written != expected).any(axis=0))):
        shard = wrong[0]
        raise TokbenchError(
            f"{queues[0].parent}: the queues contain {written[0, shard]:,} documents of {written[1, shard]:,} bytes "
            f"for {paths[shard].parent.name}/{paths[shard].name}, which gets {expected[0, shard]:,} of "
            f"{expected[1, shard]:,}; delete them and run the workflow again"
        )


def _write_sorted(
    queues: Mapping[Path, str | None],
    places: range,
    totals: ShardTotals,
    paths: Sequence[Path],
    allowed: MemoryLimit,
) -> None:
    """Write shards of shuffled documents, sorted by their numbers; a batch of places fits into memory.

    Args:
        queues: domain of each file of documents; empty for a single source.
        places: places of the shards; each shard has the same number of them.
        totals: documents and bytes of all places.
        paths: output files.
        allowed: memory limit.
    """
    buckets = len(places) // len(paths)
    plain = totals.longest[places.start : places.stop].reshape(-1, buckets).max(axis=1) > LONG

    def read_sorted() -> Iterator[tuple[int, str, Document]]:
        for batch in batches_of(places, totals, allowed):
            rows = [
                (place, domain or "", document)
                for queue, domain in queues.items()
                for place, document in _read(queue, places, batch)
            ]
            # Taken from the end, so that a written document is freed.
            rows.sort(key=lambda row: (row[0], row[2].document), reverse=True)
            while rows:
                yield rows.pop()

    written = np.zeros((2, len(paths)), np.int64)
    by_shard = groupby(read_sorted(), key=lambda row: (row[0] - places.start) // buckets)
    following = next(by_shard, None)
    for shard, path in enumerate(paths):
        with open_shards([path], [0] if plain[shard] else [], with_domain=any(queues.values())) as add:
            if following is None or following[0] != shard:
                continue
            for _, domain, document in following[1]:
                written[:, shard] += 1, len(document.text)
                add(document, domain=domain)
            following = next(by_shard, None)
    sums = np.stack([totals.documents, totals.bytes])[:, places.start : places.stop]
    _check_written(list(queues), written, sums.reshape(2, -1, buckets).sum(axis=2), paths)


def _domain_of(queue: Path) -> str | None:
    """Return the domain of a file's documents, empty for a single source; None if they are not shuffled."""
    with parquet(queue, "the texts of a part", "delete it and run the workflow again") as file:
        about = file.metadata.metadata or {}
        return about[DOMAIN].decode() if DOMAIN in about else None


class _Queue:
    """Documents in memory that are not written to the partition file yet."""

    def __init__(self, writer: pq.ParquetWriter, groups: Sequence[range], limit: int) -> None:
        self._writer = writer
        self._groups = groups
        self._limit = limit
        self._size = 0
        self._tags = Tags()
        self._places: dict[int, tuple[bytearray, bytearray]] = {}

    def add(self, place: int, number: int, language: str, text: bytes) -> None:
        """Add a document."""
        row = _row(place, number, len(text), self._tags.number(language))
        if len(text) >= BYTES_OF_OWN_GROUP:
            self._flush(place)
            self._write(row, text)
            return
        rows, texts = self._places.setdefault(place, (bytearray(), bytearray()))
        rows += row
        texts += text
        self._size += len(row) + len(text)
        if len(rows) + len(texts) >= GROUP_BYTES:
            self._flush(place)
        elif self._size > self._limit:
            self.spill()

    def spill(self) -> None:
        """Write all documents in memory, in the order of the shards."""
        for group in self._groups:
            rows, texts = bytearray(), bytearray()
            for place in group:
                more = self._places.pop(place, None)
                if more is not None:
                    rows += more[0]
                    texts += more[1]
                    if len(rows) + len(texts) >= GROUP_BYTES:
                        self._write(rows, texts)
                        rows, texts = bytearray(), bytearray()
            if rows:
                self._write(rows, texts)
        self._size = 0

    def _flush(self, place: int) -> None:
        """Write the documents of one shard."""
        rows, texts = self._places.pop(place, (b"", b""))
        if rows:
            self._size -= len(rows) + len(texts)
            self._write(rows, texts)

    def _write(self, packed: bytes | bytearray, text: bytes | bytearray) -> None:
        rows = np.frombuffer(packed, ROW)
        columns = [
            number_column(rows["place"]),
            number_column(rows["document"]),
            self._tags.column(rows["language"]),
            column(pa.large_binary(), len(rows), ends_of(rows["size"], np.int64), text),
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))


def _read(path: Path, group: range, batch: range) -> Iterator[tuple[int, Document]]:
    """Places and documents of a part whose places are in a batch; no row group has places of two groups."""

    def rows(columns: Any) -> Iterator[tuple[int, Document]]:
        if any(column.null_count for column in columns.columns):
            raise ValueError("a cell is empty")
        places = array_of(columns.column(0))
        if ((places < group.start) | (places >= group.stop)).any():
            raise ValueError("places of two groups of shards in one row group")
        selected = (places >= batch.start) & (places < batch.stop)
        if not selected.all():
            columns = columns.filter(truth_column(selected))
        _, numbers, tags, texts = columns
        documents = map(make, numbers.to_pylist(), strings(tags), raw(texts))  # type: ignore[arg-type]
        return zip(places[selected].tolist(), documents, strict=True)

    with parquet(path, "the texts of a part", "delete it and run the workflow again", in_pieces=True) as file:
        if not file.schema_arrow.equals(SCHEMA):
            raise ValueError("other columns than the texts of a part have")
        make = document_of(rests_in(file))
        groups = [number for number in range(file.num_row_groups) if _overlaps(file.metadata.row_group(number), batch)]
        yield from chain.from_iterable(map(rows, batches(file, SCHEMA.names, groups=groups)))


def _overlaps(about: Any, batch: range) -> bool:
    statistics = about.column(0).statistics
    if statistics is None or not statistics.has_min_max:
        raise ValueError("a row group has no statistics of its places")
    return bool(statistics.min < batch.stop and batch.start <= statistics.max)
