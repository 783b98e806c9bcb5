"""Corrections of p-values for the number of tests: Holm (1979), and Benjamini and Hochberg (1995)."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Adjust for the chance of one false rejection or more, whatever the dependence between the tests.

    Returns:
        float64 [n], in the order given: the smallest level at which Holm's step-down procedure rejects each.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    return _placed(np.minimum(np.maximum.accumulate(steps), 1.0), order)


def benjamini_hochberg(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Adjust for the expected share of false rejections among all rejections.

    Returns:
        float64 [n], in the order given: the smallest false discovery rate at which the step-up procedure rejects each.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    steps = values[order] * len(values) / np.arange(1, len(values) + 1)
    return _placed(np.minimum(np.minimum.accumulate(steps[::-1])[::-1], 1.0), order)


def _placed(values: NDArray[np.float64], order: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sorted values back in the order of the tests."""
    placed = np.empty_like(values)
    placed[order] = values
    return placed
