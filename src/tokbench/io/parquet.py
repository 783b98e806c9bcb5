"""Reader of Parquet files: checksums verified by Arrow, rows read in batches, one-line errors with the file name.

Also the paths of fields in nested objects and structures.
"""

from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokbench.errors import TokbenchError
from tokbench.io.compression import HEAD, compression_of
from tokbench.io.paths import literal
from tokbench.io.text_files import first_line

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

CHECKSUM = "tokbench.sha256"
"""Key in the metadata of a file: the checksum of its rows."""
PIECE = 1 << 20
"""Bytes of a batch, and of a read within a column."""
ROWS = 256
"""Maximum rows of a batch."""


@contextmanager
def parquet(path: Path | str, what: str, remedy: str, *, in_pieces: bool = False) -> "Iterator[pq.ParquetFile]":
    """Return a context with an open Parquet file; errors within the block become one line. Checksums of pages are
    verified.

    Read it with :func:`batches`, :func:`pieces` or :func:`whole`. These count rows, because Arrow silently skips pages
    with a damaged header. They also avoid threads of Arrow, which end the process if there is no memory for a thread.

    Args:
        path: The file.
        what: The expected content, for messages: ``readable as Parquet``.
        remedy: The remedy, for messages.
        in_pieces: Read columns in pieces of 1 MiB (default: at once).

    Raises:
        TokbenchError: The file is missing, compressed or damaged, or a value is not of its type.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with Path(path).open("rb") as head:
            if compression := compression_of(head.read(HEAD)):
                raise TokbenchError(f"{path}: Parquet that is compressed by {compression}; decompress it")
        # Arrow fetches columns in advance by threads.
        options = {"page_checksum_verification": True, "buffer_size": PIECE * in_pieces, "pre_buffer": False}
        with pq.ParquetFile(literal(path), **options) as file:
            yield file
    except UnicodeEncodeError:
        raise  # Arrow rejects file names that are not UTF-8; the file may be valid.
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError, OverflowError) as error:
        raise TokbenchError(f"{path}: not {what} ({first_line(error)}); {remedy}") from None


def column_names(path: Path | str) -> list[str]:
    """Return the columns of a Parquet file; empty if it cannot be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        names: list[str] = pq.read_schema(literal(path)).names
    except (OSError, pa.ArrowException, UnicodeEncodeError):
        return []
    return names


