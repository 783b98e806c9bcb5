"""Checkpoints of a training, each with checksums: they hold pickles, so none is loaded that training did not write.

Training writes a file ``ba{batch}.partial``, or a folder ``ep0-ba{batch}`` to which every process adds its shard of the
model. Once that is whole, its checksums are noted in ``ba{batch}.pt.sha256`` or ``ba{batch}.sharded.sha256``, and it
becomes ``ba{batch}.pt`` or ``ba{batch}.sharded``; older ones are then deleted. Whatever the moment of a kill, every one
of these that training wrote has its checksums beside it.
"""

import logging
import shutil
from pathlib import Path

from tokbench.atomic import atomic_file
from tokbench.atomic.sums import sha256
from tokbench.errors import TokbenchError

log = logging.getLogger(__name__)

UNSEALED = ".partial"
UNSEALED_SHARDS = "ep0-"
"""How a folder of shards begins until it is sealed: Composer's name, a whole training being its epoch 0."""
WHOLE = ".pt"
SHARDED = ".sharded"
LATEST = "latest.pt"
"""What resuming looks for: a link to the newest checkpoint."""


def states(checkpoints: Path) -> Path:
    """Where among what a run leaves its checkpoints are."""
    return checkpoints / "states"


def seal(folder: Path) -> None:
    """Note the checksums of a checkpoint that has been written, if there is one, and delete those before it."""
    for written in _unsealed(folder):
        sealed = folder / f"{written.stem.removeprefix(UNSEALED_SHARDS)}{SHARDED if written.is_dir() else WHOLE}"
        with atomic_file(_note(sealed)) as partial:
            partial.write_text(_sums(written), encoding="utf-8")
        written.rename(sealed)
        _delete_others(folder, sealed)


def recover(folder: Path) -> None:
    """Keep the newest checkpoint alone, and link to it under the name that resuming looks for.

    Raises:
        TokbenchError: it is not the one that training wrote; the message names it.
    """
    for written in _unsealed(folder):
        _delete(written)
    (folder / LATEST).unlink(missing_ok=True)
    sealed = newest(folder)
    if sealed is None:
        return
    if not _note(sealed).is_file():
        raise TokbenchError(f"{sealed}: a checkpoint without a checksum; delete {folder.parent} to start over")
    if _note(sealed).read_bytes() != _sums(sealed).encode():
        raise TokbenchError(f"{sealed}: not the checkpoint that was written; delete {folder.parent} to start over")
    _delete_others(folder, sealed)
    (folder / LATEST).symlink_to(sealed.name)


def newest(folder: Path) -> Path | None:
    """The last checkpoint that was sealed, a file or a folder of shards; none where there is none."""
    return max(_sealed(folder), key=_batch, default=None)


def _sums(checkpoint: Path) -> str:
    """Checksums as they are noted: of a file its own, of a folder those of all its files with their names."""
    if not checkpoint.is_dir():
        return f"{sha256(checkpoint)}\n"
    return "".join(f"{sha256(file)}  {file.name}\n" for file in sorted(checkpoint.iterdir()) if file.is_file())


def _delete_others(folder: Path, kept: Path) -> None:
    """Delete all checkpoints but one, each before its checksums."""
    for sealed in _sealed(folder):
        if sealed != kept:
            _delete(sealed)
    for note in folder.glob("ba*.sha256"):
        if note != _note(kept):
            note.unlink()


def _delete(checkpoint: Path) -> None:
    if checkpoint.is_dir():
        shutil.rmtree(checkpoint)
    else:
        checkpoint.unlink()


def _unsealed(folder: Path) -> list[Path]:
    """Checkpoints that are being written; files of other names are passed over."""
    found = [*folder.glob(f"ba*{UNSEALED}"), *folder.glob(f"{UNSEALED_SHARDS}ba*")]
    return sorted((one for one in found if _numbered(one)), key=_batch)


def _sealed(folder: Path) -> list[Path]:
    return [one for kind in (WHOLE, SHARDED) for one in folder.glob(f"ba*{kind}") if _numbered(one)]


def _numbered(checkpoint: Path) -> bool:
    return checkpoint.stem.removeprefix(UNSEALED_SHARDS)[2:].isdecimal()


def _batch(checkpoint: Path) -> int:
    return int(checkpoint.stem.removeprefix(UNSEALED_SHARDS)[2:])


def _note(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.sha256")
