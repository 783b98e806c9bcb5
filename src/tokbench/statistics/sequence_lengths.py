"""Normalised sequence length: tokens of a tokenizer relative to those of a baseline, with intervals over documents.

Dagan et al. 2024 divide the tokens of a text by those of the baseline. The mean over documents of that ratio gives each
document the same weight. Intervals are by Student's t over documents.

Reference: ``normalised_length`` in :mod:`tokbench.reference.documents`.
"""

from collections.abc import Sequence

import numpy as np

from tokbench.kernels.exact import exact_sum
from tokbench.metric.measurement import Measurement
from tokbench.statistics.contrast import token_counts
from tokbench.statistics.estimate import interval, ratio_over_documents

NAME = "normalised_sequence_length"
ONE = "an interval needs two documents"
Ends = tuple[float, float | None, float | None]
"""A value and the ends of its interval."""


def normalised_lengths(tokens: Sequence[int], of_baseline: Sequence[int], baseline: str) -> list[Measurement]:
    """Return tokens / tokens of a baseline, of the text and as a mean over documents, each with a 95 % interval.

    Args:
        tokens: tokens of each document.
        of_baseline: those of the baseline, in the same order. Documents without any are left out of the mean.
        baseline: name of the baseline.
    """
    found = token_counts(tokens, of_baseline)
    pairs = [(own, other) for own, other in zip(tokens, of_baseline, strict=True) if other]
    of_text = None if found is None else (1 + found.difference, _above(found.low), _above(found.high))
    ratios = np.array([own / other for own, other in pairs], np.float64)
    mean: Ends | None = None
    if len(ratios):
        ends = interval(ratio_over_documents(ratios, np.ones(len(ratios)))) if len(ratios) > 1 else (None, None)
        mean = exact_sum(ratios) / len(ratios), *ends
    return [
        *_rows(f"tokens / tokens of {baseline}", of_text, len(tokens)),
        *_rows(f"mean over documents of tokens / tokens of {baseline}", mean, len(ratios)),
    ]


def _above(difference: float | None) -> float | None:
    return None if difference is None else 1 + difference


def _rows(definition: str, found: Ends | None, n: int) -> list[Measurement]:
    """Return a value and the ends of its interval as measurements."""
    value, low, high = found or (None, None, None)
    none = "the baseline has no tokens" if found is None else ONE
    named = (
        (NAME, definition, value),
        *(
            (f"{NAME}_{side}", f"{where} end of the 95 % interval over documents: {definition}", end)
            for side, where, end in (("low", "lower", low), ("high", "upper", high))
        ),
    )
    return [
        Measurement(name, text, None, 0, none) if number is None else Measurement(name, text, number, n)
        for name, text, number in named
    ]
