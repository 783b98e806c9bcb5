"""The texts of a part on their way to their shards: one file for each part, in which what is written together lies
together.

A part is read once, in its own order. What is held in memory is written out whenever it is full, in the order of the
places, so that the file is a row of sorted runs. No row group has documents of two groups of shards; who writes one
group reads the row groups that are its, and of each place it meets the documents in their order.
"""

from array import array
from collections.abc import Iterator, Sequence
from itertools import chain, starmap
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.allowance import Allowance
from tokbench.atomic import atomic_file
from tokbench.corpus.documents import GROUP_BYTES, Document, Rest, document_of, noted_rests, rests_in
from tokbench.corpus.limits import language_of
from tokbench.corpus.parquet_rows import COPIES as COPIES_OF_ROW
from tokbench.corpus.places import Places, Shards
from tokbench.corpus.prepare import PER_DOCUMENT, changed
from tokbench.corpus.read import holds_rows
from tokbench.corpus.shards import COPIES, LONG, OPEN_BYTES, Tags, column, ends_of, written_shards
from tokbench.corpus.sources import Source
from tokbench.corpus.splits import UNUSED
from tokbench.errors import TokbenchError
from tokbench.inputs.parquet import batches, parquet, raw, strings

SCHEMA = pa.schema(
    [("place", pa.int32()), ("document", pa.int64()), ("language", pa.string()), ("text", pa.large_binary())]
)
ROW = np.dtype([("place", "<i4"), ("document", "<i8"), ("size", "<i8"), ("language", "<i4")])
ALONE = 1 << 22
"""Bytes of a text that is written by itself."""
_row = Struct("<iqqi").pack


