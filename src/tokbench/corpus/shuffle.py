"""Assignment of documents to splits and shards, from the sizes of all documents in order.

A place is the number of a shard over all splits: shard k of split s has the place s * shards per split + k. If
documents are drawn and shuffled, a shard has one place or more, see :class:`tokbench.corpus.mixing.DrawnRows`.
"""

from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.corpus.documents import UNTAGGED, Findings, merge_untagged, untagged_findings, untagged_in, write_findings
from tokbench.corpus.duplicates import DIGEST, Duplicates, compared_splits
from tokbench.corpus.languages import UNDETERMINED
from tokbench.corpus.limits import Limits, check_text, is_limited, language_of
from tokbench.corpus.mixing import PER_DRAWN_DOCUMENT, Draw, DrawnRows, draw_documents
from tokbench.corpus.parts import ROWS, PartSizes
from tokbench.corpus.shards import LONGEST
from tokbench.corpus.sources import Source
from tokbench.corpus.splits import LONGEST as LONGEST_KEY
from tokbench.corpus.splits import UNUSED, describe_splits, document_sizes, longest_in, shards_of, split_documents
from tokbench.corpus.units import check_documents, number_units, units_of, write_units
from tokbench.errors import TokbenchError
from tokbench.io.arrow import array_of, dtype_of, number_column
from tokbench.io.encodings import Notes
from tokbench.io.parquet import parquet, pieces, read_rows, require
from tokbench.runtime.memory_limit import MemoryLimit

PER_DOCUMENT = 20
"""Maximum bytes of memory per document while documents are assigned to splits."""
PLACES = pa.schema([("document", pa.int64()), ("size", pa.int64()), ("place", pa.int32())])
SHARDS = pa.schema([("documents", pa.int64()), ("bytes", pa.int64()), ("longest", pa.int64())])
MOST_PLACES = 1 << 20
DOMAIN, BUCKETS = b"domain", b"buckets"
"""Metadata of the places of drawn documents: name of the source in a mixture (empty for a single source), and the
number of places of each shard."""
REMEDY = "delete its folder and run the workflow again"


class ShardTotals(NamedTuple):
    """Number of documents at each place, their bytes, and the bytes of the longest one, int64 [places] each."""

    documents: NDArray[np.int64]
    bytes: NDArray[np.int64]
    longest: NDArray[np.int64]


