"""What statistics take from SciPy, which is imported here and nowhere else.

Tails of distributions, in arithmetic of more digits than are asked for: the same on every machine.

What a library of doubles gives for them rests on the machine's logarithms and exponentials, and differs in the last
digit between processors.
"""

from fractions import Fraction
from functools import lru_cache
from math import comb

import mpmath
from scipy.special import ndtr
from scipy.stats import beta, chi2, false_discovery_control, norm, rankdata, studentized_range, t

__all__ = ["beta", "chi2", "false_discovery_control", "ndtr", "norm", "rankdata", "studentized_range", "t"]


DIGITS = 40
"""Decimal digits of the arithmetic; a double has 17."""


@lru_cache(maxsize=4096)
def correlation_tail(square: Fraction, pairs: int) -> float:
    """Two-sided p-value of Pearson's r over so many pairs under normality (Student 1908), from the square of r."""
    with mpmath.workdps(DIGITS):
        rest = mpmath.mpf(square.denominator - square.numerator) / square.denominator
        return float(mpmath.betainc(mpmath.mpf(pairs - 2) / 2, mpmath.mpf(1) / 2, 0, rest, regularized=True))


def chi_squared_tail(statistic: float, degrees: int) -> float:
    """Probability that chi-squared of so many degrees of freedom reaches the statistic."""
    with mpmath.workdps(DIGITS):
        return float(mpmath.gammainc(mpmath.mpf(degrees) / 2, mpmath.mpf(statistic) / 2, regularized=True))


@lru_cache(maxsize=4096)
def binomial_tail(least: int, trials: int) -> float:
    """Probability of ``least`` heads or more in so many throws of a fair coin; counted whole and rounded once."""
    ways = term = comb(trials, max(least, 0))
    for heads in range(max(least, 0), trials):
        term = term * (trials - heads) // (heads + 1)
        ways += term
    return float(Fraction(ways, 1 << trials))
