"""Measures of answers that are smooth in the model's probabilities: bits per byte and probability of the right answer.

Accuracy counts only which choice is the most likely. It changes in steps of one question, and a model may improve long
before it does (Schaeffer et al. 2023, "Are Emergent Abilities of Large Language Models a Mirage?"). Two measures use
the log-likelihoods of the choices:

- Bits per byte of the right answer: -log2 p(answer | context) / bytes of the answer (Heineman et al. 2025, "Signal and
  Noise"). Fewer is better. As in OLMES (Gu et al. 2025), the bytes are those of the text that is scored. They include
  the white space between context and answer, because its probability is part of p.
- Probability of the right answer over the choices: p(answer | context) / sum of p(choice | context) (Magnusson et al.
  2025, "DataDecide", normalised correct probability). More is better, and 1 / choices is chance. For tasks that are
  scored by length (``acc_norm``), each log-likelihood is first divided by the bytes of its choice.

Log-likelihoods are given the context's text, not its tokens, also for choices whose tokens straddle the end of the
context (see ``tokbench.evaluation.coverings``). Bytes do not depend on the tokenizer. So both measures are
comparable between tokenizers.
"""

from collections.abc import Iterable, Sequence
from math import isfinite, log
from typing import Any

import numpy as np
import polars as pl

from tokbench.kernels.elementary import exponentials_of
from tokbench.kernels.exact import exact_sum
from tokbench.tabulation.answers import Result, table_of_results
from tokbench.tabulation.columns import PERTURBED_ANSWERS, QUESTION_MEASURES
from tokbench.tabulation.table import TidyTable

PER_BYTE = "acc_norm"
"""Metric of tasks whose choices are compared by log-likelihood / length."""


def bits_per_byte(log_likelihood: float, size: int) -> float:
    """Return the bits per byte of an answer.

    Args:
        log_likelihood: log p(answer | context) in nats.
        size: bytes of the scored text, with the white space before the answer; at least 1.
    """
    return -log_likelihood / log(2) / size


def probability_over_choices(
    log_likelihoods: Sequence[float], right: int, sizes: Sequence[int] | None = None
) -> float | None:
    """Return the probability of the right choice if the answer is one of the choices (softmax).

    Args:
        log_likelihoods: log p(choice | context) of each choice in nats.
        right: index of the right choice.
        sizes: bytes of each choice; log-likelihoods are divided by them (default: None, they are not).

    Returns:
        The probability; None for fewer than two choices, or if every choice has probability zero.
    """
    scores = np.array(log_likelihoods, np.float64)
    if len(scores) < 2 or not isfinite(largest := float(scores.max())):
        return None
    if sizes is not None:
        scores = scores / np.array(sizes, np.float64)
        largest = float(scores.max())
    weights = exponentials_of(scores - largest)
    return float(weights[right]) / exact_sum(weights)


def answer_measure_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return the measures of every question, one row per model, tokenizer, suite, task and question.

    Args:
        results: see :class:`tokbench.tabulation.answers.Results`.

    Returns:
        The columns of :data:`ANSWER_MEASURES`, ordered by model, suite, size, variant, task and document.
    """

    def rows(result: Result) -> list[tuple[Any, ...]]:
        corpus = result.whole.get("corpus", "")
        return [
            (*result.head.values(), name, *_measured(document, task.get("metric") == PER_BYTE, corpus))
            for name, task in result.whole["tasks"].items()
            for document in task["documents"]
        ]

    table = table_of_results(results, rows, ANSWER_MEASURES.schema)
    return table.sort("model", "suite", "size", "variant", "task", "document")


def perturbed_answer_table(results: Iterable[Result]) -> pl.DataFrame:
    """Return the answers to perturbed questions next to those to the clean ones.

    Args:
        results: see :class:`tokbench.tabulation.answers.Results`. Suites without perturbed questions have no rows.

    Returns:
        The columns of :data:`PERTURBED`, one row per model, tokenizer, suite, task, kind and question, ordered by
        model, suite, size, variant and task; kinds and questions keep their order. A question that the kind does not
        change has no edits and no answer.
    """

    def rows(result: Result) -> list[tuple[Any, ...]]:
        corpus = result.whole.get("corpus", "")
        return [
            (*result.head.values(), name, kind, *_pair(document, changed.get(document["document"]), corpus))
            for name, task in result.whole["tasks"].items()
            for kind, of_kind in task.get("perturbed", {}).get("kinds", {}).items()
            for changed in [{one["document"]: one for one in of_kind["documents"]}]
            for document in task["documents"]
        ]

    table = table_of_results(results, rows, PERTURBED.schema)
    return table.sort("model", "suite", "size", "variant", "task", maintain_order=True)


def _pair(clean: dict[str, Any], perturbed: dict[str, Any] | None, corpus: str) -> tuple[Any, ...]:
    number, group, source_corpus, source, size, correct, bits, *_ = _measured(clean, False, corpus)
    after = (None,) * 7 if perturbed is None else _measured(perturbed, False, corpus)
    edits = 0 if perturbed is None else len(perturbed["edits"])
    return number, group, source_corpus, source, edits, size, correct, after[5], bits, after[6]


def _measured(document: dict[str, Any], by_length: bool, corpus: str) -> tuple[Any, ...]:
    sizes = document["bytes"]
    scores = document["log_likelihoods"][: len(sizes)]
    right = 0 if len(scores) == 1 else document["gold"]
    bits = probability = size = None
    if right is not None:
        size = sizes[right]
        bits = bits_per_byte(scores[right], size)
        probability = probability_over_choices(scores, right, sizes if by_length else None)
    source = document.get("source_document")
    return (
        document["document"],
        document.get("group", ""),
        "" if source is None else corpus,
        source,
        size,
        document["correct"],
        bits if bits is not None and isfinite(bits) else None,
        probability,
        "bytes" if by_length else "",
    )


ANSWER_MEASURES = TidyTable(
    "answer_measures",
    "a question, asked of a model with a tokenizer",
    QUESTION_MEASURES,
    maker=answer_measure_table,
    takes=("results",),
    keys=("variant", "size", "model", "suite", "task", "document"),
    command="tabulate",
    of_models=True,
)
PERTURBED = TidyTable(
    "perturbed_answers",
    "a question and its perturbation by a kind, asked of a model with a tokenizer",
    PERTURBED_ANSWERS,
    maker=perturbed_answer_table,
    takes=("results",),
    keys=("variant", "size", "model", "suite", "task", "kind", "document"),
    command="tabulate",
    of_models=True,
)
