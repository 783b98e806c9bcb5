"""How often each id stands in what a model is trained on, on disk: one row an id, the end of text after the others."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tokbench.atomic import atomic_file
from tokbench.errors import TokbenchError
from tokbench.inputs.parquet import parquet, require, whole


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
