"""Verdicts on differences, the number of trainings that they need, and detectable differences.

A model that is trained again with another seed has another score. One training of each tokenizer therefore allows no
verdict and no rank, two allow a rank, and three allow a significant difference. Measures without a trained model are
exempt: their number of trainings is None.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from math import pi, sqrt

BETTER, WORSE, NOT_TOLD, NOT_TESTED = "better", "worse", "not told apart", "not tested"
NO_DIFFERENCE = "no significant difference"
IN_WORDS = {
    BETTER: "significantly better",
    WORSE: "significantly worse",
    NOT_TOLD: NO_DIFFERENCE,
    NOT_TESTED: NOT_TESTED,
}
"""Text for each verdict on pages and in terminals."""
RANKED_FROM = 2
"""Fewest trainings of each tokenizer for a rank or a best one."""
SIGNIFICANT_FROM = 3
"""Fewest trainings of each tokenizer for a significant difference."""
ONE_TRAINING = "not tested: one training"
TWO_TRAININGS = "not tested: two trainings; significance needs three"

Trainings = Mapping[tuple[str, str, int], int]
"""Number of trainings by model, suite and vocabulary size."""


def fewest(trainings: Trainings | None, model: str, suite: str, sizes: Iterable[int]) -> int | None:
    """Return the fewest trainings of a model at some sizes.

    Args:
        trainings: number of trainings of every model; None for published numbers, which are compared as in their
            papers.
        model: name of the model.
        suite: name of the suite.
        sizes: vocabulary sizes; a size without an entry counts as trained once.
    """
    if trainings is None:
        return None
    return min((trainings.get((model, suite, size), 1) for size in sizes), default=1)


def may_rank(trainings: int | None) -> bool:
    """Return True if tokenizers may be ranked.

    Args:
        trainings: fewest trainings of any of them; None if no model was trained.
    """
    return trainings is None or trainings >= RANKED_FROM


def why_untested(trainings: int | None) -> str:
    """Return the reason why a difference is not tested for significance; empty if it is.

    Args:
        trainings: fewest trainings of either tokenizer; None if no model was trained.
    """
    if trainings is None or trainings >= SIGNIFICANT_FROM:
        return ""
    return TWO_TRAININGS if may_rank(trainings) else ONE_TRAINING


def in_full(reason: str | None) -> str:
    """Return a reason why a difference is not tested, beginning with "not tested"."""
    if not reason:
        return NOT_TESTED
    return reason if reason.startswith(NOT_TESTED) else f"{NOT_TESTED}: {reason}"


ALPHA = 0.05
POWER = 0.8
DETECT = 0.01
"""Default difference in bits per byte to detect."""
LEAST = 1e-6
"""Smallest difference that may be requested."""
EFFICIENCY = 3 / pi
"""Asymptotic relative efficiency of the signed-rank test to Student's t under normality (Pitman; Lehmann 1975)."""


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
    from tokbench.statistics.distributions import ndtri

    return -float(ndtri(alpha) + ndtri(1 - power))
