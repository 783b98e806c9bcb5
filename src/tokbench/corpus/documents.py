"""Documents, and the sharded Parquet in which a corpus lies on disk."""

import heapq
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from tokbench.inputs.parquet import PIECE, batches, parquet, raw, require, strings

SCHEMA = pa.schema([("document", pa.int64()), ("language", pa.string()), ("text", pa.large_binary())])
READ_BYTES = 1 << 24
"""Text held in memory while shards are read, a share of it for each; a long document comes on top."""


class Document(NamedTuple):
    """One document: its position in the source, its language tag (empty where unknown) and its raw bytes."""

    document: int
    language: str
    text: bytes


def read_shard(path: Path | str, size: int = PIECE) -> Iterator[Document]:
    """Documents of one shard in the order of the file, about ``size`` bytes of text at a time.

    Raises:
        TokbenchError: the shard is missing or not readable; the message names it.
    """
    with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again", in_pieces=True) as file:
        require(file.schema_arrow, document="whole numbers", language="text", text="text")
        yield from chain.from_iterable(map(_documents, batches(file, SCHEMA.names, size)))


def _documents(batch: Any) -> Iterator[Document]:
    numbers, tags, texts = (batch.column(name) for name in SCHEMA.names)
    if numbers.null_count or texts.null_count:
        raise ValueError("a document has no number or no text")
    return map(Document, numbers.to_pylist(), (tag or "" for tag in strings(tags)), raw(texts))  # type: ignore[arg-type]


def read_documents(paths: Sequence[Path | str]) -> Iterator[Document]:
    """Documents of all shards in the order of the source, whatever the number of shards; all are open at once."""
    read = partial(read_shard, size=min(PIECE, READ_BYTES // max(1, len(paths))))
    return heapq.merge(*map(read, paths), key=lambda document: document.document)
