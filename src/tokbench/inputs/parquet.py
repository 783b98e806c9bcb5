"""Parquet from outside: whatever Arrow finds wrong with a file is told in one line, and checksums are verified."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.errors import TokbenchError
from tokbench.inputs.compression import HEAD, compression_of
from tokbench.inputs.files import first_line
from tokbench.inputs.parquet_pages import ends_of_pages
from tokbench.inputs.paths import literal

TEXT_TYPES = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
"""Parquet's types of text."""


MAGIC = b"PAR1"
"""How a Parquet file begins and ends."""
PIECE = 1 << 20
"""Bytes that are read of a file at a time where it is read in pieces."""
ROWS = 256
"""Rows that are read at a time at most."""


@contextmanager
def parquet(path: Path | str, what: str, remedy: str, *, in_pieces: bool = False) -> Iterator[pq.ParquetFile]:
    """An open Parquet file, read within the block; pages that have a checksum are held against it.

    Read it by :func:`batches`, :func:`pieces` or :func:`whole`. Where a page's head is damaged Arrow may take the page
    for none of a table's and find no rows, without a word; and a thread of Arrow's that finds no memory for itself ends
    the process.

    Args:
        path: the file.
        what: what it should be, for messages: ``readable as Parquet``.
        remedy: what to do where it is not.
        in_pieces: read columns a piece at a time and not as wholes.

    Raises:
        TokbenchError: the file is missing or damaged, or a value in it is none of its type.
    """
    try:
        _reject_compressed(path)
        with pq.ParquetFile(literal(path), page_checksum_verification=True, buffer_size=PIECE * in_pieces) as file:
            _require_whole(Path(path), file.metadata, pages=in_pieces)
            yield file
    except UnicodeEncodeError:
        raise  # Arrow takes no name that is not UTF-8; the file may be whole.
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, OverflowError) as error:
        raise TokbenchError(f"{path}: not {what} ({first_line(error)}); {remedy}") from None


def _reject_compressed(path: Path | str) -> None:
    """Reject a compressed file.

    Raises:
        TokbenchError: it is one; Parquet is compressed inside.
    """
    with Path(path).open("rb") as file:
        if compression := compression_of(file.read(HEAD)):
            raise TokbenchError(f"{path}: compressed by {compression}, and Parquet is read as it is; decompress it")


def column_names(path: Path | str) -> list[str]:
    """Return the columns of a Parquet file; none where it cannot be read, which what reads it says."""
    try:
        names: list[str] = pq.read_schema(literal(path)).names
    except (OSError, pa.ArrowException, UnicodeEncodeError):
        return []
    return names


