"""MDS shards, the format of pre-tokenized text for llm-foundry.

The layout is that of mosaicml-streaming 0.12, byte for byte as its ``MDSWriter`` writes it. Importing that library, and
torch with it, would take longer than encoding a small corpus.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.json import read_json

MAKE = "make them with 'tokbench pack'"
SHARD_BYTES = 1 << 26
"""Largest shard, in bytes: streaming's default."""


class ShardLayout:
    """Layout of sequences of one length in shards.

    A shard is the number of samples (uint32), n + 1 offsets from the start of the file (uint32), the shard's
    description (JSON) and the samples, all little-endian. All shards but the last contain the largest number of samples
    that fits.

    Attributes:
        sequence_length: ids per sequence.
        ids: ids in a full shard.
    """

    def __init__(self, sequence_length: int) -> None:
        self.sequence_length = sequence_length
        self._sample_bytes = 4 * sequence_length
        self._described: dict[str, object] = {
            "version": 2,
            "format": "mds",
            "compression": None,
            "hashes": [],
            "size_limit": SHARD_BYTES,
            "column_names": ["tokens"],
            "column_encodings": [f"ndarray:int32:{sequence_length}"],
            "column_sizes": [self._sample_bytes],
        }
        self._text = json.dumps(self._described, sort_keys=True).encode()
        self._capacity = max(1, (SHARD_BYTES - 8 - len(self._text)) // (self._sample_bytes + 4))
        self.ids = self._capacity * sequence_length

    @staticmethod
    def name(number: int) -> str:
        """Return the file name of a shard, counted from 0."""
        return f"shard.{number:05}.mds"

    def first(self, samples: int) -> int:
        """Return the offset in bytes of the first sample in a shard of ``samples`` samples."""
        return 4 + 4 * (samples + 1) + len(self._text)

    def write(self, folder: Path, number: int, ids: NDArray[np.int32]) -> None:
        """Write a shard from int32 [n], complete sequences."""
        samples = len(ids) // self.sequence_length
        offsets = self.first(samples) + self._sample_bytes * np.arange(samples + 1, dtype=np.int64)
        with (folder / self.name(number)).open("wb") as file:
            file.write(np.concatenate([[samples], offsets]).astype("<u4").tobytes())
            file.write(self._text)
            file.write(ids.astype("<i4", copy=False).data)

    def write_index(self, folder: Path, sequences: int) -> None:
        """Write the index of the shards of ``sequences`` sequences."""
        shards = []
        for number, before in enumerate(range(0, sequences, self._capacity)):
            samples = min(self._capacity, sequences - before)
            size = self.first(samples) + self._sample_bytes * samples
            raw = {"basename": self.name(number), "bytes": size, "hashes": {}}
            shards.append({**self._described, "samples": samples, "raw_data": raw, "zip_data": None})
        index = json.dumps({"version": 2, "shards": shards}, sort_keys=True)
        (folder / "index.json").write_text(index, encoding="utf-8")


def by_shard(blocks: Iterable[NDArray[np.int32]], size: int, first: int = 0) -> Iterator[tuple[int, NDArray[np.int32]]]:
    """Split ids at the boundaries of shards; yield each shard's number and its ids.

    An array is valid only until the next one is requested.

    Args:
        blocks: int32 arrays of any shape.
        size: ids per shard.
        first: number of preceding ids. Default: 0.
    """
    buffer = np.empty(size, "<i4")
    number, waiting = divmod(first, size)
    start = waiting
    for block in blocks:
        left = block.ravel()
        while len(left):
            more = min(len(left), size - waiting)
            buffer[waiting : waiting + more] = left[:more]
            waiting += more
            left = left[more:]
            if waiting == size:
                yield number, buffer[start:]
                number, waiting, start = number + 1, 0, 0
    if waiting > start:
        yield number, buffer[start:waiting]


def read_mds(folder: Path) -> Iterator[NDArray[np.int32]]:
    """Yield the token ids of packed sequences, one array per shard.

    Raises:
        TokbenchError: the folder does not contain packed sequences.
    """
    try:
        for shard in read_json(folder / "index.json", MAKE)["shards"]:
            name = shard["raw_data"]["basename"]
            if shard["compression"] or not shard["column_encodings"][0].startswith("ndarray:int32"):
                raise ValueError("unknown format of sequences")
            if Path(name).name != name:
                raise ValueError(f"{name!a} is not a file of this folder")
            yield _read_shard(folder / name)
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise TokbenchError(f"{folder}: not packed sequences ({error}); {MAKE}") from None


def _read_shard(path: Path) -> NDArray[np.int32]:
    """Return the token ids of a shard, int32 [n]."""
    data = path.read_bytes()
    samples = int(np.frombuffer(data, "<u4", 1)[0])
    offsets = np.frombuffer(data, "<u4", samples + 1, 4)
    if not offsets[0] <= offsets[-1] <= len(data):
        raise ValueError(f"{path.name}: truncated")
    return np.frombuffer(data, "<i4", (int(offsets[-1]) - int(offsets[0])) // 4, int(offsets[0]))
