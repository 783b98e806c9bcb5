"""Documents, and the sharded Parquet in which a corpus lies on disk."""

import heapq
import itertools
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.atomic import atomic_file
from tokbench.inputs.parquet import parquet, raw, require, strings

SCHEMA = pa.schema([("document", pa.int64()), ("language", pa.string()), ("text", pa.large_binary())])
BATCH_BYTES = 8_000_000
"""Text held in memory while a shard is written or read."""


class Document(NamedTuple):
    """One document: its position in the source, its language tag (empty where unknown) and its raw bytes."""

    document: int
    language: str
    text: bytes


@contextmanager
def shard_writers(paths: Sequence[Path | str]) -> Iterator[Callable[[Document], None]]:
    """A function that deals documents out to shards, the k-th document to shard k modulo their number.

    Shards appear when the block ends well, each whole or not at all; equal documents give equal files.
    """
    with ExitStack() as stack:
        shards = [_Shard(stack.enter_context(atomic_file(path))) for path in paths]
        for shard in shards:
            stack.callback(shard.writer.close)
        dealt = itertools.count()
        yield lambda document: shards[next(dealt) % len(shards)].add(document)
        for shard in shards:
            shard.flush()


class _Shard:
    def __init__(self, path: Path) -> None:
        self.writer = pq.ParquetWriter(path, SCHEMA, compression="zstd", write_page_checksum=True)
        self.rows: list[Document] = []
        self.size = 0

    def add(self, document: Document) -> None:
        self.rows.append(document)
        self.size += len(document.text)
        if self.size >= BATCH_BYTES:
            self.flush()

    def flush(self) -> None:
        columns = list(zip(*self.rows, strict=True)) or [(), (), ()]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
        self.writer.write_batch(pa.record_batch(arrays, schema=SCHEMA))
        self.rows.clear()
        self.size = 0


def read_shard(path: Path | str) -> Iterator[Document]:
    """Documents of one shard in the order of the file, a row group at a time.

    Raises:
        TokbenchError: the shard is missing or not readable; the message names it.
    """
    with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again") as file:
        require(file.schema_arrow, document="whole numbers", language="text", text="text")
        for batch in file.iter_batches(batch_size=256, columns=SCHEMA.names, use_threads=False):
            numbers, tags, texts = (batch.column(name) for name in SCHEMA.names)
            if numbers.null_count or texts.null_count:
                raise ValueError("a document has no number or no text")
            yield from map(Document, numbers.to_pylist(), (tag or "" for tag in strings(tags)), raw(texts))  # type: ignore[arg-type]


def read_documents(paths: Sequence[Path | str]) -> Iterator[Document]:
    """Documents of all shards in the order of the source, whatever the number of shards."""
    return heapq.merge(*map(read_shard, paths), key=lambda document: document.document)
