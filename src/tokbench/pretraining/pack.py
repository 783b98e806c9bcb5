"""Packing: a corpus encoded once, cut into sequences, and written as MDS shards for llm-foundry."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import chain
from pathlib import Path
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.atomic import atomic_folder
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json
from tokbench.pretraining.mds import write_mds

PACKING = "packing.json"
"""File that describes a folder of packed sequences; it holds no times, so equal text gives equal files."""

ENCODE_BYTES = 8 << 20
"""Text encoded at a time: short documents together, long ones in pieces where the tokenizer can cut them."""
COPIES = 8
"""Bytes held for each of a document that cannot be cut: four of its text, as it is read, and four of its ids."""


class Encoder(Protocol):
    """What packing asks of a tokenizer."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]: ...

    def last_cut(self, text: bytes) -> int: ...

    def __len__(self) -> int: ...


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


def pack(tokenizer: Encoder, documents: Iterable[bytes], folder: Path, *, sequence_length: int) -> Packing:
    """Encode documents, join them, cut them into sequences and write these, whole or not at all.

    Every document is followed by the end-of-text id, ``len(tokenizer)``. Sequences run across documents; what is left
    at the end and does not fill one is dropped and counted. Equal text gives equal files, byte for byte.

    Args:
        tokenizer: encodes the text.
        documents: text, in document order.
        folder: gets MDS shards with one column, ``tokens`` (int32 [sequence_length]), and ``packing.json``.
        sequence_length: tokens in a sequence.

    Raises:
        TokbenchError: the documents do not fill one sequence.
    """
    counts = {"documents": 0, "text_bytes": 0, "tokens": 0}
    digest = hashlib.blake2b(digest_size=16)
    rest = np.empty(0, np.int32)

    def blocks() -> Iterator[NDArray[np.int32]]:
        nonlocal rest
        for pieces in _groups(documents, tokenizer):
            tokens = _joined(tokenizer, pieces, rest)
            counts["documents"] += sum(piece.ends for piece in pieces)
            counts["text_bytes"] += sum(len(piece.text) for piece in pieces)
            counts["tokens"] += len(tokens) - len(rest)
            whole = len(tokens) // sequence_length * sequence_length
            digest.update(tokens[:whole].astype("<i4", copy=False).data)
            rest = tokens[whole:].copy()
            yield tokens[:whole].reshape(-1, sequence_length)

    with atomic_folder(folder, "packed sequences") as partial:
        sequences = write_mds(partial, blocks(), sequence_length)
        if not sequences:
            raise TokbenchError(
                f"the pretraining split has {counts['tokens']} tokens, fewer than one sequence of {sequence_length}; "
                "give it more text or lower max_seq_len"
            )
        packing = Packing(
            **counts,
            sequences=sequences,
            dropped_tokens=len(rest),
            sequence_length=sequence_length,
            vocabulary=len(tokenizer),
            end_of_text=len(tokenizer),
            digest=digest.hexdigest(),
        )
        (partial / PACKING).write_text(json.dumps(asdict(packing), indent=1) + "\n", encoding="utf-8")
    return packing


class _Piece(NamedTuple):
    """Text that is encoded by itself, and whether its document ends with it."""

    text: bytes
    ends: bool


def _groups(documents: Iterable[bytes], tokenizer: Encoder) -> Iterator[list[_Piece]]:
    group: list[_Piece] = []
    size = 0
    for piece in chain.from_iterable(_pieces(document, tokenizer) for document in documents):
        group.append(piece)
        size += len(piece.text)
        if size >= ENCODE_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _pieces(document: bytes, tokenizer: Encoder) -> Iterator[_Piece]:
    """A document in pieces whose ids, one after another, are those of the whole."""
    start = 0
    if len(document) > ENCODE_BYTES:
        for first in range(0, len(document), ENCODE_BYTES):
            if cut := tokenizer.last_cut(document[first : first + ENCODE_BYTES]):
                yield _Piece(document[start : first + cut], False)
                start = first + cut
    yield _Piece(document[start:], True)


def _joined(tokenizer: Encoder, pieces: Sequence[_Piece], rest: NDArray[np.int32]) -> NDArray[np.int32]:
    end = np.array([len(tokenizer)], np.int32)
    parts = [rest]
    for piece, ids in zip(pieces, tokenizer.encode_batch([piece.text for piece in pieces]), strict=True):
        parts += (ids, end) if piece.ends else (ids,)
    return np.concatenate(parts)
