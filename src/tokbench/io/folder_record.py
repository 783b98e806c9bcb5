"""The record of a folder: what wrote it, and which files, so that nothing else is ever replaced.

``.tokbench.json`` in the folder holds ``kind``, the sorted relative paths, ``files``, and checksums of some of the
files, ``sha256``, where there are any. It says nothing of time or place, so that equal outputs have equal records.

Checksums of files that have none of their own.

A flipped bit in a model's weights or in a table is a number like any other: nothing that reads it would notice.
Corpora, counts and scores are Parquet files with checksums of their pages; counts have one of their rows. Results in
JSON, tokenizers and packed sequences contain their own. The record of a folder has those of weights, tables, and
questions with their tasks.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tokbench.errors import TokbenchError

SUMMED = (".jsonl", ".mds", ".npy", ".parquet", ".pt", ".safetensors", ".yaml", "counts.json")
"""Ends of the names of files whose checksums the record of their folder has."""


def sha256(file: Path) -> str:
    """The checksum of a file, in hexadecimal digits."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def sums_of(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the checksums of those files of a folder that :data:`SUMMED` names, by their relative paths."""
    return {name: sha256(folder / name) for name in files if name.endswith(SUMMED)}


RECORD = ".tokbench.json"
NOT_CONTENT = (RECORD, ".snakemake_timestamp")
"""Files that stand in an output's folder and are none of what it holds; the second is Snakemake's."""

Kind = Literal[
    "byte language model",
    "checkpoint",
    "corpus",
    "embeddings",
    "export",
    "examples",
    "fetched tasks",
    "fetched tokenizer",
    "figures",
    "model",
    "packed sequences",
    "parallel corpus",
    "places",
    "published",
    "shards",
    "slice",
    "statistics",
    "tables",
    "tasks",
    "tokens",
    "tokenizer",
    "translation model",
    "typeset tables",
]
"""What a folder may hold; one kind never replaces another."""
SUMMED_ELSEWHERE: tuple[Kind, ...] = ("corpus", "packed sequences", "places", "shards", "tokens")
"""Kinds whose files bear checksums, and are too large to be read once more for another."""


class Record(NamedTuple):
    """What a record says."""

    kind: Kind
    files: list[str]
    sha256: dict[str, str]


def write_record(folder: Path, kind: Kind, older: Path | None = None) -> None:
    """Write down what a folder holds, and what the record of an older one says that it will be added to."""
    there, files, sums = (older and _read(older)) or Record(kind, [], {})
    new = list(_files(folder))
    record: dict[str, Any] = {"kind": there, "files": sorted({*files, *new})}
    if there not in SUMMED_ELSEWHERE and (known := sums | sums_of(folder, new)):
        record["sha256"] = dict(sorted(known.items()))
    (folder / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def reject_altered(file: Path, remedy: str) -> None:
    """Reject a file whose checksum is not the one in the record of its folder; what is in no record passes.

    Raises:
        TokbenchError: it was cut off or altered; the message names it.
    """
    record = _read(file.parent)
    noted = record and record.sha256.get(file.name)
    if noted and file.is_file() and sha256(file) != noted:
        raise TokbenchError(f"{file}: not as it was written; {remedy}")


def reject_foreign_output(folder: Path, kind: Kind, named: Path | str | None = None) -> None:
    """Reject a folder that an output of this kind must not replace.

    It may replace what is missing or empty, and what Tokbench wrote as the same kind, if that holds nothing but what
    was written.

    Args:
        folder: what would be replaced.
        kind: what by.
        named: what messages call the folder.

    Raises:
        TokbenchError: the folder is of another kind, or holds a file of somebody else's; the message names it.
    """
    while (seen := _identity(folder)) is not None:
        try:
            reason = _foreign(folder, kind)
        except FileNotFoundError:
            continue
        if _identity(folder) != seen:
            continue  # Another process has put its own in the place of what was looked at.
        if reason is None:
            return
        raise TokbenchError(f"{named or folder}: holds {reason}")


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _foreign(folder: Path, kind: Kind) -> str | None:
    """What a folder holds that must not be replaced, and the remedy."""
    there, files, _ = _read(folder) or Record(kind, [], {})
    if there != kind:
        return f"other output ({there}, not {kind}); remove it, or name another folder"
    ours = set(files)
    foreign = next((file for file in _files(folder) if file not in ours), None)
    return foreign and f"{foreign}, which Tokbench did not write; name another folder"


def remove_written(folder: Path, kind: Kind) -> None:
    """Remove a folder that Tokbench wrote as this kind and that holds nothing else; leave any other."""
    try:
        reject_foreign_output(folder, kind)
    except TokbenchError:
        return
    shutil.rmtree(folder, ignore_errors=True)


def _files(folder: Path) -> Iterator[str]:
    """Relative paths of the files in a folder, each folder's in order; links count as files wherever they lead."""

    def reject(error: OSError) -> None:
        raise error

    for place, folders, files in os.walk(folder, onerror=reject):
        folders.sort()
        links = [name for name in folders if os.path.islink(os.path.join(place, name))]
        for name in sorted([*files, *links]):
            path = os.path.relpath(os.path.join(place, name), folder)
            if path not in NOT_CONTENT:
                yield path


def _read(folder: Path) -> Record | None:
    """What a folder's record says; None where there is none that we could have written."""
    try:
        record: Any = json.loads((folder / RECORD).read_text(encoding="utf-8"))
        kind, files, sums = record["kind"], record["files"], record.get("sha256", {})
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if kind not in get_args(Kind) or not isinstance(files, list) or not isinstance(sums, dict):
        return None
    if not all(isinstance(text, str) for text in (*files, *sums.values())):
        return None
    return Record(kind, files, sums)
