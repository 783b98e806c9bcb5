"""Checkpoints of a training, each with a checksum: they hold pickles, so none is loaded that training did not write.

Training writes ``ba{batch}.partial``. Once that is whole, its checksum is noted in ``ba{batch}.pt.sha256``, and it
becomes ``ba{batch}.pt``; older ones are then deleted. Whatever the moment of a kill, every ``.pt`` that training wrote
has its checksum beside it.
"""

import logging
from pathlib import Path

from tokbench.atomic import atomic_file
from tokbench.atomic.sums import sha256
from tokbench.errors import TokbenchError

log = logging.getLogger(__name__)

UNSEALED = ".partial"
LATEST = "latest.pt"
"""What resuming looks for: a link to the newest checkpoint."""


def states(checkpoints: Path) -> Path:
    """Where among what a run leaves its checkpoints are."""
    return checkpoints / "states"


def seal(folder: Path) -> None:
    """Note the checksum of a checkpoint that has been written, if there is one, and delete those before it."""
    for file in _by_batch(folder, UNSEALED):
        sealed = file.with_suffix(".pt")
        with atomic_file(_note(sealed)) as partial:
            partial.write_text(sha256(file) + "\n", encoding="ascii")
        file.rename(sealed)
        _delete_others(folder, sealed)


def recover(folder: Path) -> None:
    """Keep the newest checkpoint alone, and link to it under the name that resuming looks for.

    Raises:
        TokbenchError: it is not the one that training wrote; the message names it.
    """
    for file in _by_batch(folder, UNSEALED):
        file.unlink()
    (folder / LATEST).unlink(missing_ok=True)
    for newest in _by_batch(folder, ".pt")[-1:]:
        if not _note(newest).is_file():
            raise TokbenchError(f"{newest}: a checkpoint without a checksum; delete {folder.parent} to start over")
        if _note(newest).read_bytes() != f"{sha256(newest)}\n".encode():
            raise TokbenchError(f"{newest}: not the checkpoint that was written; delete {folder.parent} to start over")
        _delete_others(folder, newest)
        (folder / LATEST).symlink_to(newest.name)


def _delete_others(folder: Path, kept: Path) -> None:
    """Delete all checkpoints but one, each before its checksum."""
    for file in _by_batch(folder, ".pt"):
        if file != kept:
            file.unlink()
    for note in folder.glob("ba*.pt.sha256"):
        if note != _note(kept):
            note.unlink()


def _by_batch(folder: Path, suffix: str) -> list[Path]:
    """Checkpoints in the order in which they were written; files of other names are passed over."""
    found = (file for file in folder.glob(f"ba*{suffix}") if file.stem[2:].isdecimal())
    return sorted(found, key=lambda file: int(file.stem[2:]))


def _note(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.sha256")
