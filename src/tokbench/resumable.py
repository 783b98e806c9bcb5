"""Checkpoints of a training that belong to it: made by the very same recipe from the very same text."""

import json
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tokbench.atomic import remove_written
from tokbench.inputs.json import read_json


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
