"""Verdicts on differences, in the words of every face, and detectable differences.

A difference is significant ("better" or "worse"), shows no significant difference, or is not tested. The rule that
decides which differences are tested is :mod:`tokbench.statistics.significance.eligibility`.
"""

from functools import cache
from math import pi, sqrt

BETTER, WORSE, NO_DIFFERENCE, NOT_TESTED = "better", "worse", "no significant difference", "not tested"
IN_WORDS = {
    BETTER: "significantly better",
    WORSE: "significantly worse",
    NO_DIFFERENCE: NO_DIFFERENCE,
    NOT_TESTED: NOT_TESTED,
}
"""Text for a verdict on pages and in terminals."""
ALPHA = 0.05
CONFIDENCE = 1 - ALPHA
POWER = 0.8
DETECT = 0.01
"""Default difference in bits per byte to detect."""
LEAST = 1e-6
"""Smallest difference that may be requested."""
EFFICIENCY = 3 / pi
"""Asymptotic relative efficiency of the signed-rank test to Student's t under normality (Pitman; Lehmann 1975)."""


def in_full(reason: str | None) -> str:
    """Return a reason why a difference is not tested, beginning with "not tested"."""
    if not reason:
        return NOT_TESTED
    return reason if reason.startswith(NOT_TESTED) else f"{NOT_TESTED}: {reason}"


def detectable_difference(
    deviation: float | None, pairs: int, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """Return the mean difference at which the one-sided signed-rank test rejects with probability ``power``.

    Assumes shifted normal differences and the test's asymptotic efficiency. The difference is (z_alpha + z_power) times
    the standard error of a mean, divided by the square root of 3 / pi.

    Args:
        deviation: standard deviation of the paired differences, in the unit of the result; None if unknown.
        pairs: number of pairs.
        alpha: level of the test (default: 0.05).
        power: probability of a rejection (default: 0.8).

    Returns:
        The difference. None if the deviation is unknown or zero, or if the least p-value, 2^-pairs, is above ``alpha``.
    """
    if not deviation or 0.5**pairs > alpha:
        return None
    return _quantiles(alpha, power) * deviation / sqrt(pairs * EFFICIENCY)


@cache
def _quantiles(alpha: float, power: float) -> float:
    from tokbench.statistics.significance.distributions import ndtri

    return -float(ndtri(alpha) + ndtri(1 - power))
