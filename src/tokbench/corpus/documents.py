"""Documents, and the sharded Parquet in which a corpus lies on disk."""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.inputs.parquet import PIECE, batches, column_names, parquet, raw, require, strings

SCHEMA = pa.schema([("document", pa.int64()), ("language", pa.string()), ("text", pa.large_binary())])
RESTS = b"tokbench.rests"
"""Key of a Parquet file's metadata: numbers of the rows that are further pieces of the document before."""
GROUP_BYTES = 8_000_000
"""Text with which a row group is full; the document that fills it is in it whole."""
READ_BYTES = 1 << 24
"""Text held in memory while shards are read, a share of it for each; a long document comes on top."""


class Document(NamedTuple):
    """One document: its position in the source, its language tag (empty where unknown) and its raw bytes."""

    document: int
    language: str
    text: bytes


class Rest(Document):
    """A further piece of the document before it, which was too long.

    In a shard it is a row like others, and the file's metadata has the numbers of these rows, see :func:`noted_rests`.
    """

    __slots__ = ()


def noted_rests(numbers: Iterable[int]) -> dict[str, str]:
    """Return the entry of a Parquet file's metadata with the numbers of its further pieces; empty without any."""
    noted = ",".join(map(str, numbers))
    return {RESTS.decode(): noted} if noted else {}


def rests_in(file: pq.ParquetFile) -> frozenset[int]:
    """Return the numbers of a file's further pieces.

    Raises:
        ValueError: the entry of the metadata is not a list of numbers.
    """
    noted = (file.metadata.metadata or {}).get(RESTS, b"")
    return frozenset(map(int, noted.split(b","))) if noted else frozenset()


def read_shard(path: Path | str, size: int = PIECE) -> Iterator[Document]:
    """Documents of one shard in the order of the file, about ``size`` bytes of text at a time.

    Raises:
        TokbenchError: the shard is missing or not readable; the message names it.
    """
    with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again", in_pieces=True) as file:
        require(file.schema_arrow, document="whole numbers", language="text", text="text")
        read = partial(_documents, rests=rests_in(file))
        yield from chain.from_iterable(map(read, batches(file, SCHEMA.names, size)))


def _documents(batch: Any, rests: frozenset[int]) -> Iterator[Document]:
    numbers, tags, texts = (batch.column(name) for name in SCHEMA.names)
    if numbers.null_count or texts.null_count:
        raise ValueError("a document has no number or no text")
    return map(document_of(rests), numbers.to_pylist(), (tag or "" for tag in strings(tags)), raw(texts))  # type: ignore[arg-type]


def document_of(rests: frozenset[int]) -> Callable[[int, str, bytes], Document]:
    """Return what makes a :class:`Document` of a row, or a :class:`Rest` where its number is among these."""

    def made(number: int, language: str, text: bytes) -> Document:
        return (Rest if number in rests else Document)(number, language, text)

    return made if rests else Document


def is_shard(path: Path | str) -> bool:
    """Whether a file is a shard of a corpus, as far as its columns tell; what cannot be read is none."""
    return column_names(path) == SCHEMA.names


def read_documents(paths: Sequence[Path | str]) -> Iterator[Document]:
    """Documents of all shards in the order of the source, whatever the number of shards; all are open at once.

    About 10 MB are held for each shard, and beside them the longest documents.

    Raises:
        TokbenchError: see :func:`read_shard`.
    """
    read = partial(read_shard, size=min(PIECE, READ_BYTES // max(1, len(paths))))
    return heapq.merge(*map(read, paths), key=lambda document: document.document)
