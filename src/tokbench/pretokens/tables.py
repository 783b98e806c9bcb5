"""Tables of pre-token counts: columns, checksums, and their files in Parquet and TSV.

The checksum is computed over the rows when a file is written and verified when it is read, so that manual edits are
noticed. It does not depend on batches, row groups or pages.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.job_record import job_metadata
from tokbench.io.numbers import LARGEST_BYTES, whole_number
from tokbench.io.parquet import CHECKSUM, parquet, read_rows, require
from tokbench.io.text_files import read_lines

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SCHEME_KEY = "tokbench.scheme"
"""Key in the metadata of a table: the pre-tokenization."""
Result = TypeVar("Result")
COLUMNS = ("language", "pretoken", "count")
FORM: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["language"], "write_page_checksum": True}
"""Parquet options of files of counts."""
ROWS = 1 << 20
"""Rows per row group."""
BATCH = 1 << 16
"""Rows read or hashed at a time."""


class Checksum:
    """SHA-256 of rows, added one table at a time."""

    def __init__(self) -> None:
        self._parts = {name: (sha256(), sha256()) for name in COLUMNS}

    def add(self, rows: "pa.Table") -> None:
        """Add rows. Columns that are not in :data:`COLUMNS` are ignored."""
        import pyarrow as pa

        present = [name for name in COLUMNS if name in rows.column_names]
        for batch in rows.select(present).to_batches(max_chunksize=BATCH):
            for name in present:
                content, lengths = self._parts[name]
                if name == "count":
                    content.update(_values(batch.column(name).cast(pa.int64())))
                else:
                    texts = batch.column(name).cast(pa.large_binary())
                    starts = np.frombuffer(texts.buffers()[1], np.int64)[texts.offset : texts.offset + len(texts) + 1]
                    lengths.update(np.diff(starts).data)
                    content.update(np.frombuffer(texts.buffers()[2] or b"", np.uint8)[starts[0] : starts[-1]].data)

    def digest(self) -> str:
        """Return the checksum in hexadecimal."""
        return sha256(b"".join(part.digest() for parts in self._parts.values() for part in parts)).hexdigest()


@contextmanager
def counts_writer(path: Path, schema: "pa.Schema", rows: int = ROWS) -> "Iterator[Callable[[pa.Table], None]]":
    """Yield a function that writes tables to a file of counts. The checksum is added when the block ends without an
    error.

    Args:
        path: Output file.
        schema: Schema of the tables.
        rows: Rows per row group (default: 2^20).
    """
    import pyarrow.parquet as pq

    checksum = Checksum()
    with pq.ParquetWriter(path, schema, **FORM) as writer:
        writer.add_key_value_metadata(job_metadata())

        def write(table: "pa.Table") -> None:
            checksum.add(table)
            writer.write_table(table, row_group_size=rows)

        yield write
        writer.add_key_value_metadata({CHECKSUM: checksum.digest()})


class Verification:
    """Verification of the rows of a file of counts against its checksum.

    A file without a checksum is accepted, except for the workflow's own counts:
    ``pretokens/CORPUS/SPLIT/SCHEME.parquet``.

    Raises:
        TokbenchError: the checksum is missing there, or the rows do not match it.
    """

    def __init__(self, path: Path, file: "pq.ParquetFile") -> None:
        is_ours = path.absolute().parts[-4:-3] == ("pretokens",)
        self._remedy = "delete it and run the workflow again" if is_ours else "make it again"
        self._path = path
        self._expected = (file.metadata.metadata or {}).get(CHECKSUM.encode())
        self._checksum = Checksum()
        if is_ours and self._expected is None:
            reason = "has no checksum of its rows, so another program wrote it"
            raise TokbenchError(f"{path}: {reason}; {self._remedy}")

    def add(self, rows: "pa.Table") -> None:
        """Add rows in the order of the file."""
        if self._expected is not None:
            self._checksum.add(rows)

    def end(self) -> None:
        """Verify the rows added so far."""
        if self._expected is not None and self._expected.decode("ascii", "replace") != self._checksum.digest():
            raise TokbenchError(f"{self._path}: not as it was written; {self._remedy}")


def columns(table: "pa.Table") -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.int64]]:
    """Return the columns ``pretoken`` and ``count`` of a table as arrays.

    They are the arguments of :meth:`tokbench.pretokens.PretokenCounts.merged`.

    Raises:
        ValueError: as :meth:`tokbench.pretokens.PretokenCounts.from_arrow`.
    """
    import pyarrow as pa

    require(table.schema, pretoken="text", count="whole numbers")
    pretokens, numbers = (
        table[name].cast(kind).combine_chunks()
        for name, kind in (("pretoken", pa.large_binary()), ("count", pa.int64()))
    )
    counts = _int64(numbers.buffers()[1], numbers.offset, len(numbers))
    if pretokens.null_count or numbers.null_count or (counts < 0).any():
        raise ValueError("a pre-token or a count is missing, or a count is negative")
    _, offsets, data = pretokens.buffers()
    starts = _int64(offsets, pretokens.offset, len(pretokens) + 1) if len(pretokens) else np.zeros(1, np.int64)
    return np.frombuffer(data or b"", np.uint8), starts, counts


def scheme_of(schema: "pa.Schema") -> str | None:
    """Return the pre-tokenization named in a table's metadata; None if there is none."""
    scheme = (schema.metadata or {}).get(SCHEME_KEY.encode())
    return scheme.decode() if scheme else None


def write_table(table: "pa.Table", path: Path | str) -> None:
    """Write a table as Parquet, atomically."""
    with atomic_file(path) as partial, counts_writer(partial, table.schema) as write:
        write(table)


def read_table(path: Path, convert: Callable[["pa.Table"], Result]) -> Result:
    """Read Parquet, verify its checksum and convert the table.

    Raises:
        TokbenchError: the file is not such a table or was changed after it was written; the message names it.
    """
    with parquet(path, "a readable file of pre-token counts", "make it again") as file:
        verification = Verification(path, file)
        table = read_rows(file)
        verification.add(table)
        verification.end()
        return convert(table)


def _int64(buffer: "pa.Buffer | None", start: int, length: int) -> NDArray[np.int64]:
    return np.frombuffer(buffer or b"", np.int64)[start : start + length]


def read_tsv(path: Path) -> Iterator[tuple[bytes, int]]:
    for number, data in enumerate(read_lines(path, "make it again"), 1):
        line = data.decode(errors="replace")
        if not line.strip():
            continue
        try:
            token, count = line.rstrip("\r\n").split("\t")
            pair = bytes.fromhex(token), whole_number(count, 0, LARGEST_BYTES)
        except ValueError:
            raise TokbenchError(f"{path}:{number}: expected 'hex<TAB>count', found {line.strip()[:60]!r}") from None
        yield pair


def _values(numbers: "pa.Array") -> Any:
    return np.frombuffer(numbers.buffers()[1], np.int64)[numbers.offset : numbers.offset + len(numbers)]
