"""Parts of a source for parallel jobs: contiguous ranges of files with approximately equal numbers of bytes.

Files of some formats, such as text, are never divided. Others are divided if they are larger than a part. The places
are determined when the file is read, so a file may be divided before it is downloaded.

The sizes, language tags and digests of a part's documents are written to a file. Splits and limits depend only on
these.
"""

import json
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.documents import ContinuationPiece, Document
from tokbench.corpus.duplicates import DIGEST, Digester
from tokbench.corpus.formats import format_of
from tokbench.corpus.reading import WHOLE_FILE, ReadSpan
from tokbench.corpus.source_files import tagged_files
from tokbench.corpus.sources import CountsSource, FileSource, HubSource, Source
from tokbench.corpus.splits import LONGEST, longest_in
from tokbench.io.arrow import array_of, column, number_column, text_column
from tokbench.io.atomic import atomic_file
from tokbench.io.encodings import Notes
from tokbench.io.job_record import job_metadata
from tokbench.io.parquet import parquet, pieces, require, strings

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

COLUMNS = ["size", "language", "digest"]
"""Columns of a file of sizes."""
ROWS = 1 << 16
"""Documents of a row group, and documents that are read at a time."""
NOTES = b"notes"
"""Metadata key for the counts of :class:`~tokbench.io.encodings.Notes`, present if there are any."""


class SourcePart(NamedTuple):
    """A part of a source: files with their language tags, and the range to read."""

    files: list[tuple[str, Path]]
    span: ReadSpan


def is_divisible(source: Source) -> bool:
    """Return whether a part of a file of the source can be read."""
    if isinstance(source, FileSource) and not isinstance(source, CountsSource):
        return format_of(source).divisible
    return isinstance(source, HubSource)


def parts_of(source: Source, parts: int) -> list[SourcePart]:
    """Split a source into parts, in order. Parts of a hub source have no files, as these may not be downloaded yet.

    Raises:
        TokbenchError: an entry of the source's paths matches no file.
    """
    if isinstance(source, HubSource):
        return [SourcePart([], ReadSpan(Fraction(part, parts), Fraction(part + 1, parts))) for part in range(parts)]
    if not isinstance(source, FileSource):
        return [SourcePart([], WHOLE_FILE)]
    files = tagged_files(source)
    sizes = [file.stat().st_size for _, file in files]
    slices = _slices(sizes, parts) if is_divisible(source) else [1] * len(files)
    units = [(file, part, number) for file, number in enumerate(slices) for part in range(number)]
    ranges = []
    for first, last in pairwise(_cuts([sizes[file] / number for file, _, number in units], parts)):
        (begins, begin, of), (ends, end, into) = units[first], units[last - 1]
        ranges.append(SourcePart(files[begins : ends + 1], ReadSpan(Fraction(begin, of), Fraction(end + 1, into))))
    return ranges


