"""Checkpoints of a training with checksums, and the state of unfinished runs.

Checkpoints contain pickles, so only those that training wrote are loaded. Training writes a file ``ba{batch}.partial``,
or a folder ``ep0-ba{batch}`` with one shard per process. When it is complete, its checksums are written to
``ba{batch}.pt.sha256`` or ``ba{batch}.sharded.sha256``. It is then renamed to ``ba{batch}.pt`` or
``ba{batch}.sharded``, and older ones are deleted. At any moment of a kill, each renamed checkpoint has its checksums.
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
from tokbench.models.pretraining.options import OPTIONAL, ModelOptions
from tokbench.models.pretraining.phases import Phase, describe_phases

UNSEALED = ".partial"
UNSEALED_SHARDS = "ep0-"
"""Prefix of a folder of shards without checksums: Composer's name, in which the full training is epoch 0."""
SINGLE_FILE = ".pt"
SHARDED = ".sharded"
LATEST = "latest.pt"
"""Link to the newest checkpoint, the name that Composer resumes from."""
NOTE = "recipe.json"
LOGS = "logs"
"""Folder of the logs of several processes."""
RUN = ("states", "huggingface", "gauges", LOGS, "curve.csv", NOTE)
"""Files of a run in its checkpoint folder. The recipe, which identifies them as ours, is removed last."""
RESUMABLE_CHANGES = frozenset({"checkpoint_every", "microbatch", "resources", "fsdp"})
"""Options that may change when a training is resumed. Like the number of processes, they affect at most the order of
sums. For ``fsdp`` this excludes its precision."""
Recipe = dict[str, Any]


def states(checkpoints: Path) -> Path:
    """Return the folder of checkpoints within a run's folder."""
    return checkpoints / "states"


def write_checksums(folder: Path) -> None:
    """Write the checksums of a new checkpoint, if there is one, and delete the older ones."""
    for written in _unsealed_checkpoints(folder):
        sealed = folder / f"{written.stem.removeprefix(UNSEALED_SHARDS)}{SHARDED if written.is_dir() else SINGLE_FILE}"
        with atomic_file(_note(sealed)) as partial:
            partial.write_text(_sums(written), encoding="utf-8")
        written.rename(sealed)
        _delete_others(folder, sealed)


def recover(folder: Path) -> None:
    """Delete all but the newest checkpoint, and link to it under the name that Composer resumes from.

    Raises:
        TokbenchError: it was not written by training, or was changed. The message names it.
    """
    for written in _unsealed_checkpoints(folder):
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
    """Return the newest checkpoint with checksums, a file or a folder of shards; None if there is none."""
    return max(_sealed_checkpoints(folder), key=_batch, default=None)


def _sums(checkpoint: Path) -> str:
    """Return the text of the checksums: that of a file, or those of all files of a folder with their names."""
    if not checkpoint.is_dir():
        return f"{sha256(checkpoint)}\n"
    return "".join(f"{sha256(file)}  {file.name}\n" for file in sorted(checkpoint.iterdir()) if file.is_file())


def _delete_others(folder: Path, newest_path: Path) -> None:
    """Delete all checkpoints but one, each before its checksums."""
    for sealed in _sealed_checkpoints(folder):
        if sealed != newest_path:
            _delete(sealed)
    for note in folder.glob("ba*.sha256"):
        if note != _note(newest_path):
            note.unlink()


def _delete(checkpoint: Path) -> None:
    if checkpoint.is_dir():
        shutil.rmtree(checkpoint)
    else:
        checkpoint.unlink()


def _unsealed_checkpoints(folder: Path) -> list[Path]:
    """Return checkpoints without checksums. Files with other names are skipped."""
    paths = [*folder.glob(f"ba*{UNSEALED}"), *folder.glob(f"{UNSEALED_SHARDS}ba*")]
    return sorted((path for path in paths if _has_number(path)), key=_batch)


def _sealed_checkpoints(folder: Path) -> list[Path]:
    return [path for kind in (SINGLE_FILE, SHARDED) for path in folder.glob(f"ba*{kind}") if _has_number(path)]


def _has_number(checkpoint: Path) -> bool:
    return checkpoint.stem.removeprefix(UNSEALED_SHARDS)[2:].isdecimal()


def _batch(checkpoint: Path) -> int:
    return int(checkpoint.stem.removeprefix(UNSEALED_SHARDS)[2:])


def _note(checkpoint: Path) -> Path:
    return checkpoint.with_name(f"{checkpoint.name}.sha256")


log = logging.getLogger("tokbench.models.pretraining")


def resume_key(options: ModelOptions, phases: Sequence[Phase]) -> Recipe:
    """Return the settings that must be equal to resume a training."""
    return {"options": _recipe_options(options.recipe()), "packed": describe_phases(phases)}


def prepare_run(phases: Sequence[Phase], recipe: Recipe, checkpoints: Path) -> None:
    """Check the sequences, discard checkpoints of another recipe, and clean up those of this one.

    Raises:
        TokbenchError: the sequences were changed, the folder contains other files than checkpoints, or a checkpoint was
            not written by training.
    """
    for phase in phases:
        phase.check()
    note_recipe(checkpoints, recipe)
    recover(states(checkpoints))


def is_up_to_date(output: Path, recipe: Recipe) -> bool:
    """Return True if a model of this recipe exists."""
    return training.is_made(output, recipe, _recipe_in)


def _recipe_in(settings: Mapping[str, Any]) -> Recipe:
    return {"options": _recipe_options(settings["options"]), "packed": settings["packing"]}


def note_recipe(checkpoints: Path, recipe: Recipe) -> None:
    """Discard checkpoints of another recipe, and record this one.

    Raises:
        TokbenchError: the folder contains other files than checkpoints.
    """
    note = checkpoints / NOTE
    known = _noted_recipe(note)
    if known is None and checkpoints.exists() and any(checkpoints.iterdir()):
        raise TokbenchError(f"{checkpoints}: contains files that are not checkpoints; give the run an empty folder")
    if known == recipe:
        return
    if known is not None:
        log.info("%s: made with other options or other sequences; discarded", checkpoints)
        discard_run(checkpoints)
    with atomic_file(note) as partial:
        partial.write_text(json.dumps(recipe, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def discard_run(checkpoints: Path) -> None:
    """Remove the files of a run from its checkpoint folder, and the folder if it is then empty."""
    for name in RUN:
        if (checkpoints / name).is_dir():
            shutil.rmtree(checkpoints / name)
        else:
            (checkpoints / name).unlink(missing_ok=True)
    if not any(checkpoints.iterdir()):
        checkpoints.rmdir()


def _recipe_options(options: dict[str, Any]) -> dict[str, Any]:
    weighty_options = {key: value for key, value in options.items() if key not in RESUMABLE_CHANGES}
    for name in OPTIONAL:
        if not weighty_options.get(name):
            weighty_options.pop(name, None)
    precision = (options.get("fsdp") or {}).get("mixed_precision", "full")
    return weighty_options if precision == "full" else weighty_options | {"fsdp": {"mixed_precision": precision}}


def _noted_recipe(note: Path) -> Recipe | None:
    """Return the recorded recipe; None if there is none."""
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
        return (
            {**noted, "options": _recipe_options(noted["options"])} if noted.keys() == {"options", "packed"} else None
        )
    except (FileNotFoundError, ValueError, AttributeError):
        return None
