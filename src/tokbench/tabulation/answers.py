"""Tidy tables from downstream result files: accuracies, boundaries, outcomes of questions, and texts."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.tabulation.columns import ACCURACY as NEEDED
from tokbench.tabulation.columns import CORRECT, DOCUMENT, GROUP, MODEL, SIZE, SUITE, TASK, TEXT, VARIANT
from tokbench.tabulation.reading import Row, table_of_results
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable

MEASURED = (MODEL, VARIANT, SIZE, SUITE)
"""Columns that identify a downstream result."""


def boundary_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Count choices whose tokens straddle the end of their context, by tokenizer and task.

    The counts do not depend on the model, so models with the same tokenizer share a row.

    Args:
        downstream: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`BOUNDARIES`, ordered by suite, task, size and variant. ``straddling`` counts choices;
        ``straddling_questions`` counts questions with such choices. Examples in the prompt belong to the context.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    rows = table_of_results(
        downstream, BOUNDARIES, lambda result: (row | {"questions": row["n"]} for row in tasks(result))
    )
    return rows.unique().sort("suite", "task", "size", "variant")


def outcome_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return the outcome of every question, one row per model, tokenizer, suite, task and question.

    Args:
        downstream: see :func:`boundary_table`.

    Returns:
        The columns of :data:`OUTCOMES`, ordered by model, suite, size, variant, task and document. ``document`` is the
        number of the question and the same for all models. ``log_likelihood`` is that of the right choice, or of the
        only one, in nats; ``log_likelihood_of_others`` is the greatest of the others. ``straddling`` counts choices.
        If several choices are right, ``gold`` and both log-likelihoods are null.
    """
    return table_of_results(downstream, OUTCOMES, questions, "model", "suite", "size", "variant", "task", "document")


def text_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits per byte of every model on the texts of suites.

    Args:
        downstream: see :func:`boundary_table`.

    Returns:
        The columns of :data:`TEXTS`, ordered by model, suite, text, size and variant; ``value`` is bits per byte.
    """

    def rows(result: Any) -> Iterator[Row]:
        for name, text in result["texts"].items():
            yield {**text, "text": name, "value": text["bits_per_byte"]}

    return table_of_results(downstream, TEXTS, rows, "model", "suite", "text", "size", "variant")


def tasks(result: Any) -> Iterator[dict[str, Any]]:
    """Yield the entries of a downstream result's tasks."""
    for name, task in result["tasks"].items():
        yield {**task, "task": name}


def questions(result: Any) -> Iterator[Row]:
    """Yield the entries of a downstream result's questions."""
    for task in tasks(result):
        for question in task["documents"]:
            yield {**question, "task": task["task"]}


ANSWERS = "downstream/{model}/{variant}/{size}/{suite}.json"
STRADDLING = (
    Column("choices", pl.Int64, "choices of all questions", "choices"),
    Column(
        "straddling", pl.Int64, "choices whose first token straddles the end of the context", "choices",
        "straddling choices",
    ),
    Column("questions", pl.Int64, "questions of the task", "questions"),
    Column("straddling_questions", pl.Int64, "questions with straddling choices", "questions", "straddling questions"),
)  # fmt: skip
_COUNTS = ("questions", "straddling_questions", "choices", "straddling")

BOUNDARIES = TidyTable(
    "boundaries",
    "a tokenizer on a task; the same for all models",
    (VARIANT, SIZE, SUITE, TASK, Column("num_fewshot", pl.Int64, "examples in the prompt", "examples"), *STRADDLING),
    maker=boundary_table,
    takes=("files.downstream",),
    keys=("variant", "size", "suite", "task"),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "Choices (answers) that change how their context, the text before them, is tokenized: a token straddles "
            "the two. Such a choice is scored by the probability of its text after the context's text, summed over "
            "the tokens that spell them. Skipping as many tokens as the context has without the choice would score "
            "the wrong text.",
            ("variant", "size", "suite", *_COUNTS),
            files=(ANSWERS,),
            folds_above=0,
            arranged=True,
        ),
        Print(
            "downstream",
            "Choices that straddle the end of their context, by task; tasks without any are left out.",
            ("variant", "size", "suite", "task", *_COUNTS),
            files=(ANSWERS,),
            folds_above=0,
            name="boundaries-by-task",
            arranged=True,
        ),
    ),
    of_models=True,
)
OUTCOMES = TidyTable(
    "outcomes",
    "a question, asked of a model with a tokenizer",
    (
        *MEASURED,
        TASK,
        DOCUMENT,
        GROUP,
        Column("choices", pl.Int64, "choices of the question", "choices"),
        Column("straddling", pl.Int64, "choices whose first token straddles the end of the context", "choices"),
        Column("gold", pl.Int64, "number of the right choice; empty where several are right"),
        Column("prediction", pl.Int64, "number of the choice that the model prefers"),
        CORRECT,
        Column("log_likelihood", pl.Float64, "log-likelihood of the right choice, or of the only one", "nats"),
        Column("log_likelihood_of_others", pl.Float64, "greatest log-likelihood of the other choices", "nats"),
    ),
    maker=outcome_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "task", "document"),
    command="tabulate",
    of_models=True,
)
TEXTS = TidyTable(
    "texts",
    "a model with a tokenizer on a text of a suite",
    (
        *TEXT,
        Column("bits", pl.Float64, "bits that the model needs for the text, in disjoint windows", "bits"),
        Column("bytes", pl.Int64, "length of the text as distributed", "bytes"),
        Column("tokens", pl.Int64, "tokens of the text", "tokens"),
    ),
    maker=text_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "text"),
    command="tabulate",
    prints=(
        Print(
            "downstream",
            "Bits per byte of each model on the texts of its suites, as in lm-eval: disjoint windows, divided by the "
            "bytes of the text as distributed.",
            ("variant", "model", "suite", "size", "text", "value"),
            files=(ANSWERS,),
            arranged=True,
        ),
    ),
    of_models=True,
)


def accuracy_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return accuracies of every model on every task.

    Args:
        downstream: see :func:`boundary_table`.

    Returns:
        The columns of :data:`ACCURACY`, one row per model, suite, size, variant and task, in this order. The accuracy
        is null for a task without one.
    """
    return table_of_results(downstream, ACCURACY, tasks, "model", "suite", "size", "variant", "task").fill_nan(None)


ACCURACY = TidyTable(
    "accuracy",
    "a model with a tokenizer on a task",
    (
        *NEEDED,
        Column(
            "stderr", pl.Float64, "standard error of the accuracy, for independent questions", SHARE, "standard error",
            empty="needs two questions",
        ),
        Column("num_fewshot", pl.Int64, "examples in the prompt", "examples"),
        Column("straddling", pl.Int64, "choices whose first token straddles the end of the context", "choices"),
    ),
    maker=accuracy_table,
    takes=("files.downstream",),
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
            "Every score: accuracy and its standard error in percent over n questions. Straddling counts choices that "
            "change how the end of the question before them is tokenized.",
            ("variant", "model", "suite", "size", "task", "accuracy", "stderr", "random_baseline", "n", "straddling"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            name="accuracy-every-score",
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
