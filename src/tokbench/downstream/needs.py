"""What an evaluation holds beside its model."""

from collections.abc import Iterable
from pathlib import Path

from tokbench.inputs.parquet import parquet

DOCUMENT = 2_000
"""Bytes that are held of a document beside its text: its measures, with each cut of windows."""


def documents_held(shards: Iterable[Path | str]) -> int:
    """Bytes in which the documents of shards are held.

    Raises:
        TokbenchError: one of them is not there or damaged.
    """
    held = 0
    for path in shards:
        with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again") as file:
            groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
            held += DOCUMENT * file.metadata.num_rows + sum(group.total_byte_size for group in groups)
    return held
