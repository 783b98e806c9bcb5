"""Student's t: p-values, quantiles, power, and detectable differences."""

from functools import lru_cache
from math import lgamma, log, sqrt

import numpy as np

from tokbench.statistics.significance.verdicts import ALPHA, POWER

NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)
"""Nodes and weights of Gauss-Legendre quadrature on -1 to 1."""
REACH = 10.0
"""Integration range on either side of the mean of chi, whose standard deviation is below 1."""


def two_sided(statistic: float, degrees: float) -> float:
    """Return the probability that t reaches the statistic on either side."""
    from tokbench.statistics.significance.distributions import stdtr

    return min(1.0, 2 * float(stdtr(degrees, -abs(statistic))))


@lru_cache(maxsize=4096)
def quantile(alpha: float, degrees: float) -> float:
    """Return the two-sided critical value of t at level ``alpha``: half an interval's width / the standard error."""
    from tokbench.statistics.significance.distributions import stdtrit

    return -float(stdtrit(degrees, alpha / 2))


def power_of(difference: float, degrees: float, alpha: float = ALPHA) -> float:
    """Return the probability that a two-sided t test rejects, at a true difference in units of its standard error.

    Exact under normality: the distribution of the standard error (chi over the root of the degrees) is integrated out
    (Johnson, Kotz and Balakrishnan 1995, chapter 31). SciPy's noncentral t fails in far tails.

    Args:
        difference: noncentrality parameter.
        degrees: degrees of freedom, 1 or more.
        alpha: level of the test (default: 0.05).
    """
    from tokbench.statistics.significance.distributions import ndtr

    middle = sqrt(degrees)
    low, high = max(0.0, middle - REACH), middle + REACH
    chi = low + (high - low) * (1 + NODES) / 2
    density = np.exp((degrees - 1) * np.log(chi) - chi**2 / 2 - (degrees / 2 - 1) * log(2) - lgamma(degrees / 2))
    critical = quantile(alpha, degrees) * chi / middle
    rejected = ndtr(difference - critical) + ndtr(-difference - critical)
    return min(1.0, float((WEIGHTS * density * rejected).sum() * (high - low) / 2))


@lru_cache(maxsize=4096)
def detectable(degrees: float, alpha: float = ALPHA, power: float = POWER) -> float:
    """Return the difference, in standard errors, that a two-sided t test detects with probability ``power``."""
    low, high = 0.0, 1.0
    while power_of(high, degrees, alpha) < power:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if power_of(middle, degrees, alpha) < power else (low, middle)
    return high
