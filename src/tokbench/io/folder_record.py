"""Record of an output folder: its kind, its files and their checksums, so that foreign files are never replaced.

``.tokbench.json`` in the folder contains ``kind``, the sorted relative paths ``files``, optional checksums of files,
``sha256``, and for a result of the workflow the :mod:`record of its job <tokbench.io.job_record>`, ``job``, and the
time at which it was finished, ``date``, so that a copy without dates is not newer than what was made from it.

The checksums cover files whose format has none. A flipped bit in a model's weights or a table would otherwise go
unnoticed. The record lists the checksums of weights, tables, and questions with their tasks. Other outputs contain
their own: the pages of Parquet files (corpora, counts, scores), the rows of counts, JSON results, tokenizers and packed
sequences.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tokbench.errors import TokbenchError
from tokbench.io.job_record import DATE, FOLDER_RECORD, KEY, current_job

SUMMED = (".jsonl", ".mds", ".npy", ".parquet", ".pt", ".safetensors", ".yaml", "counts.json")
"""Endings of the files whose checksums are in the record."""


def sha256(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with file.open("rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


def sums_of(folder: Path, files: Iterable[str]) -> dict[str, str]:
    """Return the checksums of the files of a folder that match :data:`SUMMED`, by relative path."""
    return {name: sha256(folder / name) for name in files if name.endswith(SUMMED)}


NOT_CONTENT = (FOLDER_RECORD, ".snakemake_timestamp")
"""Files in an output folder that are not part of the output; the second is Snakemake's."""

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
"""Kinds of output folders. One kind never replaces another."""
SUMMED_ELSEWHERE: tuple[Kind, ...] = ("corpus", "packed sequences", "places", "shards", "tokens")
"""Kinds whose files contain checksums and are too large to be read again for another."""


class Record(NamedTuple):
    """Content of a record."""

    kind: Kind
    files: list[str]
    sha256: dict[str, str]


def write_record(folder: Path, kind: Kind, older: Path | None = None) -> None:
    """Write the record of a folder, including that of an older folder to which it will be added."""
    there, files, sums = (older and _read(older)) or Record(kind, [], {})
    new = list(_files(folder))
    record: dict[str, Any] = {**current_job(), "kind": there, "files": sorted({*files, *new})}
    if KEY in record:
        record[DATE] = time.time_ns()
    if there not in SUMMED_ELSEWHERE and (known := sums | sums_of(folder, new)):
        record["sha256"] = dict(sorted(known.items()))
    (folder / FOLDER_RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")


def reject_altered(file: Path, remedy: str) -> None:
    """Reject a file whose checksum differs from that in the record of its folder, or is missing there.

    A folder without a record, and a file that the record does not list, are not ours; they are accepted.

    Raises:
        TokbenchError: it was cut off or altered, or its checksum was removed; the message names it.
    """
    record = _read(file.parent)
    if record is None or not file.is_file():
        return
    noted = record.sha256.get(file.name)
    if noted is None:
        summed = record.kind not in SUMMED_ELSEWHERE and file.name.endswith(SUMMED)
        if summed and file.name in record.files:
            raise TokbenchError(f"{file}: its checksum is missing in {FOLDER_RECORD}; {remedy}")
    elif sha256(file) != noted:
        raise TokbenchError(f"{file}: not as it was written; {remedy}")


def kind_of(folder: Path) -> Kind | None:
    """Return the kind of an output folder; None if Tokbench did not write it."""
    record = _read(folder)
    return None if record is None else record.kind


def recorded_sums(folder: Path) -> dict[str, str]:
    """Return the checksums in a folder's record, by relative path; empty if there are none."""
    record = _read(folder)
    return {} if record is None else record.sha256


def reject_foreign_output(folder: Path, kind: Kind, named: Path | str | None = None) -> None:
    """Reject a folder that an output of this kind must not replace.

    It may replace a missing or empty folder, and one that Tokbench wrote as the same kind and that has no other files.

    Args:
        folder: folder to be replaced.
        kind: kind of the new output.
        named: name of the folder in messages (default: its path).

    Raises:
        TokbenchError: the folder is of another kind, or contains a foreign file; the message names it.
    """
    while (seen := _identity(folder)) is not None:
        try:
            reason = _foreign(folder, kind)
        except FileNotFoundError:
            continue
        if _identity(folder) != seen:
            continue  # Another process replaced the folder during the check.
        if reason is None:
            return
        raise TokbenchError(f"{named or folder}: contains {reason}")


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _foreign(folder: Path, kind: Kind) -> str | None:
    """Return the reason why a folder must not be replaced, with the remedy; None if it may be."""
    there, files, _ = _read(folder) or Record(kind, [], {})
    if there != kind:
        return f"other output ({there}, not {kind}); remove it, or name another folder"
    ours = set(files)
    foreign = next((file for file in _files(folder) if file not in ours), None)
    return foreign and f"{foreign}, which Tokbench did not write; name another folder"


def remove_written(folder: Path, kind: Kind) -> None:
    """Remove a folder if Tokbench wrote it as this kind and it has no other files."""
    try:
        reject_foreign_output(folder, kind)
    except TokbenchError:
        return
    shutil.rmtree(folder, ignore_errors=True)


def _files(folder: Path) -> Iterator[str]:
    """Yield the relative paths of all files in a folder, sorted per folder; links count as files."""

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
    """Read a folder's record; None if there is none or it is not valid."""
    try:
        record: Any = json.loads((folder / FOLDER_RECORD).read_text(encoding="utf-8"))
        kind, files, sums = record["kind"], record["files"], record.get("sha256", {})
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError, AttributeError):
        return None
    if kind not in get_args(Kind) or not isinstance(files, list) or not isinstance(sums, dict):
        return None
    if not all(isinstance(text, str) for text in (*files, *sums.values())):
        return None
    return Record(kind, files, sums)
