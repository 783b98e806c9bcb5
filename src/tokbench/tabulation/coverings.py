"""What coverings that no text has would add where choices straddle, one row a model, tokenizer and task."""

import math
from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.result_files import read_result
from tokbench.tabulation.reading import AGAIN, HEAD, framed, taken
from tokbench.tidy.columns import MODEL, SIZE, SUITE, TASK, VARIANT
from tokbench.tidy.table import Column, Print, TidyTable


def coverings_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """How much likelier contexts would be with coverings that no text has, by task with straddling choices.

    Args:
        results: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`COVERINGS`, ordered by model, suite, size, variant and task. Both numbers are null where
        a question was scored before they were taken.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [framed([], COVERINGS.schema, "")]
    for path in results:
        result = read_result(path, AGAIN, lenient=True)
        head = [taken(result, key, path) for key in HEAD]
        rows = []
        for name, task in taken(result, "tasks", path, kind=dict).items():
            documents = taken(task, "documents", path, f"tasks.{name}.", list)
            within = f"tasks.{name}.documents."
            straddling = [one for one in documents if taken(one, "straddling", path, within, list)]
            nats = [taken(one, "unwritten", path, within, float) for one in straddling if "unwritten" in one]
            if len(nats) < len(straddling):
                rows.append((*head, name, len(straddling), None, None))
            elif nats:
                rows.append((*head, name, len(nats), math.fsum(nats) / len(nats), max(nats)))
        frames.append(framed(rows, COVERINGS.schema, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant", "task")


NOT_TAKEN = "scored before this was measured, or through another library, whose tokens are not known by their bytes"
COVERINGS = TidyTable(
    "coverings",
    "a model with a tokenizer on a task in which choices straddle",
    (
        VARIANT,
        SIZE,
        MODEL,
        SUITE,
        TASK,
        Column("questions", pl.Int64, "questions with straddling choices", "questions"),
        Column(
            "mean", pl.Float64, "by so much likelier a context would be with coverings that no text has, mean", "nats",
            "mean (nats)", empty=NOT_TAKEN,
        ),
        Column(
            "largest", pl.Float64, "the same, the largest of the questions", "nats", "largest (nats)", empty=NOT_TAKEN
        ),
    ),
    maker=coverings_table,
    takes=("downstream",),
    keys=("variant", "size", "model", "suite", "task"),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "How much of a context's probability may be missing where choices straddle its end, in nats: the context "
            "would be likelier by so much if sequences of tokens also counted that the tokenizer produced for none of "
            "the continuations tried. Tokenizers that merge, match greedily or take best paths never produce them; "
            "others may produce some, and scores could then be lower by at most this much.",
            ("variant", "model", "suite", "size", "task", "questions", "mean", "largest"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
