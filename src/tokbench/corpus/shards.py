"""Shards of a corpus: Parquet files whose bytes depend only on the documents in them.

A row group ends with the document that brings it to :data:`~tokbench.corpus.documents.GROUP_BYTES`. An open Parquet
writer keeps the encoded row group in memory until the next one begins, so only one file is open at a time.
"""

from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.documents import DOMAIN, GROUP_BYTES, ContinuationPiece, Document, noted_rests, schema
from tokbench.io.arrow import column, ends_of, number_column

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

COPIES = 4
"""Copies in memory of a long document: its file or line, the text, and those of Parquet."""
LONGEST = (1 << 31) - (1 << 20)
"""Maximum bytes of a document: a page of Parquet has less than 2 GiB."""
OPEN_BYTES = 32_000_000
"""Bytes of memory for an open shard in addition to its longest document: a row group, and the writer's encoded one."""
LONG = 1 << 26
"""Bytes of a document above which its shard has plain encoding and no statistics.

While Parquet writes, it keeps four copies of each group's least and greatest text, and then omits them as too long. A
dictionary is one more copy for the writer and for each reader.
"""
ROW = np.dtype([("document", "<i8"), ("size", "<i8"), ("language", "<i4"), ("domain", "<i4")])
"""A document without its text: its position in the source, its size in bytes, and the numbers of its language tag and
its domain."""
_row = Struct("<qqii").pack


class Add(Protocol):
    """Function that adds a document to the shard with this number."""

    def __call__(self, document: Document, shard: int = 0, domain: str = "") -> None: ...


def shard_paths(folder: Path, split: str, shards: int) -> list[Path]:
    """Return the paths of a split's shards, from ``0000.parquet``."""
    return [folder / split / f"{shard:04}.parquet" for shard in range(shards)]


@contextmanager
def open_shards(
    paths: Sequence[Path | str], plain: Collection[int] = (), *, with_domain: bool = False
) -> Iterator[Add]:
    """Open shards for writing. A single shard is written as its documents arrive; several are kept in memory until the
    end.

    Args:
        paths: output files, in a folder that is written atomically.
        plain: numbers of the shards with a document of more than :data:`LONG` bytes.
        with_domain: whether documents have a domain, the name of their source in a mixture (default: False).

    Returns:
        A function that adds a document to a shard. The files are complete when the block ends without an error.
    """
    tags = Tags()
    shards = [
        _Shard(Path(path), tags, plain=number in plain, with_domain=with_domain) for number, path in enumerate(paths)
    ]

    def add(document: Document, shard: int = 0, domain: str = "") -> None:
        shards[shard].add(document, domain)
        if len(shards) == 1:
            shards[0].write()

    try:
        yield add
        for shard in shards:
            shard.finish()
    finally:
        for shard in shards:
            shard.close()


class Tags:
    """Language tags and domains as numbers, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, tag: str) -> int:
        """Return the number of a tag."""
        return self._numbers.setdefault(tag, len(self._numbers))

    def column(self, numbers: NDArray[np.int32]) -> "pa.Array":
        """Return the tags with these numbers as an Arrow column."""
        import pyarrow as pa

        tags = [tag.encode() for tag in self._numbers]
        lengths = np.fromiter(map(len, tags), np.int32, len(tags))
        spelt = b"".join(map(tags.__getitem__, numbers.tolist()))
        return column(pa.string(), len(numbers), ends_of(lengths[numbers], np.int32), spelt)


class _Shard:
    """File of one shard, and its row groups that are not written yet."""

    def __init__(self, path: Path, tags: Tags, *, plain: bool, with_domain: bool) -> None:
        self._path = path
        self._tags = tags
        self._schema = schema(with_domain)
        self._dictionary_columns: bool | list[str] = (
            [name for name in self._schema.names if name != "text"] if plain else True
        )
        self._rests = array("q")
        self._groups: list[tuple[bytes | bytearray, bytes | bytearray]] = []
        self._rows, self._text = bytearray(), bytearray()
        self._writer: pq.ParquetWriter | None = None

    def add(self, document: Document, domain: str) -> None:
        if isinstance(document, ContinuationPiece):
            self._rests.append(document.document)
        tags = self._tags.number(document.language), self._tags.number(domain)
        row = _row(document.document, len(document.text), *tags)
        if not self._rows and len(document.text) >= GROUP_BYTES:
            self._groups.append((row, document.text))  # Avoid a copy of a long text.
            return
        self._rows += row
        self._text += document.text
        if len(self._text) >= GROUP_BYTES:
            self._end_group()

    def write(self) -> None:
        """Write the complete row groups."""
        import pyarrow as pa

        while self._groups:
            if self._writer is None:
                self._writer = self._open()
            packed, text = self._groups.pop(0)
            rows = np.frombuffer(packed, ROW)
            columns = {
                "document": number_column(rows["document"]),
                "language": self._tags.column(rows["language"]),
                DOMAIN: self._tags.column(rows["domain"]),
                "text": column(pa.large_binary(), len(rows), ends_of(rows["size"], np.int64), text),
            }
            arrays = [columns[name] for name in self._schema.names]
            self._writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def finish(self) -> None:
        """Write all remaining rows and close the file; the last row group may be empty."""
        self._end_group()
        self.write()
        if self._writer is not None and (noted := noted_rests(self._rests)):
            self._writer.add_key_value_metadata(noted)
        self.close()

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def _end_group(self) -> None:
        self._groups.append((self._rows, self._text))
        self._rows, self._text = bytearray(), bytearray()

    def _open(self) -> "pq.ParquetWriter":
        import pyarrow.parquet as pq

        self._path.parent.mkdir(parents=True, exist_ok=True)
        return pq.ParquetWriter(
            self._path,
            self._schema,
            compression="zstd",
            write_page_checksum=True,
            use_dictionary=self._dictionary_columns,
            write_statistics=self._dictionary_columns,
        )
