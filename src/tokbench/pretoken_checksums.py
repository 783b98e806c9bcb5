"""Checksums of files of counts: written with the rows, verified by readers, so that rows edited by hand are noticed.

The checksum is over the rows alone. How they are divided into batches, row groups and pages does not matter.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.errors import TokbenchError

KEY = "tokbench.sha256"
"""Key of the checksum in the metadata of a file."""
COLUMNS = ("language", "pretoken", "count")
FORM: dict[str, Any] = {"compression": "zstd", "use_dictionary": ["language"], "write_page_checksum": True}
"""Options of Parquet by which files of counts are written."""
ROWS = 1 << 20
"""Rows of a row group."""
BATCH = 1 << 16
"""Rows that are read or hashed at a time."""


class Checksum:
    """SHA-256 of rows that are added a table at a time."""

    def __init__(self) -> None:
        self._parts = {name: (sha256(), sha256()) for name in COLUMNS}

    def add(self, rows: pa.Table) -> None:
        """Add rows; columns that are not in :data:`COLUMNS` are ignored."""
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
        """Return the checksum in hexadecimal digits."""
        return sha256(b"".join(part.digest() for parts in self._parts.values() for part in parts)).hexdigest()


@contextmanager
def counts_writer(path: Path, schema: pa.Schema, rows: int = ROWS) -> Iterator[Callable[[pa.Table], None]]:
    """Give a function that writes tables to a file of counts; the checksum is written when the block ends well.

    Args:
        path: the file.
        schema: of the tables.
        rows: rows of a row group.
    """
    checksum = Checksum()
    with pq.ParquetWriter(path, schema, **FORM) as writer:

        def write(table: pa.Table) -> None:
            checksum.add(table)
            writer.write_table(table, row_group_size=rows)

        yield write
        writer.add_key_value_metadata({KEY: checksum.digest()})


class Verification:
    """Verifies the rows of a file of counts against its checksum.

    A file without a checksum is accepted, except where the workflow keeps its own counts:
    ``pretokens/CORPUS/SPLIT/SCHEME.parquet``.

    Raises:
        TokbenchError: the file lacks the checksum there, or its rows do not match the checksum.
    """

    def __init__(self, path: Path, file: pq.ParquetFile) -> None:
        own = path.absolute().parts[-4:-3] == ("pretokens",)
        self._remedy = "delete it and run the workflow again" if own else "make it again"
        self._path = path
        self._noted = (file.metadata.metadata or {}).get(KEY.encode())
        self._found = Checksum()
        if own and self._noted is None:
            reason = "has no checksum of its rows, so another program or an older version wrote it"
            raise TokbenchError(f"{path}: {reason}; {self._remedy}")

    def add(self, rows: pa.Table) -> None:
        """Add rows that were read, in their order."""
        if self._noted is not None:
            self._found.add(rows)

    def end(self) -> None:
        """Verify all rows that were added."""
        if self._noted is not None and self._noted.decode("ascii", "replace") != self._found.digest():
            raise TokbenchError(f"{self._path}: not as it was written; {self._remedy}")


def _values(numbers: pa.Array) -> Any:
    return np.frombuffer(numbers.buffers()[1], np.int64)[numbers.offset : numbers.offset + len(numbers)]
