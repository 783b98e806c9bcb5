"""Exact one-sided Wilcoxon signed-rank test (Wilcoxon 1945, "Individual comparisons by ranking methods").

Also corrections of p-values for multiple tests: Holm (1979), and Benjamini and Hochberg (1995).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import fsum, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

DECIMALS = 9
"""Decimals to which differences are rounded, so that floating-point noise does not create or break ties."""

Null = Literal["tied", "untied"]


@dataclass(frozen=True, slots=True)
class SignedRank:
    """Outcome of the test.

    Attributes:
        statistic: sum of the ranks of the positive differences; half-integral under ties.
        n: number of differences that are not zero.
        zeros: number of differences dropped because they are zero.
        p_value: probability of a statistic at least as large under symmetry about zero; 1 if all differences are zero.
    """

    statistic: float
    n: int
    zeros: int
    p_value: float


def signed_rank(differences: Sequence[float] | NDArray[np.float64], null: Null = "tied") -> SignedRank:
    """Test whether paired differences tend to be positive.

    Zeros are dropped and ties share their average rank. The null distribution is exact: every rank is positive or
    negative with probability 1/2.

    Args:
        differences: paired differences, first minus second.
        null: "tied" (default) uses the distribution of the actual ranks, averages included, and is exact under ties.
            "untied" uses that of the ranks 1 to n, as printed tables and ``scipy.stats.wilcoxon(method="exact")`` do,
            with the statistic rounded down. Published p-values come from differences whose ties are often due to
            rounding, and this null is closer to some of them.

    Returns:
        The statistic, the numbers of differences, and the p-value.
    """
    rounded = np.round(np.asarray(differences, np.float64), DECIMALS)
    nonzero = rounded[rounded != 0.0]
    if not len(nonzero):
        return SignedRank(0.0, 0, len(rounded), 1.0)
    doubled = doubled_ranks(np.abs(nonzero))
    statistic = int(doubled[nonzero > 0].sum())
    if null == "tied":
        p_value = upper_tail(doubled, statistic)
    else:
        p_value = upper_tail(np.arange(1, len(nonzero) + 1), statistic // 2)
    return SignedRank(statistic / 2, len(nonzero), len(rounded) - len(nonzero), p_value)


def doubled_ranks(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return twice the rank of each value, 1 being the least; ties share their average rank, hence the doubling."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (2 * np.cumsum(counts) - counts + 1)[inverse]


def upper_tail(ranks: NDArray[np.int64], statistic: int) -> float:
    """Return the probability that a sum over ranks, each included with probability 1/2, reaches ``statistic``.

    Args:
        ranks: int64 [n], positive.
        statistic: threshold of the sum.
    """
    return min(1.0, float(_null(tuple(ranks.tolist()))[statistic:].sum()))


@lru_cache(maxsize=64)
def _null(ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the probability of each sum over ranks, from 0; cached because pairs without ties share it."""
    mass = np.zeros(sum(ranks) + 1)
    mass[0] = 1.0
    for rank in ranks:
        mass[rank:] += mass[:-rank]
        mass *= 0.5
    return mass


def holm(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Adjust p-values to control the probability of any false rejection, under any dependence of the tests.

    Returns:
        float64 [n], in the order given: smallest level at which Holm's step-down procedure rejects each.
    """
    values = np.asarray(p_values, np.float64)
    order = np.argsort(values, kind="stable")
    steps = values[order] * np.arange(len(values), 0, -1)
    adjusted = np.empty_like(values)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def benjamini_hochberg(p_values: Sequence[float]) -> NDArray[np.float64]:
    """Adjust p-values to control the expected share of false rejections among all rejections.

    Returns:
        float64 [n], in the order given: smallest false discovery rate at which the step-up procedure rejects each.
    """
    from tokbench.statistics.significance.distributions import false_discovery_control

    return np.asarray(false_discovery_control(p_values), np.float64) if len(p_values) else np.empty(0)


def rank_biserial(differences: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return the matched-pairs rank-biserial correlation (Kerby 2014, "The simple difference formula").

    Returns:
        (W+ - W-) / (W+ + W-), where W+ and W- are the sums of the ranks of the positive and of the negative
        differences. Zeros are dropped and ties share their average rank. 1 if every difference is positive, -1 if
        every one is negative, None if every difference is zero.
    """
    rounded = np.round(np.asarray(differences, np.float64), DECIMALS)
    nonzero = rounded[rounded != 0.0]
    if not len(nonzero):
        return None
    ranks = doubled_ranks(np.abs(nonzero))
    return float(2 * ranks[nonzero > 0].sum() / ranks.sum() - 1)


def standardized_mean(differences: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return Cohen's d_z of paired differences: mean / standard deviation (Cohen 1988, section 2.3.5).

    Returns:
        d_z; None for fewer than two differences, or if they do not vary.
    """
    spread = deviation(differences)
    if spread is None or spread < 10**-DECIMALS:
        return None
    return fsum(differences) / len(differences) / spread


def deviation(values: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Return the sample standard deviation with n - 1; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = fsum(values) / len(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
