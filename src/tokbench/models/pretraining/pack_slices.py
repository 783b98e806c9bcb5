"""Token files of a large corpus, divided into slices of the order, and the packing of one slice.

The shards of a large corpus are encoded by several jobs. Each file contains its documents in reading order, divided at
the ends of slices, and totals of each slice. Each slice is packed by a job that reads its part of every file. The
totals give the number of ids before it.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokbench.errors import TokbenchError
from tokbench.io.arrow import array_of, number_column, truth_column
from tokbench.io.atomic import atomic_file, atomic_folder, link_or_copy
from tokbench.io.identity import (
    Maker,
    Makers,
    made_from,
    makers_in,
    makers_of_metadata,
    metadata_of,
    require_same,
)
from tokbench.io.job_record import job_metadata
from tokbench.io.json import read_json
from tokbench.io.parquet import PIECE, batches, parquet
from tokbench.models.pretraining.document_stream import TextLimit, TextTotals
from tokbench.models.pretraining.order import (
    EncodedDocument,
    OrderedDocuments,
    Slices,
    place_of,
    require_text,
    sort_documents,
)
from tokbench.models.pretraining.pack import PackedSlice, SliceForm, write_slice

GROUP_IDS = 1 << 18
"""Ids in a full row group. One row group is in memory while a file is read."""
SLICES = "slices.json"
"""File with the totals of the slices in a folder of tokens."""
AGAIN = "make it with 'tokbench encode_shard'"
ENCODE = "encode all shards with one tokenizer, and name it"
TOKENS = "a shard's tokens", AGAIN
KEY = b"tokbench.kernels.flat_arrays"
SCHEMA = pa.schema(
    [("document", pa.int64()), ("ends", pa.bool_()), ("text_bytes", pa.int64()), ("ids", pa.large_list(pa.int32()))]
)


@dataclass(frozen=True, slots=True)
class SliceContents:
    """Totals of the slices of some tokens.

    Attributes:
        slices: division of the order.
        read: documents, bytes and tokens of each slice.
        makers: the tokenizer.
    """

    slices: Slices
    read: Sequence[TextTotals]
    makers: Makers


def write_tokens(pieces: Iterable[EncodedDocument], slices: Slices, path: Path, tokenizer: str) -> None:
    """Write the tokens of a shard atomically as Parquet: one row per piece, with the columns of ``EncodedDocument``.

    A row group belongs to one slice. The metadata of the file contain the division into slices, and the documents,
    bytes, tokens and row groups of each slice.

    Args:
        pieces: documents in the order of the slices.
        slices: division of the order.
        path: the file.
        tokenizer: digest of the tokenizer.
    """
    ends = slices.ends()
    totals, groups = [TextTotals() for _ in ends], [0 for _ in ends]
    with (
        atomic_file(path) as partial,
        pq.ParquetWriter(
            partial, SCHEMA, compression="zstd", use_dictionary=False, write_statistics=False, write_page_checksum=True
        ) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())
        pieces_of_group: list[EncodedDocument] = []
        number = size = 0
        for piece in pieces:
            place = place_of(piece.document, slices.seed)
            # A row group ends with its slice, or when it is large enough.
            if pieces_of_group and (place >= ends[number] or size >= GROUP_IDS):
                writer.write_batch(_batch(pieces_of_group))
                groups[number] += 1
                pieces_of_group, size = [], 0
            # Pieces come in the order of slices.
            while place >= ends[number]:
                number += 1
            totals[number].take(piece)
            pieces_of_group.append(piece)
            size += 1 + len(piece.ids)
        if pieces_of_group:
            writer.write_batch(_batch(pieces_of_group))
            groups[number] += 1
        # Totals of each slice are in the file's metadata.
        described = asdict(slices) | {"read": [astuple(read) for read in totals], "row_groups": groups}
        writer.add_key_value_metadata({KEY.decode(): json.dumps(described), **metadata_of(tokenizer=tokenizer)})


def gather(paths: Sequence[Path], folder: Path) -> SliceContents:
    """Collect the tokens of all shards in an empty folder, and add up the totals of their slices.

    Files are hard-linked, or copied if linking fails.

    Raises:
        TokbenchError: a file is missing, was not written by :func:`write_tokens`, or has other slices or another
            tokenizer than the first.
    """
    first = None
    for number, path in enumerate(paths):
        with parquet(path, *TOKENS) as file:
            contents, _ = _contents(file)
        if first is None:
            first = contents
        elif contents.slices != first.slices:
            raise TokbenchError(
                f"{path}: {contents.slices}, where {paths[0]} has {first.slices}; encode them with the same options"
            )
        else:
            require_same(path, contents.makers, "tokenizer", Maker(first.makers.get("tokenizer", ""), paths[0]), ENCODE)
            for read, more in zip(first.read, contents.read, strict=True):
                read.add(more)
        link_or_copy(path, folder / f"{number:04}.parquet")
    if first is None:
        raise TokbenchError("no files of tokens; name those that 'tokbench encode_shard' made")
    described = asdict(first.slices) | {"read": [astuple(read) for read in first.read]} | made_from(**first.makers)
    (folder / SLICES).write_text(json.dumps(described) + "\n", encoding="utf-8")
    return first


def read_contents(folder: Path) -> SliceContents:
    """Read the totals of the slices of a folder of tokens.

    Raises:
        TokbenchError: the folder was not filled by :func:`gather`.
    """
    remedy = "make it with 'tokbench gather_tokens'"
    try:
        return _description(read_json(folder / SLICES, remedy))
    except (KeyError, TypeError, ValueError):
        raise TokbenchError(f"{folder / SLICES}: does not contain the totals of its slices; {remedy}") from None


def read_slice(folder: Path, number: int, tokenizer: Maker) -> Iterator[EncodedDocument]:
    """Yield the pieces of a slice from each file of a folder of tokens. One file is open at a time.

    Raises:
        TokbenchError: a file was not written by :func:`write_tokens`, or has ids of another tokenizer. The message
            names it.
    """
    for path in sorted(folder.glob("*.parquet")):
        with parquet(path, *TOKENS, in_pieces=True) as file:
            contents, groups = _contents(file)
            require_same(path, contents.makers, "tokenizer", tokenizer, ENCODE)
            yield from chain.from_iterable(map(_rows, batches(file, SCHEMA.names, PIECE, groups[number])))


def pack_slice(tokens: Path, number: int, form: SliceForm, folder: Path) -> PackedSlice:
    """Pack the documents of a slice atomically. Their ids are in a temporary file, four bytes each.

    Args:
        tokens: folder filled by :func:`gather`.
        number: number of the slice, from 0.
        form: options of packing.
        folder: see :func:`tokbench.models.pretraining.pack.write_slice`.

    Raises:
        TokbenchError: the tokens are those of another tokenizer or have other slices, there is no such slice, a phase
            has no text, a document occurs twice, or an id of a document is not a token.
    """
    contents = read_contents(tokens)
    require_same(tokens, contents.makers, "tokenizer", form.tokenizer, ENCODE)
    if contents.slices != form.slices:
        raise TokbenchError(f"{tokens}: {contents.slices}, not {form.slices}; encode the shards again")
    if number >= form.slices.number:
        raise TokbenchError(f"slice {number}: {tokens} has {form.slices.number}, counted from 0")
    phases = form.slices.by_phase()
    sizes = [sum(contents.read[slice_number].text_bytes for slice_number in slices) for slices in phases]
    if form.slices.second_phase is not None:
        require_text(sizes[0], sizes[1], form.slices)
    phase = next(phase for phase, slices in enumerate(phases) if number in slices)
    before = TextTotals()
    for slice_number in range(phases[phase].start, number):
        before.add(contents.read[slice_number])
    limit = TextLimit.of(form.budgets()[phase], sizes[phase])
    with atomic_folder(folder, "slice") as partial:
        pieces: Iterable[EncodedDocument] = ()
        if not 0 < limit.text_bytes <= before.text_bytes:
            read = read_slice(tokens, number, form.tokenizer)
            pieces = _reject_duplicates(sort_documents(read, form.slices.seed, folder.parent).pieces, tokens)
        return write_slice(OrderedDocuments(sizes[phase], pieces), number, limit, before, form, partial)


def _reject_duplicates(pieces: Iterable[EncodedDocument], tokens: Path) -> Iterator[EncodedDocument]:
    """Yield the pieces of documents in order.

    Raises:
        TokbenchError: a document occurs twice, as in shards of two corpora.
    """
    last: EncodedDocument | None = None
    for piece in pieces:
        if last is not None and last.ends and last.document == piece.document:
            advice = "gather the tokens of each shard of one corpus once"
            raise TokbenchError(f"{tokens}: document {piece.document} is in two shards; {advice}")
        last = piece
        yield piece


def _contents(file: pq.ParquetFile) -> tuple[SliceContents, list[range]]:
    """Return the totals of the slices of a file, and the row groups of each slice."""
    if not file.schema_arrow.equals(SCHEMA):
        raise ValueError("not the columns of a shard's tokens")
    metadata = file.metadata.metadata or {}
    described = json.loads(metadata[KEY]) | made_from(**makers_of_metadata(metadata))
    bounds = list(accumulate(described.pop("row_groups"), initial=0))
    if bounds[-1] != file.num_row_groups or bounds != sorted(bounds):
        raise ValueError("its row groups differ from its metadata")
    contents = _description(described)
    if len(bounds) != len(contents.read) + 1:
        raise ValueError("its slices differ from its metadata")
    return contents, [range(*edges) for edges in pairwise(bounds)]


def _description(described: dict[str, Any]) -> SliceContents:
    slices = Slices(described["seed"], described["number"], described["second_phase"])
    read = [TextTotals(*map(int, numbers)) for numbers in described["read"]]
    if len(read) != len(slices.ends()):
        raise ValueError("its slices differ from its metadata")
    return SliceContents(slices, read, makers_in(described))


def _rows(batch: pa.RecordBatch) -> Iterator[EncodedDocument]:
    document, ends, text_bytes, ids = (batch.column(name) for name in SCHEMA.names)
    if any(column.null_count for column in (document, ends, text_bytes, ids, ids.values)):
        raise ValueError("a cell is empty")
    numbers = [column.to_pylist() for column in (document, ends, text_bytes)]
    return map(EncodedDocument, *numbers, (array_of(row.values) for row in ids))


def _batch(pieces: Sequence[EncodedDocument]) -> pa.RecordBatch:
    bounds = np.concatenate([[0], np.cumsum([len(piece.ids) for piece in pieces])])
    ids = np.concatenate([piece.ids for piece in pieces])
    lists = pa.LargeListArray.from_arrays(number_column(bounds), number_column(ids))
    documents = number_column(np.array([piece.document for piece in pieces], np.int64))
    ends = truth_column(np.array([piece.ends for piece in pieces]))
    text_bytes = number_column(np.array([piece.text_bytes for piece in pieces], np.int64))
    return pa.record_batch([documents, ends, text_bytes, lists], SCHEMA)
