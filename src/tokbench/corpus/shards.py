"""Writing shards: documents dealt out to Parquet files whose bytes depend on nothing but the documents in them.

Where row groups end is a matter of the documents of a shard alone, never of memory: a group is full with the document
that brings it to :data:`~tokbench.corpus.documents.GROUP_BYTES`. What is open costs memory, though: a group has to be
held until it is full, and a Parquet writer keeps what it encoded of a group until the next one begins, some megabytes
for each shard. So a few shards are open together and written as documents come (:func:`open_shards`); many are filled
one after the other, from queues that go to disk where they do not fit into memory (:func:`queued_shards`). The files
are the same, byte for byte.
"""

from array import array
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from struct import Struct
from tempfile import TemporaryDirectory
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.corpus.documents import GROUP_BYTES, SCHEMA, Document, Rest, noted_rests
from tokbench.corpus.spool import ROW, Group, Queue

COPIES = 4
"""Bytes held for each byte of a long document: its file's or its line's, its own, and what Parquet makes of it."""
LONGEST = (1 << 31) - (1 << 20)
"""Bytes of the longest document: a page of Parquet's has less than 2 GiB."""
MOST_OPEN = 32
"""Shards that are open at once; a process may not have many files open."""
OPEN_BYTES = 32_000_000
"""Memory that an open shard may take, beside five times its longest document: a group, and what its writer keeps."""
LONG = 1 << 26
"""Bytes of a document that makes its whole shard one of plain values without statistics.

Of each group's least and greatest text Parquet keeps four copies while it writes, only to leave them out for their
length, and a dictionary is one copy more both where it is written and where it is read.
"""
_row = Struct("<qqi").pack


class Add(Protocol):
    """Puts a document into the shard of this number."""

    def __call__(self, document: Document, shard: int = 0) -> None: ...


def shard_paths(folder: Path, split: str, shards: int) -> list[Path]:
    """Paths of a split's shards, ``0000.parquet`` onwards."""
    return [folder / split / f"{shard:04}.parquet" for shard in range(shards)]


def written_shards(
    paths: Sequence[Path | str], longest: int, long: Collection[int], left: int
) -> AbstractContextManager[Add]:
    """The way to write shards for which there is memory; the files are the same.

    Args:
        paths: the files, as for :func:`queued_shards`.
        longest: bytes of the longest document that is read.
        long: numbers of the shards that hold a document of more than :data:`LONG` bytes.
        left: bytes of memory for it and for what is written.
    """
    left -= COPIES * longest
    if longest <= LONG and len(paths) <= MOST_OPEN and len(paths) * (OPEN_BYTES + 5 * longest) <= left:
        return open_shards(paths)
    return queued_shards(paths, max(0, left // 2), long)


@contextmanager
def open_shards(paths: Sequence[Path | str]) -> Iterator[Add]:
    """A function that puts documents into shards, all open at once; they are whole when the block ends well.

    Args:
        paths: the files, in a folder that appears as a whole.
    """
    tags = Tags()
    held = [(bytearray(), bytearray()) for _ in paths]
    with ExitStack() as stack:
        files = [stack.enter_context(_Shard(Path(path), tags)) for path in paths]

        def write(shard: int) -> None:
            rows, text = held[shard]
            held[shard] = bytearray(), bytearray()
            files[shard].write(Group(np.frombuffer(rows, ROW), text))

        def add(document: Document, shard: int = 0) -> None:
            if isinstance(document, Rest):
                files[shard].rests.append(document.document)
            rows, text = held[shard]
            rows += _row(document.document, len(document.text), tags.number(document.language))
            text += document.text
            if len(text) >= GROUP_BYTES:
                write(shard)

        yield add
        for shard in range(len(files)):
            write(shard)


@contextmanager
def queued_shards(paths: Sequence[Path | str], held: int, long: Collection[int] = ()) -> Iterator[Add]:
    """A function that puts documents into shards, which are written one after the other when the block ends well.

    Args:
        paths: the files, in folders of one folder that appears as a whole; temporary files lie there, too. They take
            as much space as the texts that do not fit into memory.
        held: bytes of documents that are held in memory, over all shards.
        long: numbers of the shards that hold a document of more than :data:`LONG` bytes.
    """
    tags = Tags()
    rests = [array("q") for _ in paths]
    waiting = 0
    with TemporaryDirectory(dir=_common(paths), prefix=".queued-") as folder:
        queues = [Queue(Path(folder, str(shard))) for shard in range(len(paths))]

        def add(document: Document, shard: int = 0) -> None:
            nonlocal waiting
            if isinstance(document, Rest):
                rests[shard].append(document.document)
            row = _row(document.document, len(document.text), tags.number(document.language))
            waiting += queues[shard].add(row, document.text)
            if waiting > held:
                for queue in queues:
                    queue.spill()
                waiting = 0

        yield add
        for shard, (path, queue) in enumerate(zip(paths, queues, strict=True)):
            with _Shard(Path(path), tags, rests[shard], plain=shard in long) as file:
                for group in queue.groups(GROUP_BYTES):
                    file.write(group)


def _common(paths: Sequence[Path | str]) -> Path:
    """The folder in which the shards' folders are, made if it is missing."""
    folder = Path(paths[0]).parent.parent
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class Tags:
    """Language tags as numbers, in order of first appearance."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, tag: str) -> int:
        """The number of a tag."""
        return self._numbers.setdefault(tag, len(self._numbers))

    def column(self, numbers: NDArray[np.int32]) -> pa.Array:
        """The tags that these are the numbers of."""
        tags = [tag.encode() for tag in self._numbers]
        lengths = np.fromiter(map(len, tags), np.int32, len(tags))
        spelt = b"".join(map(tags.__getitem__, numbers.tolist()))
        return column(pa.string(), len(numbers), ends_of(lengths[numbers], np.int32), spelt)


class _Shard:
    """One shard's file, written a group at a time.

    Attributes:
        rests: numbers of its further pieces of documents.
    """

    def __init__(self, path: Path, tags: Tags, rests: "array[int] | None" = None, *, plain: bool = False) -> None:
        self.rests = array("q") if rests is None else rests
        self._tags = tags
        spelt_out = [name for name in SCHEMA.names if name != "text"] if plain else True
        path.parent.mkdir(parents=True, exist_ok=True)
        self._writer = pq.ParquetWriter(
            path,
            SCHEMA,
            compression="zstd",
            write_page_checksum=True,
            use_dictionary=spelt_out,
            write_statistics=spelt_out,
        )

    def __enter__(self) -> "_Shard":
        return self

    def __exit__(self, *_: object) -> None:
        if noted := noted_rests(self.rests):
            self._writer.add_key_value_metadata(noted)
        self._writer.close()

    def write(self, group: Group) -> None:
        rows, text = group
        columns = [
            column(pa.int64(), len(rows), np.ascontiguousarray(rows["document"])),
            self._tags.column(rows["language"]),
            column(pa.large_binary(), len(rows), ends_of(rows["size"], np.int64), text),
        ]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=SCHEMA))


def ends_of(lengths: NDArray[np.integer], kind: type[np.integer]) -> NDArray[np.integer]:
    """Zero and the ends of values that are laid end to end."""
    ends = np.zeros(len(lengths) + 1, kind)
    np.cumsum(lengths, out=ends[1:])
    return ends


def column(kind: pa.DataType, count: int, *buffers: object) -> pa.Array:
    """An array without empty cells over bytes as they lie in memory."""
    return pa.Array.from_buffers(kind, count, [None, *map(pa.py_buffer, buffers)], null_count=0)
