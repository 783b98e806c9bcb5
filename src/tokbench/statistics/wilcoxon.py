"""One-sided exact Wilcoxon signed-rank test (Wilcoxon 1945, "Individual comparisons by ranking methods").

Corrections of p-values for the number of tests: Holm (1979), and Benjamini and Hochberg (1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

DECIMALS = 9
"""Differences are rounded to so many decimals, so that floating-point noise neither makes nor breaks a tie."""

Null = Literal["tied", "untied"]


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Outcome of the test.

    Attributes:
        statistic: sum of the ranks of the positive differences; half-integral under ties.
        n: differences that are not zero.
        zeros: differences dropped because they are zero.
        p_value: probability, under the null hypothesis of symmetry about zero, of a statistic at least as large;
            1 where every difference is zero.
    """

    statistic: float
    n: int
    zeros: int
    p_value: float


def signed_rank(differences: Sequence[float] | NDArray[np.float64], null: Null = "tied") -> SignedRank:
    """Test whether paired differences tend to be positive.

    Zeros are dropped and ties share their average rank. The null distribution, every rank positive or negative with
    probability 1/2, is exact.

    Args:
        differences: paired differences, first minus second.
        null: "tied" takes the distribution of the ranks as they are, averages included, which is exact under ties.
            "untied" takes that of the ranks 1 to n, as printed tables and ``scipy.stats.wilcoxon(method="exact")``
            do, with the statistic rounded down: the published p-values come from differences whose ties are often
            due to rounding, and this null is closer to some of them.

    Returns:
        The statistic, what it is over, and its p-value.
    """
    rounded = np.round(np.asarray(differences, np.float64), DECIMALS)
    kept = rounded[rounded != 0.0]
    if not len(kept):
        return SignedRank(0.0, 0, len(rounded), 1.0)
    doubled = doubled_ranks(np.abs(kept))
    statistic = int(doubled[kept > 0].sum())
    if null == "tied":
        p_value = upper_tail(doubled, statistic)
    else:
        p_value = upper_tail(np.arange(1, len(kept) + 1), statistic // 2)
    return SignedRank(statistic / 2, len(kept), len(rounded) - len(kept), p_value)


def doubled_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Twice the rank of each value from 1, the least; ties share their average rank, which may be a half."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (2 * np.cumsum(counts) - counts + 1)[inverse]


def upper_tail(ranks: NDArray[np.int64], statistic: int) -> float:
    """Probability that a sum over ranks, each taken with probability 1/2, reaches ``statistic``.

    Args:
        ranks: int64 [n], positive.
        statistic: the sum to reach.
    """
    return min(1.0, float(_null(tuple(ranks.tolist()))[statistic:].sum()))


@lru_cache(maxsize=64)
def _null(ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Probability of each sum over ranks from 0. Pairs without ties share one, and the two directions of a pair do."""
    mass = np.zeros(sum(ranks) + 1)
    mass[0] = 1.0
    for rank in ranks:
        mass[rank:] += mass[:-rank]
        mass *= 0.5
    return mass


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


def rank_biserial(differences: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Matched-pairs rank-biserial correlation (Kerby 2014, "The simple difference formula").

    Returns:
        (W+ - W-) / (W+ + W-), where W+ and W- are the sums of the ranks of the positive and of the negative
        differences, zeros dropped and ties sharing their average rank: 1 where every difference is positive, -1
        where every one is negative. None where every difference is zero.
    """
    rounded = np.round(np.asarray(differences, np.float64), DECIMALS)
    kept = rounded[rounded != 0.0]
    if not len(kept):
        return None
    ranks = doubled_ranks(np.abs(kept))
    return float(2 * ranks[kept > 0].sum() / ranks.sum() - 1)


def standardized_mean(differences: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Cohen's d of paired differences, d_z: their mean over their standard deviation (Cohen 1988, section 2.3.5).

    Returns:
        None for fewer than two differences, and where they do not vary.
    """
    spread = deviation(differences)
    if spread is None or spread < 10**-DECIMALS:
        return None
    return fsum(differences) / len(differences) / spread


def deviation(values: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Sample standard deviation, with n - 1; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = fsum(values) / len(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
