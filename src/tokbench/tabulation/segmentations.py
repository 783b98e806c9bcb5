"""Tidy tables of documents and questions in other segmentations, next to the same ones in the tokenizer's own."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.tabulation.answers import MEASURED
from tokbench.tabulation.columns import (
    REASON,
    SEGMENTATION,
    SEGMENTED_DOCUMENTS_COLUMNS,
    SEGMENTED_QUESTIONS_COLUMNS,
)
from tokbench.tabulation.reading import Row, table_of_results
from tokbench.tabulation.table import Column, Print, TidyTable

ORDER = ("model", "suite", "size", "variant", "segmentation")


def segmented_documents_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return bits and tokens of every document that another segmentation changes, in both segmentations.

    Args:
        downstream: downstream result files, in any order. Results without other segmentations have no row.

    Returns:
        The columns of :data:`SEGMENTED_DOCUMENTS`, ordered by corpus, model, suite, size, variant, segmentation and
        document.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """

    def rows(result: Any) -> Iterator[Row]:
        for kind, measured in _kinds(result):
            for document in measured["documents"]:
                yield {**document, "segmentation": kind}

    return table_of_results(downstream, SEGMENTED_DOCUMENTS, rows, "corpus", *ORDER, "document")


def segmented_questions_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return the answer to every question that another segmentation changes, in both segmentations.

    Args:
        downstream: see :func:`segmented_documents_table`.

    Returns:
        The columns of :data:`SEGMENTED_QUESTIONS`, ordered by model, suite, size, variant, segmentation, task and
        question.
    """

    def rows(result: Any) -> Iterator[Row]:
        for kind, measured in _kinds(result):
            for name, task in measured["tasks"].items():
                own = {question["document"]: question for question in result["tasks"][name]["documents"]}
                for question in task["documents"]:
                    before = own[question["document"]]
                    answers = {f"own_{key}": before[key] for key in ("correct", "bits_per_byte")}
                    yield {**question, **answers, "segmentation": kind, "task": name}

    return table_of_results(downstream, SEGMENTED_QUESTIONS, rows, *ORDER, "task", "document")


def segmented_texts_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return how many texts each segmentation changes and by how many tokens, or the reason why it changes none.

    Args:
        downstream: see :func:`segmented_documents_table`.

    Returns:
        The columns of :data:`SEGMENTED_TEXTS`, ordered by model, suite, size, variant and segmentation.
    """

    def rows(result: Any) -> Iterator[Row]:
        for kind, measured in _kinds(result):
            tasks = measured["tasks"].values()
            tokens, own = (sum(document[key] for document in measured["documents"]) for key in ("tokens", "own_tokens"))
            yield {
                "segmentation": kind,
                "tokens_ratio": tokens / own if own else None,
                "documents": len(measured["documents"]),
                "documents_left_out": measured["documents_left_out"],
                "questions": sum(task["n"] for task in tasks),
                "questions_left_out": sum(task["left_out"] for task in tasks),
                "longer": sum(task["longer_documents"] for task in tasks),
                "reason": measured["reason"],
            }

    return table_of_results(downstream, SEGMENTED_TEXTS, rows, *ORDER)


def _kinds(result: Any) -> Any:
    """Return the kinds of other segmentations in a downstream result with their measurements."""
    return result.get("other_segmentations", {}).items()


SEGMENTED_DOCUMENTS = TidyTable(
    "segmented_documents",
    "a document of the evaluation split that another segmentation changes, under a model with a tokenizer and a suite "
    "with `other_segmentations`",
    SEGMENTED_DOCUMENTS_COLUMNS,
    maker=segmented_documents_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "corpus", "segmentation", "document"),
    command="tabulate",
    of_models=True,
)
SEGMENTED_QUESTIONS = TidyTable(
    "segmented_questions",
    "a question that another segmentation changes, asked of a model with a tokenizer under a suite with "
    "`other_segmentations`",
    SEGMENTED_QUESTIONS_COLUMNS,
    maker=segmented_questions_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "segmentation", "task", "document"),
    command="tabulate",
    of_models=True,
)
SEGMENTED_TEXTS = TidyTable(
    "segmented_texts",
    "another segmentation of the texts of a model with a tokenizer, under a suite with `other_segmentations`",
    (
        *MEASURED,
        SEGMENTATION,
        Column("tokens_ratio", pl.Float64, "tokens of the changed documents / tokens in the tokenizer's segmentation",
               "ratio", "tokens / own tokens", 2, empty="no document is changed or measured"),
        Column("documents", pl.Int64, "documents that are changed", "documents", "documents"),
        Column("documents_left_out", pl.Int64, "documents that are not changed", "documents", "documents left out"),
        Column("questions", pl.Int64, "questions that are changed", "questions", "questions"),
        Column("questions_left_out", pl.Int64, "questions that are not changed", "questions", "questions left out"),
        Column("longer", pl.Int64, "changed questions with more tokens than the model was trained to read at a time",
               "questions", "longer than the window"),
        REASON,
    ),
    maker=segmented_texts_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "segmentation"),
    command="tabulate",
    prints=(
        Print(
            "statistics",
            "Texts in other segmentations into the tokenizer's own tokens, {model} on {suite}. Texts without a "
            "different token are left out.",
            (
                "variant", "size", "segmentation", "tokens_ratio", "documents", "documents_left_out", "questions",
                "questions_left_out", "longer",
            ),
            by=("model", "suite"),
            files=("downstream/{model}/{variant}/{size}/{suite}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
