"""Checkpoints of a training, each with checksums: they hold pickles, so none is loaded that training did not write.

Training writes a file ``ba{batch}.partial``, or a folder ``ep0-ba{batch}`` to which every process adds its shard of the
model. Once that is whole, its checksums are noted in ``ba{batch}.pt.sha256`` or ``ba{batch}.sharded.sha256``, and it
becomes ``ba{batch}.pt`` or ``ba{batch}.sharded``; older ones are then deleted. Whatever the moment of a kill, every one
of these that training wrote has its checksums beside it.

What stands of a training before it is done, among its checkpoints, and whether its model stands already.
"""

import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.folder_record import sha256
from tokbench.models import training
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.pretraining.phases import Phase, described

checkpoints_log = logging.getLogger(__name__)

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


def write_checksums(folder: Path) -> None:
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


log = logging.getLogger("tokbench.models.pretraining")

NOTE = "recipe.json"
LOGS = "logs"
"""Folder of what each of several processes wrote."""
RUN = ("states", "huggingface", "gauges", LOGS, "curve.csv", NOTE)
"""What a run leaves among its checkpoints; the note, by which they are known as ours, goes last."""
RESUMABLE_CHANGES = frozenset({"checkpoint_every", "microbatch", "resources", "fsdp"})
"""Options that a training may be gone on with changed, for they decide the order of sums at most, as the number of
processes does; of ``fsdp`` all but its precision."""

Recipe = dict[str, Any]


def resume_key(options: ModelOptions, phases: Sequence[Phase]) -> Recipe:
    """What a training must agree with to be gone on with."""
    return {"options": _weighty(options.recipe()), "packed": described(phases)}


def prepare_run(phases: Sequence[Phase], recipe: Recipe, checkpoints: Path) -> None:
    """Check the sequences, discard checkpoints of another recipe, and put those of this one in order.

    Raises:
        TokbenchError: sequences that were altered, a folder that holds something else than checkpoints, or a checkpoint
            that training did not write.
    """
    for phase in phases:
        phase.check()
    note_recipe(checkpoints, recipe)
    recover(states(checkpoints))


def is_up_to_date(output: Path, recipe: Recipe) -> bool:
    """Whether a model of this recipe stands."""
    return training.is_made(output, recipe, _recipe_in)


def _recipe_in(settings: Mapping[str, Any]) -> Recipe:
    return {"options": _weighty(settings["options"]), "packed": settings["packing"]}


def note_recipe(checkpoints: Path, recipe: Recipe) -> None:
    """Discard checkpoints of another recipe and note down this one."""
    note = checkpoints / NOTE
    known = _noted(note)
    if known is None and checkpoints.exists() and any(checkpoints.iterdir()):
        raise TokbenchError(f"{checkpoints}: holds files that are no checkpoints; give the run a folder of its own")
    if known == recipe:
        return
    if known is not None:
        log.info("%s: made with other options or other sequences; discarded", checkpoints)
        discard_run(checkpoints)
    with atomic_file(note) as partial:
        partial.write_text(json.dumps(recipe, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def discard_run(checkpoints: Path) -> None:
    """Remove what a run leaves among its checkpoints, and the folder if nothing else is in it."""
    for name in RUN:
        if (checkpoints / name).is_dir():
            shutil.rmtree(checkpoints / name)
        else:
            (checkpoints / name).unlink(missing_ok=True)
    if not any(checkpoints.iterdir()):
        checkpoints.rmdir()


def _weighty(options: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in options.items() if key not in RESUMABLE_CHANGES}
    if not kept.get("evaluate_at"):
        kept.pop("evaluate_at", None)
    precision = (options.get("fsdp") or {}).get("mixed_precision", "full")
    return kept if precision == "full" else kept | {"fsdp": {"mixed_precision": precision}}


def _noted(note: Path) -> Recipe | None:
    """What a run noted down; None where no run did."""
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
        return {**noted, "options": _weighty(noted["options"])} if noted.keys() == {"options", "packed"} else None
    except (FileNotFoundError, ValueError, AttributeError):
        return None