def _slices(sizes: Sequence[int], parts: int) -> list[int]:
    """Return the number of slices of each file. No slice is larger than a part, and there are at least ``parts``
    slices."""
    total = sum(sizes)
    return [max(1, -(-size * parts // total)) if total else 1 for size in sizes]


def _cuts(sizes: Sequence[float], parts: int) -> list[int]:
    """Return where to cut a sequence into parts of similar size, none empty if the sequence is long enough."""
    reached = list(accumulate(sizes, initial=0.0))
    cuts = [0]
    for part in range(1, parts):
        ideal = reached[-1] * part / parts
        cut = bisect_left(reached, ideal)
        if cut and ideal - reached[cut - 1] < reached[cut] - ideal:
            cut -= 1
        cuts.append(max(cuts[-1] + 1, min(cut, len(sizes) - (parts - part))))
    return [*cuts, len(sizes)]


def groups_of(places: int, parts: int) -> list[range]:
    """Group the shards (numbered over all splits) that are written together; there are no more groups than parts."""
    each = -(-places // parts)
    return [range(first, min(first + each, places)) for first in range(0, places, each)]


@cache
def schema() -> "pa.Schema":
    """Return the schema of a file of sizes."""
    import pyarrow as pa

    return pa.schema(list(zip(COLUMNS, (pa.int64(), pa.string(), pa.binary(DIGEST)), strict=True)))


def write_sizes(documents: Iterator[Document], path: Path, notes: Notes | None = None) -> tuple[int, int]:
    """Write bytes, tag and digest of each document as Parquet, one row each. The file is written atomically.

    Continuation pieces have their own rows, without a tag. Their digest covers the document up to the piece.

    Args:
        documents: the documents.
        path: output file.
        notes: counts that are complete after the documents are read.

    Returns:
        Number of documents, and their bytes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    sizes, tags, digests = array("q"), list[str | None](), bytearray()
    digester = Digester()
    total = size = document_size = most = 0
    with (
        atomic_file(path) as partial,
        pq.ParquetWriter(partial, schema(), compression="zstd", write_page_checksum=True) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())

        def write() -> None:
            nonlocal sizes, tags, digests, total, size
            total, size = total + len(tags) - tags.count(None), size + sum(sizes)
            digest = column(schema().field("digest").type, len(tags), digests)
            columns = [number_column(np.frombuffer(sizes, np.int64)), text_column(tags), digest]
            writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema()))
            sizes, tags, digests = array("q"), [], bytearray()

        def add(document: Document) -> None:
            nonlocal document_size, most
            if isinstance(document, ContinuationPiece):
                document_size += len(document.text)
                most = max(most, document_size)
            else:
                document_size = len(document.text)
            sizes.append(len(document.text))
            tags.append(None if isinstance(document, ContinuationPiece) else document.language)
            digests.extend(digester.digest(document))
            if len(sizes) >= ROWS:
                write()

        # A loop would keep the previous document in memory while the next one is read.
        for _ in map(add, documents):
            pass
        if sizes:
            write()
        if most:
            writer.add_key_value_metadata({LONGEST.decode(): f"{most}"})
        if notes is not None and (counts := notes.counts()):
            writer.add_key_value_metadata({NOTES.decode(): json.dumps(counts)})
    return total, size


class PartSizes:
    """Sizes, tags and digests of the documents of a part.

    Args:
        path: file written by :func:`write_sizes`.

    Attributes:
        longest: bytes of the longest document that is in pieces, or 0.
        notes: counts of changes and of invalid bytes from reading the part.

    Raises:
        TokbenchError: it is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        self._path = path
        with self._open() as file:
            require(file.schema_arrow, size="whole numbers", language="text")
            if file.schema_arrow.names != COLUMNS or file.schema_arrow.field("digest").type != pa.binary(DIGEST):
                raise ValueError(f"no column 'digest' of {DIGEST} bytes")
            self.number = int(file.metadata.num_rows)
            self.longest = longest_in(file.metadata.metadata)
            self.notes: dict[str, int] = json.loads((file.metadata.metadata or {}).get(NOTES, b"{}"))

    def __len__(self) -> int:
        return self.number

    def __iter__(self) -> Iterator[tuple[NDArray[np.int64], Sequence[str], NDArray[np.int32], NDArray[np.uint64]]]:
        """Yield batches of rows: sizes, distinct tags, tag indices and digests.

        Sizes are bytes, int64 [n]. Tag indices are int32 [n], -1 for a continuation piece. Digests are uint64 [n, 2].
        """
        import pyarrow as pa

        with self._open() as file:
            for batch in pieces(file, COLUMNS, ROWS):
                sizes, tags, digests = batch.columns
                if batch.num_rows == 0:
                    continue
                dictionary = tags.dictionary_encode()
                if sizes.null_count or digests.null_count:
                    raise ValueError("a document has no size or no digest")
                lengths = array_of(sizes.cast(pa.int64()))
                if lengths.min() < 0:
                    raise ValueError("a document has less than no bytes")
                values = np.frombuffer(digests.buffers()[1], np.uint64).reshape(-1, 2)[digests.offset :][: len(lengths)]
                indices = array_of(dictionary.indices, empty=-1)
                yield lengths, [tag or "" for tag in strings(dictionary.dictionary)], indices, values

    def _open(self) -> "AbstractContextManager[pq.ParquetFile]":
        return parquet(self._path, "the sizes of a part's documents", "delete it and run the workflow again")
