"""Distributions: all imports from SciPy, and tail probabilities that are equal on every machine.

``scipy.stats`` takes four times as long to import as ``scipy.special``, whose functions it calls. It is imported when
one of its names is first used.

Double-precision libraries depend on the machine's logarithms and exponentials. Their last digit differs between
processors, so the tails here are computed with 40 digits and rounded once.
"""

from fractions import Fraction
from functools import lru_cache
from math import comb
from typing import Any

import mpmath
from scipy.special import ndtr, ndtri, stdtr, stdtrit

__all__ = ["binomial_tail", "chi_squared_tail", "correlation_tail", "ndtr", "ndtri", "stdtr", "stdtrit"]

OF_STATS = ("beta", "chi2", "false_discovery_control", "rankdata", "studentized_range")
"""Names of ``scipy.stats`` that this module has as well."""
DIGITS = 40
"""Decimal digits of the arithmetic; a double has 17."""


def __getattr__(name: str) -> Any:
    if name not in OF_STATS:
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
    from scipy import stats

    return getattr(stats, name)


@lru_cache(maxsize=4096)
def correlation_tail(square: Fraction, pairs: int) -> float:
    """Return the two-sided p-value of Pearson's r under normality (Student 1908), from the square of r."""
    with mpmath.workdps(DIGITS):
        rest = mpmath.mpf(square.denominator - square.numerator) / square.denominator
        return float(mpmath.betainc(mpmath.mpf(pairs - 2) / 2, mpmath.mpf(1) / 2, 0, rest, regularized=True))


def chi_squared_tail(statistic: float, degrees: int) -> float:
    """Return the probability that chi-squared with these degrees of freedom reaches the statistic."""
    with mpmath.workdps(DIGITS):
        return float(mpmath.gammainc(mpmath.mpf(degrees) / 2, mpmath.mpf(statistic) / 2, regularized=True))


@lru_cache(maxsize=4096)
def binomial_tail(heads_at_least: int, trials: int) -> float:
    """Return the probability of at least ``least`` heads in ``trials`` throws of a fair coin; exact, rounded once."""
    ways = term = comb(trials, max(heads_at_least, 0))
    for heads in range(max(heads_at_least, 0), trials):
        term = term * (trials - heads) // (heads + 1)
        ways += term
    return float(Fraction(ways, 1 << trials))
