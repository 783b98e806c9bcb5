"""What stands of a training before it is done, among its checkpoints, and whether its model stands already."""

import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokbench import resumable
from tokbench.atomic import atomic_file
from tokbench.errors import TokbenchError
from tokbench.pretraining.checkpoints import recover, states
from tokbench.pretraining.options import ModelOptions
from tokbench.pretraining.phases import Phase, described

log = logging.getLogger("tokbench.pretraining")

NOTE = "recipe.json"
LOGS = "logs"
"""Folder of what each of several processes wrote."""
RUN = ("states", "huggingface", "gauges", LOGS, "curve.csv", NOTE)
"""What a run leaves among its checkpoints; the note, by which they are known as ours, goes last."""
OF_NO_WEIGHT = frozenset({"checkpoint_every", "microbatch", "resources", "fsdp"})
"""Options that a training may be gone on with changed, for they decide the order of sums at most, as the number of
processes does; of ``fsdp`` all but its precision."""

Recipe = dict[str, Any]


def recipe_of(options: ModelOptions, phases: Sequence[Phase]) -> Recipe:
    """What a training must agree with to be gone on with."""
    return {"options": _weighty(options.recipe()), "packed": described(phases)}


def prepare(phases: Sequence[Phase], recipe: Recipe, checkpoints: Path) -> None:
    """Check the sequences, discard checkpoints of another recipe, and put those of this one in order.

    Raises:
        TokbenchError: sequences that were altered, a folder that holds something else than checkpoints, or a checkpoint
            that training did not write.
    """
    for phase in phases:
        phase.check()
    note_recipe(checkpoints, recipe)
    recover(states(checkpoints))


def is_made(output: Path, recipe: Recipe) -> bool:
    """Whether a model of this recipe stands."""
    return resumable.is_made(output, recipe, _recipe_in)


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
        discard(checkpoints)
    with atomic_file(note) as partial:
        partial.write_text(json.dumps(recipe, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def discard(checkpoints: Path) -> None:
    """Remove what a run leaves among its checkpoints, and the folder if nothing else is in it."""
    for name in RUN:
        if (checkpoints / name).is_dir():
            shutil.rmtree(checkpoints / name)
        else:
            (checkpoints / name).unlink(missing_ok=True)
    if not any(checkpoints.iterdir()):
        checkpoints.rmdir()


def _weighty(options: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in options.items() if key not in OF_NO_WEIGHT}
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
