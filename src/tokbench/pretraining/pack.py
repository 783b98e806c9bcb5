"""Packing: a corpus's tokens cut into sequences and written as MDS shards for llm-foundry."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.atomic import atomic_folder
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json
from tokbench.occurrences import write_occurrences
from tokbench.pretraining.budget import TextBudget
from tokbench.pretraining.laying import Asked, Laying
from tokbench.pretraining.mds import read_mds, write_mds
from tokbench.pretraining.order import Text

PACKING = "packing.json"
"""File that describes a folder of packed sequences; it holds no times, so equal text gives equal files."""


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

    def write(self, folder: Path) -> None:
        """Write it into a folder."""
        (folder / PACKING).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")


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
    asked = Asked.of(budget, text.text_bytes)
    end = vocabulary if end_of_text is None else end_of_text
    if occurrences is None:
        occurrences = np.zeros(vocabulary + 1, np.int64)
    laying = Laying(asked, vocabulary, end, occurrences)
    digest = hashlib.blake2b(digest_size=16)

    def ids() -> Iterator[NDArray[np.int32]]:
        yield from laying.ids(text.pieces)
        yield padding_after(laying.seen.tokens, sequence_length, vocabulary)

    def digested(ids: NDArray[np.int32]) -> NDArray[np.int32]:
        digest.update(ids.astype("<i4", copy=False).data)
        return ids

    with atomic_folder(folder, "packed sequences") as partial:
        write_mds(partial, map(digested, ids()), sequence_length)
        packing = described(
            laying,
            sequence_length=sequence_length,
            seed=seed,
            split_bytes=text.text_bytes,
            budget=budget,
            digest=digest.hexdigest(),
        )
        packing.write(partial)
        if counts is not None:
            write_occurrences(laying.occurrences, counts)
    return packing


def described(
    laying: Laying, *, sequence_length: int, seed: int, split_bytes: int, budget: TextBudget | None, digest: str
) -> Packing:
    """What sequences hold whose documents have been laid end to end."""
    padding = len(padding_after(laying.seen.tokens, sequence_length, laying.vocabulary))
    return Packing(
        **asdict(laying.seen),
        sequences=(laying.seen.tokens + padding) // sequence_length,
        padding=padding,
        sequence_length=sequence_length,
        vocabulary=laying.vocabulary,
        end_of_text=laying.end_of_text,
        seed=seed,
        split_bytes=split_bytes,
        budget=str(budget or ""),
        passes=laying.asked.passes,
        **{f"rest_{name}": value for name, value in asdict(laying.in_rest).items()},
        digest=digest,
    )


def padding_after(tokens: int, sequence_length: int, vocabulary: int) -> NDArray[np.int32]:
    """Int32 [n], what fills up the last sequence of so many tokens."""
    return np.full(-tokens % sequence_length, vocabulary + 1, np.int32)


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