def deal_part(
    source: Source, documents: Iterator[Document], places: Path, groups: Sequence[range], path: Path, allowed: Allowance
) -> None:
    """Write the texts of a part's documents by their places, as Parquet, whole or not at all.

    Args:
        source: tells the language of what carries none, and what tags are renamed to.
        documents: the part's, in their order, with the tags that they carry.
        places: file of their places.
        groups: the shards that are written together.
        path: the file.
        allowed: memory. How often what is held is written out depends on it, no shard does.

    Raises:
        TokbenchError: the documents are not those whose places are told.
    """
    told = Places(places)
    left = allowed.room - COPIES * told.longest - 2 * OPEN_BYTES
    if holds_rows(source):
        left -= COPIES_OF_ROW * told.longest_whole
    rows = chain.from_iterable(zip(*(one.tolist() for one in some), strict=True) for some in told.read())
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
        queue = _Queue(writer, groups, max(GROUP_BYTES, left // 2))
        rests = array("q")

        def put(row: tuple[int, int, int], document: Document) -> int:
            number, size, place = row
            if len(document.text) != size:
                raise changed()
            if place != UNUSED:
                if isinstance(document, Rest):
                    rests.append(number)
                queue.add(place, number, language_of(source, document.language) or told.untagged, document.text)
            return 1

        if sum(map(put, rows, documents)) < len(told) or next(documents, None) is not None:
            raise changed()
        queue.spill()
        if noted := noted_rests(rests):
            writer.add_key_value_metadata(noted)


def write_queued(
    queues: Sequence[Path], places: range, gets: Shards, paths: Sequence[Path], allowed: Allowance
) -> None:
    """Write shards from the queues of all parts; their bytes depend on nothing but the documents in them.

    Args:
        queues: what :func:`deal_part` wrote, in the order of the parts.
        places: the shards, numbered over all splits.
        gets: what all shards get.
        paths: their files, in folders of one folder that appears as a whole.
        allowed: memory.

    Raises:
        TokbenchError: a queue is missing or damaged, or a shard does not get what it should.
    """
    longest = gets.longest[places.start : places.stop]
    most = int(longest.max(initial=0))
    allowed.largest(COPIES).check(f"{queues[0].parent}", most)
    found = np.zeros((2, len(places)), np.int64)
    rows = PER_DOCUMENT * int(gets.documents[places.start : places.stop].sum())
    left = allowed.room - min(rows, allowed.room // 2)
    with written_shards(paths, most, np.flatnonzero(longest > LONG).tolist(), left) as add:

        def put(place: int, document: Document) -> None:
            shard = place - places.start
            found[:, shard] += 1, len(document.text)
            add(document, shard)

        for queue in queues:
            for _ in starmap(put, _read(queue, places)):
                pass
    wanted = np.stack([gets.documents, gets.bytes])[:, places.start : places.stop]
    if len(wrong := np.flatnonzero((found != wanted).any(axis=0))):
        shard = wrong[0]
        raise TokbenchError(
            f"{queues[0].parent}: the queues hold {found[0, shard]:,} documents of {found[1, shard]:,} bytes for "
            f"{paths[shard].parent.name}/{paths[shard].name}, which gets {wanted[0, shard]:,} of "
            f"{wanted[1, shard]:,}; delete them and run the workflow again"
        )


class _Queue:
    """Documents that wait for being written to the file of their part."""

    def __init__(self, writer: pq.ParquetWriter, groups: Sequence[range], held: int) -> None:
        self._writer = writer
        self._groups = groups
        self._held = held
        self._waiting = 0
        self._tags = Tags()
        self._places: dict[int, tuple[bytearray, bytearray]] = {}

    def add(self, place: int, number: int, language: str, text: bytes) -> None:
        """Take a document."""
        row = _row(place, number, len(text), self._tags.number(language))
        if len(text) >= ALONE:
            self._flush(place)
            self._write(row, text)
            return
        rows, texts = self._places.setdefault(place, (bytearray(), bytearray()))
        rows += row
        texts += text
        self._waiting += len(row) + len(text)
        if len(rows) + len(texts) >= GROUP_BYTES:
            self._flush(place)
        elif self._waiting > self._held:
            self.spill()

    def spill(self) -> None:
        """Write all that is held, in the order of the places."""
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
        self._waiting = 0

    def _flush(self, place: int) -> None:
        """Write what is held for one place."""
        rows, texts = self._places.pop(place, (b"", b""))
        if rows:
            self._waiting -= len(rows) + len(texts)
            self._write(rows, texts)

    def _write(self, packed: bytes | bytearray, text: bytes | bytearray) -> None:
        rows = np.frombuffer(packed, ROW)
        columns = [
            column(pa.int32(), len(rows), np.ascontiguousarray(rows["place"])),
            column(pa.int64(), len(rows), np.ascontiguousarray(rows["document"])),
            self._tags.column(rows["language"]),
            column(pa.large_binary(), len(rows), ends_of(rows["size"], np.int64), text),
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))


def _read(path: Path, places: range) -> Iterator[tuple[int, Document]]:
    """Places and documents of a part, as far as their places are among these."""

    def rows(batch: Any) -> Iterator[tuple[int, Document]]:
        if any(column.null_count for column in batch.columns):
            raise ValueError("a cell is empty")
        told, numbers, tags, texts = batch.columns
        if not set(told.to_pylist()) <= set(places):
            raise ValueError("places of two groups of shards in one row group")
        documents = map(made, numbers.to_pylist(), strings(tags), raw(texts))  # type: ignore[arg-type]
        return map(_place, documents, told.to_pylist())

    with parquet(path, "the texts of a part", "delete it and run the workflow again", in_pieces=True) as file:
        if not file.schema_arrow.equals(SCHEMA):
            raise ValueError("other columns than the texts of a part have")
        made = document_of(rests_in(file))
        own = [group for group in range(file.num_row_groups) if _least(file.metadata.row_group(group)) in places]
        yield from chain.from_iterable(map(rows, batches(file, SCHEMA.names, groups=own)))


def _place(document: Document, place: int) -> tuple[int, Document]:
    return place, document


def _least(about: Any) -> int:
    statistics = about.column(0).statistics
    if statistics is None or not statistics.has_min_max:
        raise ValueError("a row group does not tell its places")
    return int(statistics.min)
