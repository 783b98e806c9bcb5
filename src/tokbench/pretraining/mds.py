"""MDS shards, the form in which llm-foundry takes pre-tokenized text.

Written here in the layout of mosaicml-streaming 0.12, byte for byte what its ``MDSWriter`` writes, because importing
that library, and torch with it, takes longer than encoding a small corpus.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json

MAKE = "make them with 'tokbench pack'"
SHARD_BYTES = 1 << 26
"""Largest shard, in bytes: streaming's own default."""


def write_mds(folder: Path, blocks: Iterable[NDArray[np.int32]], sequence_length: int) -> int:
    """Write sequences into an empty folder, as shards and their ``index.json``; return how many there were.

    A shard is the number of samples (uint32), n + 1 offsets from the file's start (uint32), the shard's description
    (JSON) and the samples, all little-endian. One shard is held in memory, and a block.

    Args:
        folder: where the shards go.
        blocks: int32 [n, sequence_length] each, any n.
        sequence_length: tokens in a sequence.
    """
    sample_bytes = 4 * sequence_length
    description: dict[str, object] = {
        "version": 2,
        "format": "mds",
        "compression": None,
        "hashes": [],
        "size_limit": SHARD_BYTES,
        "column_names": ["tokens"],
        "column_encodings": [f"ndarray:int32:{sequence_length}"],
        "column_sizes": [sample_bytes],
    }
    text = json.dumps(description, sort_keys=True).encode()
    capacity = max(1, (SHARD_BYTES - 8 - len(text)) // (sample_bytes + 4))
    shards: list[dict[str, object]] = []
    held = np.empty((capacity, sequence_length), "<i4")
    waiting = total = 0

    def flush(samples: NDArray[np.int32]) -> None:
        first = 4 + 4 * (len(samples) + 1) + len(text)
        offsets = first + sample_bytes * np.arange(len(samples) + 1, dtype=np.int64)
        name = f"shard.{len(shards):05}.mds"
        with (folder / name).open("wb") as file:
            file.write(np.concatenate([[len(samples)], offsets]).astype("<u4").tobytes())
            file.write(text)
            file.write(samples.data)
            raw = {"basename": name, "bytes": file.tell(), "hashes": {}}
        shards.append({**description, "samples": len(samples), "raw_data": raw, "zip_data": None})

    for block in blocks:
        total += len(block)
        while len(block):
            more = min(len(block), capacity - waiting)
            held[waiting : waiting + more] = block[:more]
            waiting += more
            block = block[more:]
            if waiting == capacity:
                flush(held)
                waiting = 0
    if waiting:
        flush(held[:waiting])
    index = json.dumps({"version": 2, "shards": shards}, sort_keys=True)
    (folder / "index.json").write_text(index, encoding="utf-8")
    return total


def read_mds(folder: Path) -> Iterator[NDArray[np.int32]]:
    """The token ids of packed sequences, shard by shard.

    Raises:
        TokbenchError: the folder holds no such sequences.
    """
    try:
        for shard in read_json(folder / "index.json", MAKE)["shards"]:
            name = shard["raw_data"]["basename"]
            if shard["compression"] or not shard["column_encodings"][0].startswith("ndarray:int32"):
                raise ValueError("another form of sequences")
            if Path(name).name != name:
                raise ValueError(f"{name!a} is no file of this folder")
            data = (folder / name).read_bytes()
            samples = int(np.frombuffer(data, "<u4", 1)[0])
            offsets = np.frombuffer(data, "<u4", samples + 1, 4)
            if not offsets[0] <= offsets[-1] <= len(data):
                raise ValueError(f"{name}: truncated")
            yield np.frombuffer(data, "<i4", (int(offsets[-1]) - int(offsets[0])) // 4, int(offsets[0]))
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise TokbenchError(f"{folder}: not packed sequences ({error}); {MAKE}") from None
