"""Tidy tables of what only the files of results hold: boundaries, every question's outcome, texts."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.inputs.files import first_line
from tokbench.inputs.json import read_json

Row = tuple[Any, ...]


class Result(NamedTuple):
    """A file of results: the columns of :data:`HEAD`, the whole, and where it is from."""

    head: dict[str, Any]
    whole: dict[str, Any]
    path: Path


AGAIN = "make it again"
HEAD = {"model": pl.String, "variant": pl.String, "size": pl.Int64, "suite": pl.String}
BOUNDARIES = {
    "variant": pl.String,
    "size": pl.Int64,
    "suite": pl.String,
    "task": pl.String,
    "num_fewshot": pl.Int64,
    "choices": pl.Int64,
    "straddling": pl.Int64,
    "questions": pl.Int64,
    "straddling_questions": pl.Int64,
}
OUTCOMES = HEAD | {
    "task": pl.String,
    "document": pl.Int64,
    "group": pl.String,
    "choices": pl.Int64,
    "straddling": pl.Int64,
    "gold": pl.Int64,
    "prediction": pl.Int64,
    "correct": pl.Boolean,
    "log_likelihood": pl.Float64,
    "log_likelihood_of_others": pl.Float64,
}
TEXTS = HEAD | {"text": pl.String, "value": pl.Float64, "bits": pl.Float64, "bytes": pl.Int64, "tokens": pl.Int64}


def read_results(paths: Iterable[Path | str]) -> list[Result]:
    """Files of results, in any order: of each the columns of :data:`HEAD`, and the whole.

    Raises:
        TokbenchError: a file is not one; the message names it.
    """
    results = []
    for path in map(Path, paths):
        whole = read_json(path, AGAIN, lenient=True)
        missing = [key for key in (*HEAD, "tasks", "texts") if key not in whole]
        if missing:
            raise TokbenchError(f"{path}: not a readable result (no key {missing[0]}); {AGAIN}")
        results.append(Result({key: whole[key] for key in HEAD}, whole, path))
    return results


def _table(results: Iterable[Result], rows: Callable[[Result], list[Row]], schema: dict[str, Any]) -> pl.DataFrame:
    """The rows of every result in one frame.

    Raises:
        TokbenchError: a result lacks a key or has a value of another type; the message names its file.
    """
    frames = [pl.DataFrame(schema=schema)]
    for result in results:
        try:
            frames.append(pl.DataFrame(rows(result), schema=schema, orient="row"))
        except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
            raise TokbenchError(f"{result.path}: not a readable result ({error!a:.80}); {AGAIN}") from None
        except pl.exceptions.PolarsError as error:
            raise TokbenchError(f"{result.path}: not a readable result ({first_line(error)}); {AGAIN}") from None
    return pl.concat(frames)


def boundary_table(results: Iterable[Result]) -> pl.DataFrame:
    """How often tokens straddle the end of a context, by tokenizer and task; models play no part in it.

    Args:
        results: as :func:`read_results` gives them.

    Returns:
        The columns of :data:`BOUNDARIES`, ordered by suite, task, size and variant: ``straddling`` of the ``choices``,
        and ``straddling_questions``, which have such choices, of the ``questions``. Examples in the prompt belong to
        the context.
    """

    def rows(result: Result) -> list[Row]:
        key = [result.head[key] for key in ("variant", "size", "suite")]
        counts = ("num_fewshot", "choices", "straddling", "n", "straddling_documents")
        return [(*key, name, *(task[count] for count in counts)) for name, task in result.whole["tasks"].items()]

    return _table(results, rows, BOUNDARIES).unique().sort("suite", "task", "size", "variant")


def outcome_table(results: Iterable[Result]) -> pl.DataFrame:
    """The outcome of every question, one row a model, tokenizer, suite, task and question.

    Args:
        results: as :func:`read_results` gives them.

    Returns:
        The columns of :data:`OUTCOMES`, ordered by model, suite, size, variant, task and document: ``document`` is the
        question's number and the same for all models; ``log_likelihood`` in nats is that of the right choice, or of the
        only one, and ``log_likelihood_of_others`` the greatest of the others; ``straddling`` counts choices. Where
        several choices are right, ``gold`` is empty and so are both.
    """

    def rows(result: Result) -> list[Row]:
        return [
            (*result.head.values(), name, *_outcome(document))
            for name, task in result.whole["tasks"].items()
            for document in task["documents"]
        ]

    return _table(results, rows, OUTCOMES).sort("model", "suite", "size", "variant", "task", "document")


def text_table(results: Iterable[Result]) -> pl.DataFrame:
    """Bits per byte of every model on the texts of suites.

    Args:
        results: as :func:`read_results` gives them.

    Returns:
        The columns of :data:`TEXTS`, ordered by model, suite, text, size and variant; ``value`` is bits per byte.
    """

    def rows(result: Result) -> list[Row]:
        keys = ("bits_per_byte", "bits", "bytes", "tokens")
        texts = result.whole["texts"].items()
        return [(*result.head.values(), name, *(text[key] for key in keys)) for name, text in texts]

    return _table(results, rows, TEXTS).sort("model", "suite", "text", "size", "variant")


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
