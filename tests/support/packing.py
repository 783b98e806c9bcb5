"""Packed sequences of a tokenizer whose tokens are the bytes."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.documents import Document
from tokbench.pretraining.budget import TextBudget
from tokbench.pretraining.encoded import Encoded, encoded
from tokbench.pretraining.mds import Shards, by_shard, read_mds
from tokbench.pretraining.order import in_order
from tokbench.pretraining.pack import pack

DOCUMENTS = [b"the cat sat on the mat. " * 20, b"", b"\xff\x00 and then the dog sat " * 12]


class Bytes:
    """A tokenizer whose tokens are the bytes."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        return [np.frombuffer(text, np.uint8).astype(np.int32) for text in texts]

    def last_cut(self, text: bytes) -> int:
        return len(text)

    def __len__(self) -> int:
        return 256


class Pairs(Bytes):
    """A tokenizer whose tokens are two bytes, and one where one is left."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        return [np.array([text[place] for place in range(0, len(text), 2)], np.int32) for text in texts]


def pieces(documents: Iterable[bytes]) -> Iterator[Encoded]:
    return encoded(Bytes(), (Document(number, "", text) for number, text in enumerate(documents)))


def packed_documents(
    folder: Path, documents: Iterable[bytes] = DOCUMENTS, budget: TextBudget | None = None, seed: int = 17
) -> Path:
    """The documents as sequences of 32 tokens, in this folder."""
    folder.parent.mkdir(exist_ok=True)
    text = in_order(pieces(documents), seed, folder.parent)
    pack(text, 256, folder, sequence_length=32, seed=seed, budget=budget)
    return folder


def write_mds(folder: Path, blocks: Iterable[NDArray[np.int32]], sequence_length: int) -> int:
    """Write sequences into an empty folder, as shards and their ``index.json``; return their number."""
    shards = Shards(sequence_length)
    total = 0
    for number, ids in by_shard(blocks, shards.ids):
        shards.write(folder, number, ids)
        total += len(ids)
    shards.write_index(folder, total // sequence_length)
    return total // sequence_length


def ids_of(folder: Path) -> list[int]:
    """The ids of the sequences, padding left out."""
    return [token for block in read_mds(folder) for token in block.tolist() if token != 257]


def shown(folder: Path, start: int = 0, **length: int) -> list[tuple[list[int], list[int]]]:
    from tokbench.pretraining.sequences import PackedSequences

    sequences = PackedSequences(folder, **length)
    sequences.load_state_dict(sequences.state_dict(length["batch"] * start, True))
    return [(ids.tolist(), labels.tolist()) for ids, labels in sequences]
