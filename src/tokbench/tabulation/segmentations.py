"""Tidy tables of documents and questions in other segmentations, next to the same ones in the tokenizer's own."""

from collections.abc import Iterable
from math import isfinite
from typing import Any

import polars as pl

from tokbench.tabulation.answer_measures import bits_per_byte
from tokbench.tabulation.answers import HEAD, Result, table_of_results
from tokbench.tabulation.columns import (
    REASON,
    SEGMENTATION,
    SEGMENTED_DOCUMENTS_COLUMNS,
    SEGMENTED_QUESTIONS_COLUMNS,
)
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]
KEY = "other_segmentations"
"""Key of a downstream result."""


def segmented_documents_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return bits and tokens of every document that another segmentation changes, in both segmentations.

    Args:
        results: see :class:`tokbench.tabulation.answers.Results`. Results without other segmentations have no row.

    Returns:
        The columns of :data:`SEGMENTED_DOCUMENTS`, ordered by corpus, model, suite, size, variant, segmentation and
        document.
    """
    keys = ("document", "language", "bytes", "own_bits", "bits", "own_tokens", "tokens")

    def rows(result: Result) -> list[Row]:
        head = (*result.head.values(), result.whole.get("corpus", ""))
        return [
            (*head, kind, *(document[key] for key in keys))
            for kind, of_kind in result.whole.get(KEY, {}).items()
            for document in of_kind["documents"]
        ]

    table = table_of_results(results, rows, SEGMENTED_DOCUMENTS.schema)
    return table.sort("corpus", "model", "suite", "size", "variant", "segmentation", "document")


def segmented_questions_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return the answer to every question that another segmentation changes, in both segmentations.

    Args:
        results: see :func:`segmented_documents_table`.

    Returns:
        The columns of :data:`SEGMENTED_QUESTIONS`, ordered by model, suite, size, variant, segmentation, task and
        question.
    """

    def rows(result: Result) -> list[Row]:
        corpus = result.whole.get("corpus", "")
        found = []
        for kind, of_kind in result.whole.get(KEY, {}).items():
            for name, task in of_kind["tasks"].items():
                own = {question["document"]: question for question in result.whole["tasks"][name]["documents"]}
                for question in task["documents"]:
                    pair = own[question["document"]], question
                    source = question.get("source_document")
                    place = question["document"], question.get("group", ""), "" if source is None else corpus, source
                    answers = (*(one["correct"] for one in pair), *(_right_bits(one) for one in pair))
                    found.append((*result.head.values(), kind, name, *place, *answers))
        return found

    table = table_of_results(results, rows, SEGMENTED_QUESTIONS.schema)
    return table.sort("model", "suite", "size", "variant", "segmentation", "task", "document")


def _right_bits(question: dict[str, Any]) -> float | None:
    """Return the bits per byte of the right answer; None if several are right."""
    right = 0 if len(question["log_likelihoods"]) == 1 else question["gold"]
    if right is None:
        return None
    bits = bits_per_byte(question["log_likelihoods"][right], question["bytes"][right])
    return bits if isfinite(bits) else None


def segmented_texts_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return how many texts each segmentation changes and by how many tokens, or the reason why it changes none.

    Args:
        results: see :func:`segmented_documents_table`.

    Returns:
        The columns of :data:`SEGMENTED_TEXTS`, ordered by model, suite, size, variant and segmentation.
    """

    def rows(result: Result) -> list[Row]:
        found = []
        for kind, of_kind in result.whole.get(KEY, {}).items():
            documents, tasks = of_kind["documents"], of_kind["tasks"].values()
            tokens, own = (sum(one[key] for one in documents) for key in ("tokens", "own_tokens"))
            counts = (sum(task[key] for task in tasks) for key in ("n", "left_out", "longer_documents"))
            ratio = tokens / own if own else None
            texts = len(documents), of_kind["documents_left_out"]
            found.append((*result.head.values(), kind, ratio, *texts, *counts, of_kind["reason"]))
        return found

    table = table_of_results(results, rows, SEGMENTED_TEXTS.schema)
    return table.sort("model", "suite", "size", "variant", "segmentation")


SEGMENTED_DOCUMENTS = TidyTable(
    "segmented_documents",
    "a document of the evaluation split that another segmentation changes, under a model with a tokenizer and a suite "
    "with `other_segmentations`",
    SEGMENTED_DOCUMENTS_COLUMNS,
    maker=segmented_documents_table,
    takes=("results",),
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
    takes=("results",),
    keys=("variant", "size", "model", "suite", "segmentation", "task", "document"),
    command="tabulate",
    of_models=True,
)
SEGMENTED_TEXTS = TidyTable(
    "segmented_texts",
    "another segmentation of the texts of a model with a tokenizer, under a suite with `other_segmentations`",
    (
        *HEAD,
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
    takes=("results",),
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