def assign_documents(
    source: Source | Mapping[str, Source],
    shares: Mapping[str, float | str],
    seed: int,
    shards: int,
    sizes: Sequence[Path],
    folder: Path,
    allowed: MemoryLimit,
    longest: int | None = None,
    drop_duplicates: bool = False,
    units: Path | None = None,
    draw: Draw | None = None,
) -> dict[str, tuple[int, int]]:
    """Assign the documents of every part to shards, ``{part}.parquet``, and sum up each shard, ``shards.parquet``.

    The file of a part has a row for each document or piece: its number in the corpus, its bytes and its place. Number
    and place are -1 if the limits exclude the document; only the place is -1 if no split contains it.

    Args:
        source: source whose limits apply, or the sources of a mixture by name.
        shares: see :func:`tokbench.corpus.prepare.prepare`.
        seed: seed of the assignment.
        shards: number of shards per split.
        sizes: files of sizes in the order of the parts, see :func:`tokbench.corpus.parts.write_sizes`. Each source of a
            mixture has the same number of parts.
        folder: output folder.
        allowed: memory limit. Each document needs :data:`PER_DOCUMENT` bytes, plus a digest if documents are compared.
        longest: bytes above which documents are in pieces.
        drop_duplicates: as in :func:`tokbench.corpus.prepare.prepare`.
        units: as in :func:`tokbench.corpus.prepare.prepare`. Units of drawn documents are written to the folder.
        draw: documents to draw and shuffle (default: None, all documents in their order). Their numbers are positions
            in the shuffled order, and other documents have none.

    Returns:
        Documents and bytes of each split that has a share; a document in pieces counts as one.

    Raises:
        TokbenchError: a file of sizes is damaged; a document, or the number of documents, is too large; or see
            :func:`tokbench.corpus.splits.split_documents` and :func:`tokbench.corpus.mixing.draw_documents`.
    """
    sources = source if isinstance(source, Mapping) else {"": source}
    fractions = {split: share for split, share in shares.items() if not isinstance(share, str)}
    parts = [PartSizes(path) for path in sizes]
    total = sum(map(len, parts))
    compared = bool(compared_splits(fractions)) or draw is not None
    if total * (PER_DOCUMENT + DIGEST * compared + PER_DRAWN_DOCUMENT * (draw is not None)) > allowed.room:
        raise TokbenchError(
            f"{total:,} documents need more than the {allowed.megabytes:,} MB of memory that are allowed; "
            "allow it more (--memory), or make several corpora"
        )
    # Documents within the limits, as a whole and not in pieces, are assigned to splits.
    contents = _SourceDocuments(total, with_digests=compared)
    each = len(parts) // len(sources)
    for number, (name, of_source) in enumerate(sources.items()):
        contents.begin(name, of_source)
        for batch in chain.from_iterable(parts[number * each : (number + 1) * each]):
            contents.add(*batch)
    pieces = None if draw is None else contents.piece_sizes()
    complete_sizes, languages = contents.documents()
    digests = contents.digests()
    drawn = None if draw is None else draw_documents(draw, complete_sizes, digests, contents.counts(), seed)
    names = None if units is None else units_of(units, contents.numbers())
    if drawn is None:
        grouped = None if names is None else number_units(names)
        splits = split_documents(complete_sizes, fractions, seed, languages, grouped)
    else:
        splits = np.full(len(complete_sizes), UNUSED, np.int8)
        # Each language of each source is split in these shares.
        strata = languages * len(sources) + np.repeat(np.arange(len(sources), dtype=np.int32), contents.counts())
        grouped = None if names is None else number_units([names[document] for document in drawn.order])
        of_drawn = split_documents(complete_sizes[drawn.order], fractions, seed, strata[drawn.order], grouped)
        splits[drawn.order] = of_drawn
    if units is not None:
        check_documents(units, splits, fractions)
    duplicates = Duplicates(digests, splits, fractions, complete_sizes)
    if drop_duplicates:
        duplicates.drop(splits)
    del complete_sizes, languages, digests
    # Drawn documents are shuffled; a shard that is larger than a bucket has several places.
    rows = None
    if drawn is not None and pieces is not None:
        rows = DrawnRows(drawn.order, splits, pieces, np.asarray(contents.rests, np.int64), len(fractions), shards)
        if names is not None:
            begins = np.delete(rows.numbers, contents.rests)[drawn.order].tolist()
            write_units(folder, ((begin, names[document]) for begin, document in zip(begins, drawn.order, strict=True)))
        del pieces
    # The documents of each split go to its shards in turn; pieces follow the document that they continue.
    buckets = 1 if rows is None else rows.buckets
    if len(fractions) * shards * buckets > MOST_PLACES:
        raise TokbenchError(
            f"{len(fractions) * shards * buckets:,} places of shards are too many; make several corpora"
        )
    totals = ShardTotals(*np.zeros((3, len(fractions) * shards * buckets), np.int64))
    dealt = np.zeros(len(fractions), np.int64)
    first = numbered = used = 0
    last = np.int32(UNUSED)
    for number, part in enumerate(parts):
        domain = list(sources)[number // each]
        with _open_writer(folder / f"{number:04}.parquet", PLACES) as writer:
            for lengths, _, which, _ in part:
                admitted = contents.is_admitted[first : first + len(lengths)]
                begins = which[admitted] >= 0
                part_splits = splits[used : used + int(begins.sum())]
                placed = np.append(last, shards_of(part_splits, shards, dealt))
                numbers, places = np.full((2, len(lengths)), UNUSED, np.int64)
                positions = np.arange(numbered, numbered + len(begins))
                if rows is None:
                    numbers[admitted], places[admitted] = positions, placed[np.cumsum(begins)]
                else:
                    numbers[admitted], places[admitted] = rows.numbers[positions], rows.places[positions]
                _add(totals, places, lengths)
                writer.write_batch(_batch(PLACES, numbers, lengths, places))
                first, last = first + len(lengths), placed[-1]
                numbered, used = numbered + len(begins), used + len(part_splits)
            about = {LONGEST_KEY.decode(): f"{part.longest}"} if part.longest else {}
            if contents.untagged:
                about[UNTAGGED.decode()] = UNDETERMINED
            if rows is not None:
                about |= {DOMAIN.decode(): domain, BUCKETS.decode(): f"{buckets}"}
            if about:
                writer.add_key_value_metadata(about)
    with _open_writer(folder / "shards.parquet", SHARDS) as writer:
        writer.write_batch(_batch(SHARDS, *totals))
    # The notes of all parts.
    notes = Notes()
    for part in parts:
        notes.add(part.notes)
    findings: Findings = {} if drawn is None else {"drawn": drawn.lines}
    findings |= describe_splits(contents.rests, longest) | untagged_findings(contents.untagged) | notes.lines()
    findings |= duplicates.lines(drop_duplicates)
    write_findings(folder, findings)
    sums = totals.bytes.reshape(len(fractions), -1).sum(axis=1).tolist()
    return {split: (int((splits == place).sum()), sums[place]) for place, split in enumerate(fractions)}


class ShardAssignment:
    """Numbers, sizes and places of a part's documents.

    Args:
        path: file of a part written by :func:`assign_documents`.

    Attributes:
        longest: bytes of the part's longest document or piece.
        longest_in_pieces: bytes of its longest document that is in pieces, or 0.
        untagged: language of documents without a tag; empty if no document of the corpus has a tag.
        domain: source of a mixture that the part is of; empty for a single source, None if documents are not drawn.
        buckets: number of places of each shard.

    Raises:
        TokbenchError: it is missing or damaged.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.number = self.longest = self.longest_in_pieces = 0
        self.untagged, self.domain, self.buckets = "", None, 1
        for _, sizes, _ in self.read():
            self.number += len(sizes)
            self.longest = max(self.longest, int(sizes.max(initial=0)))

    def __len__(self) -> int:
        return self.number

    def read(self) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]]:
        """Yield batches of numbers, sizes and places, int64 [n] each."""
        with _open_file(self._path, "the places of a part's documents") as file:
            require(file.schema_arrow, **dict.fromkeys(PLACES.names, "whole numbers"))
            self.longest_in_pieces = longest_in(file.metadata.metadata)
            self.untagged = untagged_in(file.metadata.metadata)
            about = file.metadata.metadata or {}
            self.domain = about[DOMAIN].decode() if DOMAIN in about else None
            self.buckets = int(about.get(BUCKETS, 1))
            for batch in pieces(file, PLACES.names, ROWS):
                numbers, sizes, places = (array_of(column.cast(pa.int64())) for column in batch.columns)
                if batch.num_rows and (sizes.min() < 0 or places.min() < UNUSED or places.max() > MOST_PLACES):
                    raise ValueError("a document has less than no bytes, or an impossible place")
                yield numbers, sizes, places


def read_totals(folder: Path) -> ShardTotals:
    """Read documents and bytes of each place.

    Args:
        folder: folder filled by :func:`assign_documents`.

    Raises:
        TokbenchError: the file is missing or damaged.
    """
    with _open_file(folder / "shards.parquet", "the totals of shards") as file:
        require(file.schema_arrow, **dict.fromkeys(SHARDS.names, "whole numbers"))
        return ShardTotals(*(array_of(column.cast(pa.int64())) for column in read_rows(file, SHARDS.names).columns))


class _SourceDocuments:
    """Sizes, languages and digests of the documents within the limits of their source.

    Attributes:
        is_admitted: whether each document or piece is within the limits, bool [n].
        rests: indices of continuation pieces among the admitted documents and pieces.
        untagged: number of admitted documents without a language if others have one; known after :meth:`documents`.
    """

    def __init__(self, number: int, *, with_digests: bool) -> None:
        self._sources: dict[str, tuple[Source, int]] = {}
        self._digests = np.empty((number if with_digests else 0, 2), np.uint64)
        self._document_count = 0
        self._sizes = np.empty(number, np.int32)
        self._languages = np.empty(number, np.int32)
        self.is_admitted = np.ones(number, bool)
        self.rests = array("q")
        self._numbers: dict[str, int] = {}
        self._position = self._admitted_count = self.untagged = 0

    def begin(self, name: str, source: Source) -> None:
        """Begin the next source, whose limits apply to the documents that are added."""
        self._sources[name] = source, self._document_count
        self._source = source
        self._limits = Limits(source) if is_limited(source) else None

    def counts(self) -> list[int]:
        """Return the number of documents of each source."""
        counts: list[int] = np.diff([*(begin for _, begin in self._sources.values()), self._document_count]).tolist()
        return counts

    def piece_sizes(self) -> NDArray[np.int32]:
        """Return the sizes of documents and pieces, int32 [pieces]."""
        return self._sizes[: self._admitted_count]

    def documents(self) -> tuple[NDArray[np.integer], NDArray[np.int32]]:
        """Return sizes and languages of complete documents, and free them."""
        sizes, self._sizes = document_sizes(self._sizes[: self._admitted_count], self.rests), np.empty(0, np.int32)
        languages, self._languages = self._languages[: self._admitted_count], np.empty(0, np.int32)
        begins = [*(begin for _, begin in self._sources.values()), len(sizes)]
        for (name, (source, begin)), end in zip(self._sources.items(), begins[1:], strict=True):
            size = int(sizes[begin:end].sum(dtype=np.int64))
            check_text(source, end - begin, size, lambda: self._numbers, f"sources.{name}" if name else "source")
        self.untagged = merge_untagged(languages, self._numbers)
        return sizes, np.delete(languages, self.rests) if self.rests else languages

    def numbers(self) -> dict[str, NDArray[np.int64]]:
        """Return the numbers of complete documents in each source, int64 [documents]. They have gaps, as each piece has
        a number, too."""
        numbers = np.delete(np.arange(self._admitted_count), self.rests)
        begins = [begin for _, begin in self._sources.values()]
        parts = np.split(numbers, begins[1:])
        return {name: own - own[:1] for name, own in zip(self._sources, parts, strict=True)}

    def digests(self) -> NDArray[np.uint64]:
        """Return the digests of complete documents, uint64 [documents, 2], and free them."""
        digests, self._digests = self._digests[: self._document_count], np.empty((0, 2), np.uint64)
        return digests

    def add(
        self, sizes: NDArray[np.int64], tags: Sequence[str], which: NDArray[np.int32], digests: NDArray[np.uint64]
    ) -> None:
        """Add a batch of documents in the format of :class:`~tokbench.corpus.parts.PartSizes`."""
        languages = [language_of(self._source, tag) for tag in tags]
        positions = slice(self._position, self._position + len(sizes))
        if self._limits is not None:
            tags_or_none = map([*languages, None].__getitem__, which.tolist())
            within = np.fromiter(map(self._limits.admit_piece, tags_or_none, sizes.tolist()), bool, len(sizes))
            self.is_admitted[positions] = within
            sizes, which, digests = sizes[within], which[within], digests[within]
        numbered = self._document_count + np.cumsum(which >= 0) - 1
        if len(self._digests):
            self._digests[numbered] = digests  # The digest of the last piece covers the document.
        self._document_count += int((which >= 0).sum())
        target = slice(self._admitted_count, self._admitted_count + len(sizes))
        self._position, self._admitted_count = positions.stop, target.stop
        if len(long := np.flatnonzero(sizes > LONGEST)):
            raise TokbenchError(
                f"document {target.start + long[0]} of the source has {sizes[long[0]]:,} bytes, and a shard accepts "
                f"{LONGEST:,} per document; cut it into shorter documents"
            )
        self._sizes[target] = sizes
        numbers = [self._numbers.setdefault(language, len(self._numbers)) for language in languages]
        self._languages[target] = np.array([*numbers, UNUSED], np.int32)[which]
        self.rests.extend((target.start + np.flatnonzero(which < 0)).tolist())


def _add(totals: ShardTotals, places: NDArray[np.int64], sizes: NDArray[np.int64]) -> None:
    """Add documents to the totals of their places."""
    used = places != UNUSED
    places, sizes = places[used], sizes[used]
    np.add.at(totals.documents, places, 1)
    np.add.at(totals.bytes, places, sizes)
    np.maximum.at(totals.longest, places, sizes)


def _batch(schema: pa.Schema, *columns: NDArray[np.int64]) -> pa.RecordBatch:
    arrays = [
        number_column(column.astype(dtype_of(field.type), copy=False))
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _open_writer(path: Path, schema: pa.Schema) -> pq.ParquetWriter:
    return pq.ParquetWriter(path, schema, compression="zstd", write_page_checksum=True)


def _open_file(path: Path, content: str) -> AbstractContextManager[pq.ParquetFile]:
    return parquet(path, content, REMEDY)