def batches(
    file: "pq.ParquetFile", columns: list[str], size: int = PIECE, groups: Iterable[int] | None = None
) -> "Iterator[pa.RecordBatch]":
    """Yield the rows of a file in batches of at most 256 rows; no batch spans two row groups.

    Args:
        file: The file.
        columns: Names of the columns.
        size: Bytes of a batch, estimated from the size of its row group (default: 1 MiB); at least one row.
        groups: Numbers of the row groups (default: all).
    """
    for group in range(file.num_row_groups) if groups is None else groups:
        about = file.metadata.row_group(group)
        rows = max(1, min(ROWS, size * about.num_rows // max(1, about.total_byte_size)))
        yield from pieces(file, columns, rows, group)


def pieces(
    file: "pq.ParquetFile", columns: list[str], rows: int, group: int | None = None
) -> "Iterator[pa.RecordBatch]":
    """Return batches of at most ``rows`` rows of a file or of one of its row groups, in order."""
    groups = range(file.num_row_groups) if group is None else [group]
    group_batches = file.iter_batches(rows, row_groups=groups, columns=columns, use_threads=False)
    return AllRows(group_batches, sum(file.metadata.row_group(number).num_rows for number in groups))


def read_rows(file: "pq.ParquetFile", columns: list[str] | None = None) -> "pa.Table":
    """Return all rows of a file."""
    table = file.read(columns=columns, use_threads=False)
    _check_rows(table.num_rows, file.metadata.num_rows)
    return table


class AllRows(Iterator["pa.RecordBatch"]):
    """Iterator of batches that raises an error if rows are missing. It keeps no reference to a batch.

    At its end PyArrow gives the memory that it keeps for later back to the system, because limits of memory count it.
    """

    def __init__(self, batches: "Iterator[pa.RecordBatch]", expected: int) -> None:
        self._batches, self._expected, self._rows = batches, expected, 0

    def __next__(self) -> "pa.RecordBatch":
        try:
            batch = next(self._batches)
        except StopIteration:
            import pyarrow as pa

            pa.default_memory_pool().release_unused()
            _check_rows(self._rows, self._expected)
            raise
        self._rows += batch.num_rows
        return batch


def _check_rows(rows: int, expected: int) -> None:
    if rows != expected:
        raise ValueError(f"{rows} rows instead of {expected}")


def require(schema: "pa.Schema", **columns: str) -> None:
    """Check the types of a table's columns.

    Args:
        schema: The table's schema.
        columns: The kind of each column, ``text`` or ``whole numbers``.

    Raises:
        ValueError: A column is missing or of another type; :func:`parquet` converts it to an error with the file's
            name.
    """
    import pyarrow as pa

    for name, kind in columns.items():
        if schema.names.count(name) != 1:
            raise ValueError(f"no column '{name}', or several")
        actual = schema.field(name).type
        if not (is_text(actual) if kind == "text" else pa.types.is_integer(actual)):
            raise ValueError(f"column '{name}' has type {actual}, not {kind}")


def is_text(kind: "pa.DataType") -> bool:
    """Return whether an Arrow type is text, plain or dictionary-encoded."""
    import pyarrow as pa

    return (kind.value_type if pa.types.is_dictionary(kind) else kind) in (
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.binary(),
        pa.large_binary(),
        pa.binary_view(),
    )


def raw(column: Any) -> list[bytes | None]:
    """Return the cells of a text column as bytes, None for empty cells."""
    cells: list[bytes | None] = _binary(column).to_pylist()
    return cells


def views(column: Any) -> Iterator[bytes | memoryview | None]:
    """Return the cells of a text column as views of its buffer, None for empty cells."""
    cells = _binary(column)
    _, ends, text = cells.buffers()
    bounds = memoryview(ends).cast("B").cast("q")[cells.offset : cells.offset + len(cells) + 1]
    buffer = memoryview(text or b"").cast("B")
    valid = cells.is_valid().to_pylist()
    return (buffer[bounds[row] : bounds[row + 1]] if valid[row] else None for row in range(len(cells)))


def strings(column: Any) -> list[str | None]:
    """Return the cells of a text column as strings, None for empty cells.

    Raises:
        ValueError: A cell is not UTF-8.
    """
    return [None if cell is None else cell.decode() for cell in raw(column)]


def _binary(column: Any) -> Any:
    import pyarrow as pa

    plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    return plain.cast(pa.large_binary())


def steps_of(field: str, names: Container[str]) -> list[str]:
    """Return the keys that lead to a field: the name itself if it is a key, otherwise its parts between dots."""
    return [field] if field in names else field.split(".")


def type_of(schema: "pa.Schema", steps: Sequence[str]) -> "pa.DataType | None":
    """Return the type of a column or of a field of a structure; None if it is missing."""
    import pyarrow as pa

    if steps[0] not in schema.names:
        return None
    kind = schema.field(steps[0]).type
    for step in steps[1:]:
        if not pa.types.is_struct(kind) or kind.get_field_index(step) < 0:
            return None
        kind = kind.field(step).type
    return kind


def column_of(batch: "pa.RecordBatch", steps: Sequence[str]) -> Any:
    """Return a column, or a field of a structure; it has empty cells where the structure is empty."""
    column = batch.column(steps[0])
    if not steps[1:]:
        return column
    from pyarrow.compute import struct_field

    return struct_field(column, list(steps[1:]))
