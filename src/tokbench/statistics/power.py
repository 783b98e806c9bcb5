"""What a comparison could have seen: the smallest difference that the test finds with a stated probability."""

from functools import cache
from math import pi, sqrt

ALPHA = 0.05
POWER = 0.8
DETECT = 0.01
"""Difference in bits per byte that is to be seen where none is named."""
LEAST = 1e-6
"""The least that may be asked for."""
EFFICIENCY = 3 / pi
"""Asymptotic relative efficiency of the signed-rank test to Student's t under normality (Pitman; Lehmann 1975)."""


def detectable_difference(
    deviation: float | None, pairs: int, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Mean difference at which the one-sided signed-rank test rejects with probability ``power``.

    Shifted normal differences are assumed, and the test's asymptotic efficiency: (z_alpha + z_power) times the standard
    error of a mean, over the square root of 3 / pi.

    Args:
        deviation: standard deviation of the paired differences; its unit is that of the result.
        pairs: how many.
        alpha: level of the test.
        power: probability of a rejection.

    Returns:
        None where the deviation is unknown or zero, and where so few pairs allow no rejection at all, the least
        p-value being 2^-pairs.
    """
    if not deviation or 0.5**pairs > alpha:
        return None
    return _quantiles(alpha, power) * deviation / sqrt(pairs * EFFICIENCY)


@cache
def _quantiles(alpha: float, power: float) -> float:
    from tokbench.statistics.distributions import norm

    return float(norm.isf(alpha) + norm.isf(1 - power))
