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
context (see :mod:`tokbench.evaluation.coverings`). Bytes do not depend on the tokenizer. So both measures are
comparable between tokenizers.
"""

from collections.abc import Mapping, Sequence
from math import isfinite, log
from typing import Any

import numpy as np

from tokbench.kernels.elementary import exponentials_of
from tokbench.kernels.exact import exact_sum

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


def measure_answer(question: Mapping[str, Any], metric: str) -> dict[str, Any]:
    """Return the columns of the tables of questions that follow from the log-likelihoods of the choices.

    Args:
        question: ``log_likelihoods`` of the choices in nats, ``choice_bytes`` (bytes of their scored texts),
            ``straddling_choices`` and ``gold``.
        metric: metric of the task.

    Returns:
        ``choices`` and ``straddling`` (counts), ``log_likelihood`` of the right choice or of the only one,
        ``log_likelihood_of_others`` (the greatest), ``bytes`` of the right choice, ``bits_per_byte``, ``probability``
        and ``divided_by``, see :data:`tokbench.tabulation.columns.QUESTION_MEASURES`. If several choices are right,
        all but the counts and ``divided_by`` are None.
    """
    scores, sizes = question["log_likelihoods"], question["choice_bytes"]
    right = 0 if len(scores) == 1 else question["gold"]
    others = [score for place, score in enumerate(scores) if place != right]
    row: dict[str, Any] = {
        "choices": len(scores),
        "straddling": len(question["straddling_choices"]),
        **dict.fromkeys(("log_likelihood", "log_likelihood_of_others", "bytes", "bits_per_byte", "probability")),
        "divided_by": "bytes" if metric == PER_BYTE else "",
    }
    if right is not None:
        bits = bits_per_byte(scores[right], sizes[right])
        row |= {
            "log_likelihood": scores[right],
            "log_likelihood_of_others": max(others, default=None),
            "bytes": sizes[right],
            "bits_per_byte": bits if isfinite(bits) else None,
            # A metric may also need the log-likelihoods of choices without their context, which come last.
            "probability": probability_over_choices(scores[: len(sizes)], right, sizes if metric == PER_BYTE else None),
        }
    return row
