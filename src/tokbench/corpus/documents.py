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
from tokbench.registry import TokbenchError

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
        self.writer = pq.ParquetWriter(path, SCHEMA, compression="zstd")
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
    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(batch_size=256, columns=SCHEMA.names):
                columns = [batch.column(name).to_pylist() for name in SCHEMA.names]
                yield from map(Document, *columns)
    except (OSError, pa.ArrowException, KeyError) as error:
        reason = str(error).partition("\n")[0]
        raise TokbenchError(
            f"{path}: not a readable corpus shard ({reason}); delete its corpus and prepare it again"
        ) from None


def read_documents(paths: Sequence[Path | str]) -> Iterator[Document]:
    """Documents of all shards in the order of the source, whatever the number of shards."""
    return heapq.merge(*map(read_shard, paths), key=lambda document: document.document)
