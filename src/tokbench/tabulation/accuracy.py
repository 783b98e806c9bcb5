"""Accuracies, one row a model, tokenizer and task."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.result_files import read_result
from tokbench.tabulation.reading import AGAIN, HEAD, framed, taken
from tokbench.tidy.columns import ACCURACY as NEEDED
from tokbench.tidy.table import SHARE, Column, Print, TidyTable


def accuracy_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """Accuracies of every model on every task.

    Args:
        results: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`ACCURACY`, one row per model, suite, size, variant and task,
        in this order. A task that the file leaves without accuracy is a null.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [framed([], ACCURACY.schema, "")]
    for path in results:
        result = read_result(path, AGAIN, lenient=True)
        head = [taken(result, key, path) for key in HEAD]
        rows = []
        for name, task in taken(result, "tasks", path, kind=dict).items():
            keys = ("accuracy", "random_baseline", "n", "accuracy_stderr", "num_fewshot", "straddling")
            rows.append((*head, name, *(taken(task, key, path, f"tasks.{name}.") for key in keys)))
        frames.append(framed(rows, ACCURACY.schema, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant", "task")


ACCURACY = TidyTable(
    "accuracy",
    "a model with a tokenizer on a task",
    (
        *NEEDED,
        Column(
            "stderr", pl.Float64, "standard error of the accuracy, questions independent", SHARE, "standard error",
            empty="needs two questions",
        ),
        Column("num_fewshot", pl.Int64, "examples in the prompt", "examples"),
        Column("straddling", pl.Int64, "choices whose first token straddles the end of the context", "choices"),
    ),
    maker=accuracy_table,
    takes=("downstream",),
    keys=("variant", "size", "model", "suite", "task"),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "Accuracy in percent of {model} on {suite} at vocabulary size {size:,}; the average is unweighted over "
            "{tasks}. Questions (n): {questions}.",
            by=("model", "suite", "size"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            arranged=True,
        ),
        Print(
            "downstream",
            "Every score: accuracy and its standard error in percent over n questions. Straddling counts the answers "
            "to choose from that change how the end of the question before them is tokenized.",
            ("variant", "model", "suite", "size", "task", "accuracy", "stderr", "random_baseline", "n", "straddling"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            name="accuracy-every-score",
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
