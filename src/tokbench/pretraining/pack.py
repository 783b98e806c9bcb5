"""Packing: a corpus's tokens cut into sequences and written as MDS shards for llm-foundry."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.atomic import atomic_file, atomic_folder
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json
from tokbench.inputs.parquet import parquet, require, whole
from tokbench.pretraining.encoded import Encoded
from tokbench.pretraining.mds import read_mds, write_mds

PACKING = "packing.json"
"""File that describes a folder of packed sequences; it holds no times, so equal text gives equal files."""

JOINED = 1 << 22
"""Tokens that are laid end to end at a time, about."""


@dataclass(frozen=True, slots=True)
class Packing:
    """What a folder of packed sequences holds.

    Attributes:
        documents: documents encoded.
        text_bytes: their bytes.
        tokens: their tokens, one end of text a document included.
        sequences: sequences written.
        dropped_tokens: tokens at the end that did not fill a sequence.
        sequence_length: tokens in a sequence.
        vocabulary: tokens of the tokenizer, special ones not counted.
        end_of_text: id that ends every document.
        digest: BLAKE2 of the tokens written, as little-endian int32.
    """

    documents: int
    text_bytes: int
    tokens: int
    sequences: int
    dropped_tokens: int
    sequence_length: int
    vocabulary: int
    end_of_text: int
    digest: str

    @classmethod
    def read(cls, folder: Path) -> "Packing":
        """Read the description of a folder of packed sequences.

        Raises:
            TokbenchError: there is none.
        """
        remedy = "make it with 'tokbench pack'"
        values = read_json(folder / PACKING, remedy)
        for field in fields(cls):
            if type(values.get(field.name)) is not field.type:
                raise TokbenchError(f"{folder / PACKING}: no key '{field.name}' of its type; {remedy}")
        if len(values) > len(fields(cls)):
            raise TokbenchError(f"{folder / PACKING}: not packed sequences of this version; {remedy}")
        return cls(**values)


def pack(
    pieces: Iterable[Encoded], vocabulary: int, folder: Path, *, sequence_length: int, counts: Path | None = None
) -> Packing:
    """Join documents, cut them into sequences and write these, whole or not at all.

    Every document is followed by the end-of-text id, ``vocabulary``. Sequences run across documents; what is left
    at the end and does not fill one is dropped and counted. Equal text gives equal files, byte for byte.

    Args:
        pieces: the documents' tokens, in document order.
        vocabulary: tokens of the tokenizer, special ones not counted.
        folder: gets MDS shards with one column, ``tokens`` (int32 [sequence_length]), and ``packing.json``.
        sequence_length: tokens in a sequence.
        counts: Parquet file for how often each id stands in the sequences, see :func:`read_occurrences`.

    Raises:
        TokbenchError: the documents do not fill one sequence, or hold an id that is no token.
    """
    totals = {"documents": 0, "text_bytes": 0, "tokens": 0}
    occurrences = np.zeros(vocabulary + 1, np.int64)
    digest = hashlib.blake2b(digest_size=16)
    rest = np.empty(0, np.int32)

    def blocks() -> Iterator[NDArray[np.int32]]:
        nonlocal rest
        for group in _groups(pieces):
            tokens = np.concatenate([rest, *_with_ends(group, vocabulary)])
            totals["documents"] += sum(piece.ends for piece in group)
            totals["text_bytes"] += sum(piece.text_bytes for piece in group)
            totals["tokens"] += len(tokens) - len(rest)
            whole = len(tokens) // sequence_length * sequence_length
            digest.update(tokens[:whole].astype("<i4", copy=False).data)
            occurrences[:] += _counted(tokens[:whole], vocabulary)
            rest = tokens[whole:].copy()
            yield tokens[:whole].reshape(-1, sequence_length)

    with atomic_folder(folder, "packed sequences") as partial:
        sequences = write_mds(partial, blocks(), sequence_length)
        if not sequences:
            raise TokbenchError(
                f"the pretraining split has {totals['tokens']} tokens, fewer than one sequence of {sequence_length}; "
                "give it more text or lower max_seq_len"
            )
        packing = Packing(
            **totals,
            sequences=sequences,
            dropped_tokens=len(rest),
            sequence_length=sequence_length,
            vocabulary=vocabulary,
            end_of_text=vocabulary,
            digest=digest.hexdigest(),
        )
        (partial / PACKING).write_text(json.dumps(asdict(packing), indent=1) + "\n", encoding="utf-8")
        if counts is not None:
            table = pa.table({"id": np.arange(vocabulary + 1), "occurrences": occurrences})
            with atomic_file(counts) as file:
                pq.write_table(table, file, compression="zstd", write_page_checksum=True)
    return packing


def check_sequences(folder: Path, packing: Packing) -> None:
    """Read packed sequences through and hold them against their digest.

    Raises:
        TokbenchError: they are not those that were written.
    """
    digest = hashlib.blake2b(digest_size=16)
    for ids in read_mds(folder):
        digest.update(ids.data)
    if digest.hexdigest() != packing.digest:
        raise TokbenchError(f"{folder}: not the sequences that were written; delete it, and make it again")


def read_occurrences(path: Path, vocabulary: int) -> NDArray[np.int64]:
    """How often each id stands in packed sequences: int64 [vocabulary + 1], the last that of the end of text.

    Raises:
        TokbenchError: the file is no such file, or one of another tokenizer.
    """
    with parquet(path, "counts of tokens", "make them with 'tokbench pack --token-counts'") as file:
        require(file.schema_arrow, id="whole numbers", occurrences="whole numbers")
        table = whole(file, ["id", "occurrences"])
        ids, occurrences = (column.to_numpy().astype(np.int64, casting="safe") for column in table.columns)
        if not np.array_equal(ids, np.arange(len(ids))) or (len(ids) and occurrences.min() < 0):
            raise ValueError("ids are not 0, 1, 2, ..., or a count is below 0")
    if len(occurrences) != vocabulary + 1:
        raise TokbenchError(
            f"{path}: counts of {max(0, len(occurrences) - 1)} tokens for {vocabulary}; name the model's own tokenizer"
        )
    return occurrences


def _groups(pieces: Iterable[Encoded]) -> Iterator[list[Encoded]]:
    group: list[Encoded] = []
    size = 0
    for piece in pieces:
        group.append(piece)
        size += len(piece.ids) + piece.ends
        if size >= JOINED:
            yield group
            group, size = [], 0
    if group:
        yield group


def _counted(ids: NDArray[np.int32], vocabulary: int) -> NDArray[np.int64]:
    """int64 [vocabulary + 1], how often each id stands there."""
    if len(ids) and not 0 <= (wrong := int(ids.min())) <= (wrong := int(ids.max())) <= vocabulary:
        raise TokbenchError(f"id {wrong} is no token of this tokenizer; encode the text with it again")
    return np.bincount(ids, minlength=vocabulary + 1)


def _with_ends(pieces: Iterable[Encoded], end_of_text: int) -> Iterator[NDArray[np.int32]]:
    end = np.array([end_of_text], np.int32)
    for piece in pieces:
        yield piece.ids
        if piece.ends:
            yield end
