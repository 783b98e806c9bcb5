"""Normalised sequence length: tokens of a tokenizer relative to those of a baseline, with intervals over documents.

Dagan et al. 2024 divide the tokens of a text by those of the baseline. The mean over documents of that ratio gives each
document the same weight. Intervals are over documents.

Reference: ``normalised_length`` in :mod:`tokbench.reference.documents`.
"""

from collections.abc import Sequence

import numpy as np

from tokbench.kernels.exact import exact_sum
from tokbench.metric.measurement import Measurement
from tokbench.statistics.significance.estimate import ratio, relative_difference

NAME = "normalised_sequence_length"
ONE = "an interval needs two documents"
Ends = tuple[float, float | None, float | None]
"""A value and the ends of its interval."""


def normalised_lengths(
    tokens: Sequence[int], of_baseline: Sequence[int], baseline: str, units: Sequence[int] | None = None
) -> list[Measurement]:
    """Return tokens / tokens of a baseline, of the text and as a mean over documents, each with a 95 % interval.

    Documents without tokens are no units, and copies of a document count once in the mean.

    Args:
        tokens: tokens of each document.
        of_baseline: those of the baseline, in the same order. Documents without any are left out of the mean.
        baseline: name of the baseline.
        units: number of the unit of each document; copies of a document share one (default: each its own).
    """
    numbers = np.arange(len(tokens)) if units is None else np.asarray(units, np.int64)
    left, right = (
        np.bincount(numbers, np.asarray(counts, np.float64)).astype(np.float64) for counts in (tokens, of_baseline)
    )
    filled = right > 0
    of_mean = ratio(left[filled] / right[filled], np.ones(int(filled.sum())))
    text_ends: Ends | None = None
    if filled.any():
        of_text = relative_difference(left, right)
        low, high = of_text.ends() if of_text else (None, None)
        text_ends = (exact_sum(left) / exact_sum(right), _above(low), _above(high))
    mean_ends: Ends | None = None if of_mean is None else (of_mean.difference, *of_mean.ends())
    return [
        *_rows(f"tokens / tokens of {baseline}", text_ends, int(((left > 0) | filled).sum())),
        *_rows(f"mean over documents of tokens / tokens of {baseline}", mean_ends, int(filled.sum())),
    ]


def _above(difference: float | None) -> float | None:
    return None if difference is None else 1 + difference


def _rows(definition: str, ends: Ends | None, n: int) -> list[Measurement]:
    """Return a value and the ends of its interval as measurements."""
    value, low, high = ends or (None, None, None)
    none = "the baseline has no tokens" if ends is None else ONE
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
