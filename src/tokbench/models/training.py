"""What belongs to a training: checkpoints and a model of the very same recipe, from the very same text.

How often each id stands in what a model is trained on, on disk: one row an id, the end of text after the others.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file, remove_written
from tokbench.io.json import read_json
from tokbench.io.parquet import parquet, require, whole
from tokbench.io.provenance import settings_of


def matching_checkpoints(
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


def write_occurrences(occurrences: NDArray[np.int64], path: Path) -> None:
    """Write counts, int64 [ids + 1], as Parquet, whole."""
    table = pa.table({"id": np.arange(len(occurrences)), "occurrences": occurrences})
    with atomic_file(path) as partial:
        pq.write_table(table, partial, compression="zstd", write_page_checksum=True)


def read_occurrences(path: Path, vocabulary: int) -> NDArray[np.int64]:
    """How often each id stands in what a model was trained on: int64 [vocabulary + 1], the end of text among them.

    Raises:
        TokbenchError: the file is no such file, or one of another tokenizer.
    """
    with parquet(path, "counts of tokens", "make them with 'tokbench pack --token-counts'") as file:
        require(file.schema_arrow, id="whole numbers", occurrences="whole numbers")
        table = whole(file, ["id", "occurrences"])
        ids, occurrences = (column.to_numpy().astype(np.int64, casting="safe") for column in table.columns)
        if not np.array_equal(ids, np.arange(len(ids))) or (len(ids) and occurrences.min() < 0):
            raise ValueError("ids are not 0, 1, 2, ..., or a count is below 0")
    if len(occurrences) != vocabulary + 1:
        raise TokbenchError(
            f"{path}: counts of {max(0, len(occurrences) - 1)} tokens for {vocabulary}; name the model's own tokenizer"
        )
    return occurrences
