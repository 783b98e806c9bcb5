"""Common parts of trainings: checkpoints that match a recipe, finished models, and token counts of the training data.

Token counts are a Parquet file with one row per id, ending with the end of text.
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
from tokbench.io.arrow import array_of, number_column
from tokbench.io.atomic import atomic_file, remove_written
from tokbench.io.identity import Maker, makers_of_metadata, metadata_of, require_same
from tokbench.io.job_record import job_metadata
from tokbench.io.json import read_json
from tokbench.io.parquet import parquet, read_rows, require
from tokbench.io.provenance import settings_of

COUNTS_AGAIN = "make them with 'tokbench pack --token-counts'"
OTHER_TOKENIZER = "name the model's own tokenizer, or make the counts again"


def matching_checkpoints(
    checkpoints: Path, recipe: Mapping[str, Any], remedy: str, log: logging.Logger
) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield folders ``step-*`` with their ``state.json``, newest first, and discard those of other recipes.

    Args:
        checkpoints: checkpoint folder of the training.
        recipe: expected value of ``recipe`` in ``state.json``.
        remedy: instruction in the error message if a state is unreadable.
        log: logger for discarded checkpoints.

    Raises:
        TokbenchError: a state is unreadable.
    """
    plain_recipe = json.loads(json.dumps(recipe))
    for file in sorted(checkpoints.glob("step-*/state.json"), reverse=True):
        state = read_json(file, remedy, lenient=True)
        if state.get("recipe") == plain_recipe:
            yield file.parent, state
        else:
            log.info("%s: made with other options or other text; discarded", file.parent)
            remove_written(file.parent, "checkpoint")


def is_made(
    folder: Path, recipe: Mapping[str, Any], recipe_in: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> bool:
    """Return True if the folder contains a model of this recipe, for example from another process that held the lock.

    Args:
        folder: the model's folder.
        recipe: the recipe.
        recipe_in: function that extracts the recipe from a manifest's settings.
    """
    try:
        return bool(recipe_in(settings_of(folder)) == json.loads(json.dumps(recipe)))
    except (KeyError, TypeError, AttributeError):
        return False


def write_occurrences(occurrences: NDArray[np.int64], path: Path, tokenizer: Maker) -> None:
    """Write counts, int64 [ids + 1], as Parquet, atomically. The file names the tokenizer."""
    columns = {"id": number_column(np.arange(len(occurrences))), "occurrences": number_column(occurrences)}
    table = pa.table(columns, metadata=metadata_of(tokenizer=tokenizer.digest))
    with (
        atomic_file(path) as partial,
        pq.ParquetWriter(partial, table.schema, compression="zstd", write_page_checksum=True) as writer,
    ):
        writer.add_key_value_metadata(job_metadata())
        writer.write_table(table)


def read_occurrences(path: Path, vocabulary: int, tokenizer: Maker) -> NDArray[np.int64]:
    """Read the count of each id in a model's training data: int64 [vocabulary + 1], ending with the end of text.

    Args:
        path: the file.
        vocabulary: tokens of the tokenizer, without special ones.
        tokenizer: the tokenizer.

    Raises:
        TokbenchError: the file is not one of token counts, or belongs to another tokenizer.
    """
    with parquet(path, "counts of tokens", COUNTS_AGAIN) as file:
        require(file.schema_arrow, id="whole numbers", occurrences="whole numbers")
        require_same(path, makers_of_metadata(file.schema_arrow.metadata), "tokenizer", tokenizer, OTHER_TOKENIZER)
        table = read_rows(file, ["id", "occurrences"])
        ids, occurrences = (array_of(column).astype(np.int64, casting="safe") for column in table.columns)
        if not np.array_equal(ids, np.arange(len(ids))) or (len(ids) and occurrences.min() < 0):
            raise ValueError("ids are not 0, 1, 2, ..., or a count is below 0")
    if len(occurrences) != vocabulary + 1:
        raise TokbenchError(
            f"{path}: counts of {max(0, len(occurrences) - 1)} tokens for {vocabulary}; name the model's own tokenizer"
        )
    return occurrences
