"""Packing: a corpus's tokens cut into sequences and written as MDS shards for llm-foundry."""

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.atomic import atomic_folder
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json
from tokbench.occurrences import write_occurrences
from tokbench.pretraining.budget import TextBudget
from tokbench.pretraining.encoded import Encoded
from tokbench.pretraining.mds import read_mds, write_mds
from tokbench.pretraining.order import Text

PACKING = "packing.json"
"""File that describes a folder of packed sequences; it holds no times, so equal text gives equal files."""

JOINED = 1 << 22
"""Tokens that are laid end to end at a time, about."""


@dataclass(slots=True)
class Read:
    """Documents, bytes and tokens of a text, ends of text among the tokens."""

    documents: int = 0
    text_bytes: int = 0
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Packing:
    """What a folder of packed sequences holds, and how a training reads it.

    A training reads the sequences in their order, pass after pass. Where its budget is one of text, ``passes`` whole
    ones and then so many tokens of another as belong to the documents that fill the budget.

    Attributes:
        documents: documents of the sequences.
        text_bytes: their bytes.
        tokens: their tokens, one end of text a document included.
        sequences: sequences written.
        padding: ids at the end of the last sequence that are no tokens of the text.
        sequence_length: ids in a sequence.
        vocabulary: tokens of the tokenizer, special ones not counted.
        end_of_text: id that ends every document; that of the padding is ``vocabulary + 1``.
        seed: decided the order of the documents.
        split_bytes: bytes of all documents that there are.
        budget: the budget of text, see :func:`tokbench.pretraining.budget.of_text`; empty where it is none of text.
        passes: whole passes; 0 where the budget is none of text.
        rest_documents: documents of the last pass, which is not whole.
        rest_text_bytes: their bytes.
        rest_tokens: their tokens.
        digest: BLAKE2 of the ids written, as little-endian int32.
    """

    documents: int
    text_bytes: int
    tokens: int
    sequences: int
    padding: int
    sequence_length: int
    vocabulary: int
    end_of_text: int
    seed: int
    split_bytes: int
    budget: str
    passes: int
    rest_documents: int
    rest_text_bytes: int
    rest_tokens: int
    digest: str

    def told(self) -> str:
        """What it is, in one sentence."""
        return (
            f"{self.sequences:,} sequences of {self.sequence_length:,} ids: {self.documents:,} documents, "
            f"{self.text_bytes:,} bytes, {self.tokens:,} tokens with an end of text ({self.end_of_text}) each"
        )

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
    text: Text,
    vocabulary: int,
    folder: Path,
    *,
    sequence_length: int,
    seed: int,
    end_of_text: int | None = None,
    budget: TextBudget | None = None,
    counts: Path | None = None,
    occurrences: NDArray[np.int64] | None = None,
) -> Packing:
    """Join documents, cut them into sequences and write these, whole or not at all.

    Every document is followed by the end-of-text id. Sequences run across documents, the last one is filled up with the
    padding id, ``vocabulary + 1``. A budget ends with the document that reaches it; of a split that
    is larger nothing else is written. Equal text gives equal files, byte for byte.

    Args:
        text: the documents' tokens, in the order in which they are to be read.
        vocabulary: tokens of the tokenizer, special ones not counted.
        folder: gets MDS shards with one column, ``tokens`` (int32 [sequence_length]), and ``packing.json``.
        sequence_length: ids in a sequence.
        seed: what decided the order.
        end_of_text: the id that ends every document; ``vocabulary`` where left out.
        budget: text that a training reads; as often as it takes where left out.
        counts: Parquet file for how often each id stands in the sequences, see :mod:`tokbench.occurrences`.
        occurrences: int64 [vocabulary + 1], to which these numbers are added, where sequences lie in several folders.

    Raises:
        TokbenchError: there is no text, or a document holds an id that is no token.
    """
    if not text.text_bytes:
        raise TokbenchError("the pretraining split has no text; give it a share of some")
    end = vocabulary if end_of_text is None else end_of_text
    asked = budget.bytes_of(text.text_bytes) if budget else 0
    passes, rest = divmod(asked, text.text_bytes) if asked > text.text_bytes else (int(asked > 0), 0)
    seen, in_rest = Read(), Read()
    seen_ids = np.zeros(vocabulary + 1, np.int64) if occurrences is None else occurrences
    digest = hashlib.blake2b(digest_size=16)
    padding = 0

    def blocks() -> Iterator[NDArray[np.int32]]:
        nonlocal padding
        left = np.empty(0, np.int32)
        for group in _groups(_budgeted(text.pieces, asked, rest, seen, in_rest)):
            ids = np.concatenate([left, *_with_ends(group, end)])
            seen_ids[:] += _counted(ids[len(left) :], vocabulary)
            whole = len(ids) // sequence_length * sequence_length
            left = ids[whole:].copy()
            yield digested(ids[:whole])
        if len(left):
            padding = sequence_length - len(left)
            yield digested(np.pad(left, (0, padding), constant_values=vocabulary + 1))

    def digested(ids: NDArray[np.int32]) -> NDArray[np.int32]:
        digest.update(ids.astype("<i4", copy=False).data)
        return ids.reshape(-1, sequence_length)

    with atomic_folder(folder, "packed sequences") as partial:
        sequences = write_mds(partial, blocks(), sequence_length)
        packing = Packing(
            **asdict(seen),
            sequences=sequences,
            padding=padding,
            sequence_length=sequence_length,
            vocabulary=vocabulary,
            end_of_text=end,
            seed=seed,
            split_bytes=text.text_bytes,
            budget=str(budget or ""),
            passes=passes,
            **{f"rest_{name}": value for name, value in asdict(in_rest).items()},
            digest=digest.hexdigest(),
        )
        (partial / PACKING).write_text(json.dumps(asdict(packing), indent=1) + "\n", encoding="utf-8")
        if counts is not None:
            write_occurrences(seen_ids, counts)
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


def _budgeted(pieces: Iterable[Encoded], asked: int, rest: int, seen: Read, in_rest: Read) -> Iterator[Encoded]:
    """Pieces up to the end of the document by which so many bytes are asked for; all where none are.

    ``seen`` is what was read so far, ``in_rest`` what was read with the document that brings it to ``rest`` bytes.
    """
    for piece in pieces:
        seen.documents += piece.ends
        seen.text_bytes += piece.text_bytes
        seen.tokens += len(piece.ids) + piece.ends
        yield piece
        if piece.ends and rest and not in_rest.documents and seen.text_bytes >= rest:
            in_rest.documents, in_rest.text_bytes, in_rest.tokens = seen.documents, seen.text_bytes, seen.tokens
        if piece.ends and asked and seen.text_bytes >= asked:
            return


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
