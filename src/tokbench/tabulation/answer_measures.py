"""Tidy tables of answers by measures that are smooth in the model's probabilities, and of perturbed questions.

The measures are those of :mod:`tokbench.evaluation.answer_measures`.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.tabulation.answers import questions, tasks
from tokbench.tabulation.columns import PERTURBED_ANSWERS, QUESTION_MEASURES
from tokbench.tabulation.reading import Row, table_of_results
from tokbench.tabulation.table import TidyTable

ORDER = ("model", "suite", "size", "variant", "task")


def answer_measure_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return the measures of every question, one row per model, tokenizer, suite, task and question.

    Args:
        downstream: downstream result files, in any order.

    Returns:
        The columns of :data:`ANSWER_MEASURES`, ordered by model, suite, size, variant, task and document.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return table_of_results(downstream, ANSWER_MEASURES, questions, *ORDER, "document")


def perturbed_answer_table(downstream: Iterable[Path | str]) -> pl.DataFrame:
    """Return the answers to perturbed questions next to those to the clean ones.

    Args:
        downstream: downstream result files, in any order. Suites without perturbed questions have no rows.

    Returns:
        The columns of :data:`PERTURBED`, one row per model, tokenizer, suite, task, kind and question, ordered by
        model, suite, size, variant and task; kinds and questions keep their order. A question that the kind does not
        change has no edits and no answer.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return table_of_results(downstream, PERTURBED, _perturbed_questions, *ORDER)


def _perturbed_questions(result: Any) -> Iterator[Row]:
    """Yield a row for each question and kind of perturbation."""
    for task in tasks(result):
        for kind, answers in task.get("perturbed", {}).get("kinds", {}).items():
            changed = {answer["document"]: answer for answer in answers["documents"]}
            for clean in task["documents"]:
                answer = changed.get(clean["document"], UNCHANGED)
                yield {
                    **clean,
                    "task": task["task"],
                    "kind": kind,
                    "edits": len(answer["edits"]),
                    "clean_correct": clean["correct"],
                    "correct": answer["correct"],
                    "clean_bits_per_byte": clean["bits_per_byte"],
                    "bits_per_byte": answer["bits_per_byte"],
                }


UNCHANGED: Row = {"edits": (), "correct": None, "bits_per_byte": None}
"""Answer to a question that a kind of perturbation does not change."""
ANSWER_MEASURES = TidyTable(
    "answer_measures",
    "a question, asked of a model with a tokenizer",
    QUESTION_MEASURES,
    maker=answer_measure_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "task", "document"),
    command="tabulate",
    of_models=True,
)
PERTURBED = TidyTable(
    "perturbed_answers",
    "a question and its perturbation by a kind, asked of a model with a tokenizer",
    PERTURBED_ANSWERS,
    maker=perturbed_answer_table,
    takes=("files.downstream",),
    keys=("variant", "size", "model", "suite", "task", "kind", "document"),
    command="tabulate",
    of_models=True,
)
