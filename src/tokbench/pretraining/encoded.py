"""A corpus as tokens: documents encoded in pieces, and the files that hold the pieces of a shard until they are packed.

The shards of a large corpus are encoded by jobs of their own, side by side. Each file holds its documents in the order
in which models read them, and packing merges the files, so that what it writes does not depend on who encoded what.
"""

import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.atomic import atomic_file
from tokbench.corpus.documents import READ_BYTES, Document
from tokbench.inputs.parquet import PIECE, batches, parquet

ENCODE_BYTES = 8 << 20
"""Text encoded at a time: short documents together, long ones in pieces where the tokenizer can cut them."""
COPIES = 8
"""Bytes held for each of a document that cannot be cut: four of its text, as it is read, and four of its ids."""
GROUP_IDS = 1 << 18
"""Ids with which a row group is full. Whoever reads many files holds one of each."""
TOKENS = "a shard's tokens", "make it with 'tokbench encode_shard'"
SCHEMA = pa.schema(
    [("document", pa.int64()), ("ends", pa.bool_()), ("text_bytes", pa.int64()), ("ids", pa.large_list(pa.int32()))]
)


class Encoder(Protocol):
    """What encoding asks of a tokenizer."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]: ...

    def last_cut(self, text: bytes) -> int: ...


class Encoded(NamedTuple):
    """A document's tokens, or those of a piece of it.

    Attributes:
        document: its position in the source.
        ends: whether the document ends with it.
        text_bytes: bytes of its text.
        ids: int32 [tokens].
    """

    document: int
    ends: bool
    text_bytes: int
    ids: NDArray[np.int32]


def encoded(tokenizer: Encoder, documents: Iterable[Document]) -> Iterator[Encoded]:
    """Documents as tokens, in their order; a long one in pieces whose ids together are those of the whole."""
    for group in _groups(chain.from_iterable(_pieces(document, tokenizer) for document in documents)):
        ids = tokenizer.encode_batch([text for _, _, text in group])
        for (document, ends, text), found in zip(group, ids, strict=True):
            yield Encoded(document, ends, len(text), found)


def write_encoded(pieces: Iterable[Encoded], path: Path) -> None:
    """Write pieces as Parquet, whole or not at all: a row each, with the columns of :class:`Encoded`."""
    with (
        atomic_file(path) as partial,
        pq.ParquetWriter(
            partial, SCHEMA, compression="zstd", use_dictionary=False, write_statistics=False, write_page_checksum=True
        ) as writer,
    ):
        held: list[Encoded] = []
        size = 0
        for piece in pieces:
            held.append(piece)
            size += 1 + len(piece.ids)
            if size >= GROUP_IDS:
                writer.write_batch(_batch(held))
                held, size = [], 0
        if held:
            writer.write_batch(_batch(held))


def read_encoded(paths: Sequence[Path | str], place: Callable[[int], int]) -> Iterator[Encoded]:
    """Pieces of all files in one order; all files are open at once, with a row group of each in memory.

    Args:
        paths: files in which the documents stand in that order already.
        place: a document's place in it.

    Raises:
        TokbenchError: a file is missing or is none that :func:`write_encoded` wrote; the message names it.
    """
    size = min(PIECE, READ_BYTES // max(1, len(paths)))
    return heapq.merge(*(_read(path, size) for path in paths), key=lambda piece: place(piece.document))


def text_bytes_of(paths: Sequence[Path | str], counted: Callable[[int], bool] | None = None) -> int:
    """Bytes of the text of all files.

    Args:
        paths: the files.
        counted: whether a document counts; where this is left out, all do.

    Raises:
        TokbenchError: a file is missing or is none that :func:`write_encoded` wrote; the message names it.
    """
    total = 0
    for path in paths:
        with parquet(path, *TOKENS, in_pieces=True) as file:
            _require_ours(file)
            for batch in batches(file, ["document", "text_bytes"], PIECE):
                rows = zip(*(column.to_pylist() for column in batch.columns), strict=True)
                total += sum(size for document, size in rows if counted is None or counted(document))
    return total


def is_encoded(path: Path | str) -> bool:
    """Whether a file holds tokens rather than text.

    Raises:
        TokbenchError: it is missing or not readable as Parquet.
    """
    with parquet(path, "readable as Parquet", "make it again") as file:
        return "ids" in file.schema_arrow.names


def _read(path: Path | str, size: int) -> Iterator[Encoded]:
    with parquet(path, *TOKENS, in_pieces=True) as file:
        _require_ours(file)
        yield from chain.from_iterable(map(_rows, batches(file, SCHEMA.names, size)))


def _require_ours(file: Any) -> None:
    if not file.schema_arrow.equals(SCHEMA):
        raise ValueError("other columns than a shard's tokens have")


def _rows(batch: Any) -> Iterator[Encoded]:
    document, ends, text_bytes, ids = (batch.column(name) for name in SCHEMA.names)
    if any(column.null_count for column in (document, ends, text_bytes, ids, ids.values)):
        raise ValueError("a cell is empty")
    numbers = [column.to_pylist() for column in (document, ends, text_bytes)]
    return map(Encoded, *numbers, (row.values.to_numpy() for row in ids))


def _batch(pieces: Sequence[Encoded]) -> pa.RecordBatch:
    bounds = np.concatenate([[0], np.cumsum([len(piece.ids) for piece in pieces])])
    ids = np.concatenate([piece.ids for piece in pieces])
    lists = pa.LargeListArray.from_arrays(pa.array(bounds, pa.int64()), pa.array(ids, pa.int32()))
    rest = [pa.array([piece[column] for piece in pieces], SCHEMA.field(column).type) for column in range(3)]
    return pa.record_batch([*rest, lists], SCHEMA)


def _pieces(document: Document, tokenizer: Encoder) -> Iterator[tuple[int, bool, bytes]]:
    """A document's text in pieces, each with the document's number and whether it is the last."""
    start, text = 0, document.text
    if len(text) > ENCODE_BYTES:
        for first in range(0, len(text), ENCODE_BYTES):
            if cut := tokenizer.last_cut(text[first : first + ENCODE_BYTES]):
                yield document.document, False, text[start : first + cut]
                start = first + cut
    yield document.document, True, text[start:]


def _groups(pieces: Iterable[tuple[int, bool, bytes]]) -> Iterator[list[tuple[int, bool, bytes]]]:
    group: list[tuple[int, bool, bytes]] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece[2])
        if size >= ENCODE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group
