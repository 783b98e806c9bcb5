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
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Adjust for the expected share of false rejections among all rejections.

    Returns:
        float64 [n], in the order given: the smallest false discovery rate at which the step-up procedure rejects each.
    """
    from tokbench.statistics.distributions import false_discovery_control

    return np.asarray(false_discovery_control(p_values), np.float64) if len(p_values) else np.empty(0)
