"""Arrow IPC files and streams, such as those of ``datasets.save_to_disk``: a row is a record, a column a field.

A file is divided between its record batches. The files have no checksums, so every offset is checked before it is used.

The forms are those of the specification, https://arrow.apache.org/docs/format/Columnar.html.
"""

import io
import json
import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from tokbench.corpus.columns import FieldColumns
from tokbench.corpus.formats import corpus_format
from tokbench.corpus.reading import REMEDY_OF_FILE, Reading, ReadSpan, Row, RowFields
from tokbench.corpus.sources import RecordSource
from tokbench.errors import TokbenchError
from tokbench.io.compression import HEAD, compression_of
from tokbench.io.text_files import first_line

if TYPE_CHECKING:
    import pyarrow as pa

FILE = b"ARROW1"
"""First bytes of the file form."""
STREAM = b"\xff\xff\xff\xff"
"""First bytes of the stream form: the mark of a message, before its length."""
END = STREAM + bytes(4)
"""Last bytes of the stream form: a message without length."""
SCHEMA_MESSAGE = slice(4, 8)
"""Bytes of the length of a stream's first message."""
LARGEST_SCHEMA = 1 << 24
"""Maximum bytes of the first message of a stream; more are no stream."""
PIECE = 1 << 20
"""Bytes of a slice of a record batch that is turned into rows at a time."""
ROWS = 256
"""Maximum rows of a slice."""
STATE = "state.json"
"""File with the names of the data files, in a folder that ``save_to_disk`` wrote. There may be caches next to them."""


class ArrowSource(RecordSource):
    """Arrow IPC files or streams with a text column (any type of string or binary), one document per row, or split
    further. A folder that ``datasets.save_to_disk`` wrote is read without its caches."""

    type: Literal["arrow"]


class _File(io.BufferedReader):
    """A file that is never asked for more bytes than it has, however many a damaged length in it claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left))


def is_arrow(head: bytes) -> bool:
    """Return whether the first bytes of a file are those of an Arrow IPC file or stream."""
    length = int.from_bytes(head[SCHEMA_MESSAGE], "little")
    return head.startswith(FILE) or (head.startswith(STREAM) and 0 < length <= LARGEST_SCHEMA and length % 8 == 0)


def is_saved(path: Path) -> bool:
    """Return whether a file is named in the ``state.json`` of its folder; True if there is none."""
    try:
        state = json.loads((path.parent / STATE).read_bytes())
        return path.name in {file["filename"] for file in state["_data_files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return True


def columns_in(path: Path) -> list[str]:
    """Return the names of the columns of a file; empty if it cannot be read."""
    import pyarrow as pa

    try:
        with _File(io.FileIO(path)) as file:
            names: list[str] = _open(file).schema.names
    except (OSError, pa.ArrowException):
        return []
    return names


@corpus_format(
    "arrow",
    label="Arrow",
    endings=(".arrow", ".feather"),
    options=ArrowSource,
    begins=is_arrow,
    divisible=True,
    belongs=is_saved,
    fields_in=columns_in,
    cites=(),
)
def read_arrow(path: Path, fields: RowFields, source: ArrowSource, reading: Reading) -> Iterator[Row]:
    """Read the rows of an Arrow IPC file or stream.

    One record batch is in memory at once. Of the file form only the columns of the fields are read.
    """
    import pyarrow as pa

    try:
        with _File(io.FileIO(path)) as file:
            if compression := compression_of(file.read(HEAD)):
                raise TokbenchError(f"{path}: Arrow that is compressed by {compression}; decompress it")
            columns = FieldColumns(path, _open(file).schema, fields)
            batches = _batches(file, columns, reading.span)
            yield from chain.from_iterable(_rows(batch, place, columns, reading) for batch, place in batches)
    except (OSError, pa.ArrowException, ValueError, KeyError, TypeError) as error:
        raise TokbenchError(f"{path}: not readable as Arrow ({first_line(error)}); {REMEDY_OF_FILE}") from None


def _open(file: BinaryIO, columns: Sequence[str] = ()) -> Any:
    """Return a reader of the file form or of the stream form.

    Args:
        file: the file, which Python opened: Arrow would change ``~`` in its path.
        columns: names of the columns to read (default: all).

    Raises:
        ValueError: the file is empty, cut off, or in neither form.
    """
    import pyarrow as pa

    file.seek(0)
    is_file = file.read(len(FILE)) == FILE
    if not is_file:  # The file form ends with a mark, too, which Arrow checks.
        file.seek(-len(END), os.SEEK_END)
        if file.read() != END:
            raise ValueError("the stream ends before its end is marked")
    file.seek(0)
    source, options = pa.PythonFile(file, "r"), pa.ipc.IpcReadOptions(use_threads=False)
    open_reader = pa.ipc.open_file if is_file else pa.ipc.open_stream
    if columns:
        names = open_reader(source, options=options).schema.names
        options.included_fields = [names.index(name) for name in columns]
        file.seek(0)
    return open_reader(source, options=options)


def _batches(file: BinaryIO, columns: FieldColumns, span: ReadSpan) -> Iterator[tuple["pa.RecordBatch", str]]:
    """Yield the record batches within a range of a file, each with its place in messages.

    A batch belongs to the range in which it begins, so consecutive ranges neither overlap nor skip a batch. In the file
    form, batches count as equally long. A stream is read from its beginning.
    """
    import pyarrow as pa

    reader = _open(file, columns.names)
    place = "record batch {}, row"
    if isinstance(reader, pa.ipc.RecordBatchFileReader):
        batches = reader.num_record_batches
        for number in range(batches):
            if span.begin <= Fraction(number, batches) < span.end:
                yield reader.get_batch(number), place.format(number + 1)
        return
    size, begin = os.fstat(file.fileno()).st_size, file.tell()
    for number, batch in enumerate(reader, 1):
        if span.begin <= Fraction(begin, size) < span.end:
            yield batch, place.format(number)
        begin = file.tell()


def _rows(batch: "pa.RecordBatch", place: str, columns: FieldColumns, reading: Reading) -> Iterator[Row]:
    """Yield the rows of a batch, from slices of about 1 MiB."""
    batch.validate()
    checked = {field: _check(columns.column(batch, field)) for field in columns.fields}
    size = sum(column.nbytes for column in checked.values())
    rows = max(1, min(ROWS, PIECE * batch.num_rows // max(1, size)))
    numbers = count(1)
    for start in range(0, batch.num_rows, rows):
        pieces = {field: column.slice(start, rows) for field, column in checked.items()}
        yield from columns.rows(pieces, place, numbers, reading)


def _check(column: Any) -> Any:
    """Return a column of text of any type as binary, with all of its offsets, views and indices checked.

    Text that is not UTF-8 is accepted, as in Parquet.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        decoded = pa.DictionaryArray.from_arrays(column.indices, _check(column.dictionary), safe=True)
        return decoded.dictionary_decode()
    binary = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    plain = column.view(binary.get(column.type, column.type))
    plain.validate(full=True)
    return plain.cast(pa.large_binary())
