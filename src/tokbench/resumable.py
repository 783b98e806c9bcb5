"""What belongs to a training: checkpoints and a model of the very same recipe, from the very same text."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tokbench.atomic import remove_written
from tokbench.inputs.json import read_json
from tokbench.manifest import settings_of


def own_checkpoints(
    checkpoints: Path, recipe: Mapping[str, Any], remedy: str, log: logging.Logger
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Folders ``step-*`` with their ``state.json``, the newest first; those of other recipes are discarded.

    Args:
        checkpoints: folder of the training's own.
        recipe: what ``state.json`` has under ``recipe``.
        remedy: what to do about one that cannot be read.
        log: is told what is discarded.

    Raises:
        TokbenchError: a state cannot be read.
    """
    wanted = json.loads(json.dumps(recipe))
    for file in sorted(checkpoints.glob("step-*/state.json"), reverse=True):
        state = read_json(file, remedy, lenient=True)
        if state.get("recipe") == wanted:
            yield file.parent, state
        else:
            log.info("%s: made with other options or other text; discarded", file.parent)
            remove_written(file.parent, "checkpoint")


def is_made(
    folder: Path, recipe: Mapping[str, Any], recipe_in: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> bool:
    """Whether a model of a recipe stands: a training that has waited for another leaves alone what that one has made.

    Args:
        folder: where the model goes.
        recipe: what it is to be made by.
        recipe_in: gives the recipe that a manifest's settings tell of.
    """
    try:
        return bool(recipe_in(settings_of(folder)) == json.loads(json.dumps(recipe)))
    except (KeyError, TypeError, AttributeError):
        return False
