"""Checksums of files that have none of their own.

A flipped bit in a model's weights or in a table is a number like any other: nothing that reads it would notice.
Corpora, counts and scores are Parquet files with checksums of their pages; counts have one of their rows. Results in
JSON, tokenizers and packed sequences contain their own. The record of a folder has those of weights, tables, and
questions with their tasks.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

SUMMED = (".jsonl", ".mds", ".npy", ".parquet", ".pt", ".safetensors", ".yaml", "counts.json")
"""Ends of the names of files whose checksums the record of their folder has."""


def sha256(file: Path) -> str:
    """The checksum of a file, in hexadecimal digits."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def sums_of(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the checksums of those files of a folder that :data:`SUMMED` names, by their relative paths."""
    return {name: sha256(folder / name) for name in files if name.endswith(SUMMED)}
