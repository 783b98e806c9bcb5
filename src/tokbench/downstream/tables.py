"""Tidy tables of what only the files of results hold: boundaries, every question's outcome, texts."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.registry import TokbenchError

Result = tuple[dict[str, Any], dict[str, Any]]
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
    for path in paths:
        try:
            result = json.loads(Path(path).read_text(encoding="utf-8"))
            head = {key: result[key] for key in HEAD}
            if not {"tasks", "texts"} <= result.keys():
                raise KeyError("texts")
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise TokbenchError(f"{path}: not a readable result ({error}); make it again") from None
        results.append((head, result))
    return results


def boundary_table(results: Iterable[Result]) -> pl.DataFrame:
    """How often tokens straddle the end of a context, by tokenizer and task; models play no part in it.

    Args:
        results: as :func:`read_results` gives them.

    Returns:
        The columns of :data:`BOUNDARIES`, ordered by suite, task, size and variant: ``straddling`` of the ``choices``,
        and ``straddling_questions``, which have such choices, of the ``questions``. Examples in the prompt belong to
        the context.
    """
    rows = [
        (
            *(head[key] for key in ("variant", "size", "suite")),
            name,
            task["num_fewshot"],
            task["choices"],
            task["straddling"],
            task["n"],
            task["straddling_documents"],
        )
        for head, result in results
        for name, task in result["tasks"].items()
    ]
    return pl.DataFrame(rows, schema=BOUNDARIES, orient="row").unique().sort("suite", "task", "size", "variant")


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
    rows: list[tuple[Any, ...]] = []
    for head, result in results:
        for name, task in result["tasks"].items():
            rows += [(*head.values(), name, *_outcome(document)) for document in task["documents"]]
    frame = pl.DataFrame(rows, schema=OUTCOMES, orient="row")
    return frame.sort("model", "suite", "size", "variant", "task", "document")


def text_table(results: Iterable[Result]) -> pl.DataFrame:
    """Bits per byte of every model on the texts of suites.

    Args:
        results: as :func:`read_results` gives them.

    Returns:
        The columns of :data:`TEXTS`, ordered by model, suite, text, size and variant; ``value`` is bits per byte.
    """
    rows = [
        (*head.values(), name, text["bits_per_byte"], text["bits"], text["bytes"], text["tokens"])
        for head, result in results
        for name, text in result["texts"].items()
    ]
    return pl.DataFrame(rows, schema=TEXTS, orient="row").sort("model", "suite", "text", "size", "variant")


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
