"""Tidy tables from downstream result files: accuracies, boundaries, outcomes of questions, and texts."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.io.json import read_result
from tokbench.io.text_files import first_line
from tokbench.tabulation.columns import ACCURACY as NEEDED
from tokbench.tabulation.columns import CORRECT, DOCUMENT, GROUP, MODEL, SIZE, SUITE, TASK, TEXT, VARIANT
from tokbench.tabulation.reading import AGAIN, require_key, to_frame
from tokbench.tabulation.reading import HEAD as LONG_FORMAT_HEAD
from tokbench.tabulation.table import SHARE, Column, Print, TidyTable

Row = tuple[Any, ...]


class Result(NamedTuple):
    """A downstream result file: values of :data:`KEYS`, the full content, and the path."""

    head: dict[str, Any]
    whole: dict[str, Any]
    path: Path


HINT = "make it again"
HEAD = (MODEL, VARIANT, SIZE, SUITE)
KEYS = tuple(column.name for column in HEAD)


@dataclass(frozen=True)
class Results:
    """Downstream result files in any order, read one at a time on every iteration to save memory.

    Raises:
        TokbenchError: a file is not a readable result; the message names it.
    """

    paths: Sequence[Path | str]

    def __iter__(self) -> Iterator[Result]:
        """Yield one result per file, in the order of ``paths``."""
        for path in map(Path, self.paths):
            whole = read_result(path, HINT, lenient=True)
            missing = [key for key in (*KEYS, "tasks", "texts") if key not in whole]
            if missing:
                raise TokbenchError(f"{path}: not a readable result (no key {missing[0]}); {HINT}")
            yield Result({key: whole[key] for key in KEYS}, whole, path)


def table_of_results(
    results: Iterable[Result], rows: Callable[[Result], list[Row]], schema: dict[str, Any]
) -> pl.DataFrame:
    """Return the rows of every result in one frame.

    Args:
        results: see :class:`Results`.
        rows: function from a result to its rows.
        schema: types by column name.

    Raises:
        TokbenchError: a result lacks a key or has a value of another type; the message names its file.
    """
    frames = [pl.DataFrame(schema=schema)]
    for result in results:
        try:
            frames.append(pl.DataFrame(rows(result), schema=schema, orient="row"))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise TokbenchError(f"{result.path}: not a readable result ({error!a:.80}); {HINT}") from None
        except pl.exceptions.PolarsError as error:
            raise TokbenchError(f"{result.path}: not a readable result ({first_line(error)}); {HINT}") from None
    return pl.concat(frames)


def boundary_table(results: Iterable[Result]) -> pl.DataFrame:
    """Count choices whose tokens straddle the end of their context, by tokenizer and task.

    The counts do not depend on the model, so models with the same tokenizer share a row.

    Args:
        results: see :class:`Results`.

    Returns:
        The columns of :data:`BOUNDARIES`, ordered by suite, task, size and variant. ``straddling`` counts choices;
        ``straddling_questions`` counts questions with such choices. Examples in the prompt belong to the context.
    """

    def rows(result: Result) -> list[Row]:
        key = [result.head[key] for key in ("variant", "size", "suite")]
        counts = ("num_fewshot", "choices", "straddling", "n", "straddling_documents")
        return [(*key, name, *(task[count] for count in counts)) for name, task in result.whole["tasks"].items()]

    return table_of_results(results, rows, BOUNDARIES.schema).unique().sort("suite", "task", "size", "variant")


def outcome_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return the outcome of every question, one row per model, tokenizer, suite, task and question.

    Args:
        results: see :class:`Results`.

    Returns:
        The columns of :data:`OUTCOMES`, ordered by model, suite, size, variant, task and document. ``document`` is the
        number of the question and the same for all models. ``log_likelihood`` is that of the right choice, or of the
        only one, in nats; ``log_likelihood_of_others`` is the greatest of the others. ``straddling`` counts choices.
        If several choices are right, ``gold`` and both log-likelihoods are null.
    """

    def rows(result: Result) -> list[Row]:
        return [
            (*result.head.values(), name, *_outcome(document))
            for name, task in result.whole["tasks"].items()
            for document in task["documents"]
        ]

    return table_of_results(results, rows, OUTCOMES.schema).sort(
        "model", "suite", "size", "variant", "task", "document"
    )


def text_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return bits per byte of every model on the texts of suites.

    Args:
        results: see :class:`Results`.

    Returns:
        The columns of :data:`TEXTS`, ordered by model, suite, text, size and variant; ``value`` is bits per byte.
    """

    def rows(result: Result) -> list[Row]:
        keys = ("bits_per_byte", "bits", "bytes", "tokens")
        texts = result.whole["texts"].items()
        return [(*result.head.values(), name, *(text[key] for key in keys)) for name, text in texts]

    return table_of_results(results, rows, TEXTS.schema).sort("model", "suite", "text", "size", "variant")


def _outcome(document: dict[str, Any]) -> tuple[Any, ...]:
    scores, gold = document["log_likelihoods"], document["gold"]
    own = 0 if len(scores) == 1 else gold
    others = [score for place, score in enumerate(scores) if place != own]
    return (
        document["document"],
        document.get("group", ""),
        len(scores),
        len(document["straddling"]),
        gold,
        document["prediction"],
        document["correct"],
        None if own is None else scores[own],
        None if own is None or not others else max(others),
    )


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
    takes=("results",),
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
        *HEAD,
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
    takes=("results",),
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
    takes=("results",),
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


def accuracy_table(results: Iterable[Path | str]) -> pl.DataFrame:
    """Return accuracies of every model on every task.

    Args:
        results: downstream result files, one per model, variant, size and suite, in any order.

    Returns:
        The columns of :data:`ACCURACY`, one row per model, suite, size, variant and task, in this order. The accuracy
        is null for a task without one.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    frames = [to_frame([], ACCURACY.schema, "")]
    for path in results:
        result = read_result(path, AGAIN, lenient=True)
        head = [require_key(result, key, path) for key in LONG_FORMAT_HEAD]
        rows = []
        for name, task in require_key(result, "tasks", path, kind=dict).items():
            keys = ("accuracy", "random_baseline", "n", "accuracy_stderr", "num_fewshot", "straddling")
            rows.append((*head, name, *(require_key(task, key, path, f"tasks.{name}.") for key in keys)))
        frames.append(to_frame(rows, ACCURACY.schema, path))
    return pl.concat(frames).sort("model", "suite", "size", "variant", "task")


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