def batches(
    file: pq.ParquetFile, columns: list[str], size: int = PIECE, groups: Iterable[int] | None = None
) -> Iterator[pa.RecordBatch]:
    """All rows of a file, or of some of its row groups, in its order, a few at a time.

    No batch has rows of two row groups. Arrow's own batches have: 256 documents that are in a row group each, because
    they are long, would be held at once.

    Args:
        file: the file.
        columns: names of the columns that are read.
        size: about as many bytes go into a batch, by what the file says of its row groups; a row more than that is a
            batch by itself.
        groups: numbers of the row groups that are read; all where left out.
    """
    for group in range(file.num_row_groups) if groups is None else groups:
        about = file.metadata.row_group(group)
        rows = max(1, min(ROWS, size * about.num_rows // max(1, about.total_byte_size)))
        found = file.iter_batches(batch_size=rows, row_groups=[group], columns=columns, use_threads=False)
        yield from AllRows(found, about)


def pieces(file: pq.ParquetFile, columns: list[str], rows: int, group: int | None = None) -> Iterator[pa.RecordBatch]:
    """All rows of a file, or of one of its row groups, in its order, so many at a time at most."""
    if group is None:
        return AllRows(file.iter_batches(rows, columns=columns, use_threads=False), file.metadata)
    found = file.iter_batches(rows, row_groups=[group], columns=columns, use_threads=False)
    return AllRows(found, file.metadata.row_group(group))


def whole(file: pq.ParquetFile, columns: list[str] | None = None) -> pa.Table:
    """All rows of a file at once."""
    found = file.read(columns=columns, use_threads=False)
    _require_rows(found.num_rows, file.metadata)
    return found


class AllRows(Iterator[pa.RecordBatch]):
    """Batches, and an error where they end before the rows do.

    No generator: one that is left where memory has ended needs some to be closed, and complains.
    """

    def __init__(self, found: Iterator[pa.RecordBatch], about: pq.FileMetaData | pq.RowGroupMetaData) -> None:
        self._found = found
        self._about = about
        self._rows = 0

    def __next__(self) -> pa.RecordBatch:
        try:
            batch = next(self._found)
        except StopIteration:
            _require_rows(self._rows, self._about)
            raise
        self._rows += batch.num_rows
        return batch


def _require_rows(found: int, about: pq.FileMetaData | pq.RowGroupMetaData) -> None:
    if found != about.num_rows:
        raise ValueError(f"{found} rows where it says {about.num_rows}")


def _require_whole(path: Path, about: pq.FileMetaData, *, pages: bool) -> None:
    """Reject a file from whose beginning or middle something was lost: its end alone tells where everything stands.

    With ``pages``, one with a page that is longer than the file, too: read in pieces, Arrow would take memory for it.
    """
    groups = map(about.row_group, range(about.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(about.num_columns))
    chunks = [(_start(column), _start(column) + column.total_compressed_size) for column in columns]
    footer = path.stat().st_size - about.serialized_size - 8
    with path.open("rb") as file:
        ends = chain(
            (end for _, end in chunks),
            chain.from_iterable(ends_of_pages(file, start, end) for start, end in chunks if pages and start >= 0),
        )
        if file.read(len(MAGIC)) != MAGIC or any(end > footer for end in ends):
            raise ValueError("its parts do not stand where it says")


def _start(chunk: pq.ColumnChunkMetaData) -> int:
    pages = (chunk.dictionary_page_offset, chunk.data_page_offset)
    return min(page for page in pages if page is not None)


def require(schema: pa.Schema, **columns: str) -> None:
    """Reject a table whose columns are of other types.

    Args:
        schema: of the table.
        columns: the kind of each column, ``text`` or ``whole numbers``.

    Raises:
        ValueError: a column is missing or of another type; within :func:`parquet` that becomes a rejection of the file.
    """
    for name, kind in columns.items():
        if schema.names.count(name) != 1:
            raise ValueError(f"no column '{name}', or several")
        found = schema.field(name).type
        if not (is_text(found) if kind == "text" else pa.types.is_integer(found)):
            raise ValueError(f"column '{name}' holds {found}, not {kind}")


def is_text(kind: pa.DataType) -> bool:
    """Whether a type of Arrow's is one of text, spelt out or by a dictionary."""
    return (kind.value_type if pa.types.is_dictionary(kind) else kind) in TEXT_TYPES


def raw(column: Any) -> list[bytes | None]:
    """The cells of a column of text as their bytes, None where a cell is empty."""
    spelt = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    cells: list[bytes | None] = spelt.cast(pa.large_binary()).to_pylist()
    return cells


def views(column: Any) -> Iterator[bytes | memoryview | None]:
    """As :func:`raw`, one at a time and not copied from where they lie."""
    spelt = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    cells = spelt.cast(pa.large_binary())
    _, ends, text = cells.buffers()
    bounds = memoryview(ends).cast("B").cast("q")[cells.offset : cells.offset + len(cells) + 1]
    whole = memoryview(text or b"").cast("B")
    valid = cells.is_valid().to_pylist()
    return (whole[bounds[row] : bounds[row + 1]] if valid[row] else None for row in range(len(cells)))


def strings(column: Any) -> list[str | None]:
    """The cells of a column of text as strings, None where a cell is empty.

    Raises:
        ValueError: a cell is not UTF-8.
    """
    return [None if cell is None else cell.decode() for cell in raw(column)]
