"""Friedman's test and Nemenyi's critical difference (Demsar 2006, "Statistical comparisons of classifiers over
multiple data sets", section 3.2)."""

from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.statistics.significance.distributions import chi_squared_tail
from tokbench.statistics.significance.verdicts import ALPHA


def friedman(values: NDArray[np.float64]) -> tuple[list[float], float | None, float | None]:
    """Rank columns in each row (block), the lowest value first, and test whether average ranks differ.

    Args:
        values: float64 [blocks, columns], both one or more.

    Returns:
        Average ranks, Friedman's chi-squared corrected for ties, and its p-value; both are None if nothing differs.
    """
    from tokbench.statistics.significance.distributions import rankdata

    ranked = rankdata(values, axis=1)
    ranks = ranked.mean(axis=0)
    count, width = ranked.shape
    expected = (width + 1) / 2
    spread = fsum(((ranked - expected) ** 2).ravel().tolist()) / (count * (width - 1)) if width > 1 else 0.0
    if not spread:
        return ranks.tolist(), None, None
    statistic = count * fsum(((ranks - expected) ** 2).tolist()) / spread
    return ranks.tolist(), statistic, chi_squared_tail(statistic, width - 1)


def nemenyi(variants: int, blocks: int, alpha: float = ALPHA) -> float:
    """Return the critical difference of average ranks.

    It is q sqrt(k (k + 1) / (6 N)) for k variants and N blocks; q is the quantile of the studentized range / sqrt(2).
    """
    from tokbench.statistics.significance.distributions import studentized_range

    quantile = float(studentized_range.isf(alpha, variants, np.inf)) / sqrt(2)
    return quantile * sqrt(variants * (variants + 1) / (6 * blocks))
