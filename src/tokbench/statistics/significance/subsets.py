"""Reference distributions of differences: subsets of the units, and Student's t over seeds.

The interval of a ratio of sums lies between the 2.5 % and 97.5 % points of the ratio over all subsets of the units
(typical values, Hartigan 1969); p is twice the share of subsets on the other side of zero. This is the test that flips
the signs of the units' differences. It needs no normality, only that a unit's deviation is as likely positive as
negative. All subsets are used for up to 13 units, and 8,191 random ones, always the same, up to 200 units. More units,
and fewer than six, have Student's t with the degrees of freedom of as many equal units (Kish 1965).

Seeds add the half-width of Student's t. Squares of half-widths are added, and the part of single units in single seeds,
which both contain, is subtracted once (MOVER, Zou and Donner 2008).

Measured coverage: docs/measured/coverage.md.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import expm1, inf, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.statistics.significance.student import quantile, two_sided

SUBSETS_FROM = 6
"""Fewest units for subsets: with five, the least p is 0.0625."""
EXACT_TO = 13
SUBSETS = 2**EXACT_TO - 1
"""Non-empty subsets of 13 units; as many random ones of more units."""
SUBSETS_TO = 200
SLACK = 1e-12
"""Tolerance of ties: sums of subsets are rounded."""
STEPS = 60


@lru_cache(maxsize=4)
def _random_subsets(units: int) -> NDArray[np.float64]:
    """Return random subsets, float64 [units, subsets] of zeros and ones."""
    return np.random.default_rng(0).integers(0, 2, (units, SUBSETS)).astype(np.float64)


def subset_sums(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sums over every non-empty subset, or over random subsets of more than 13 values, float64 [subsets].

    Additions have a fixed order, so that sums are the same on every machine.
    """
    if len(values) <= EXACT_TO:
        sums = np.zeros(1)
        for value in values.tolist():
            sums = np.concatenate([sums, sums + value])
        return sums[1:]
    sums = np.zeros(SUBSETS)
    for value, chosen in zip(values.tolist(), _random_subsets(len(values)), strict=True):
        sums += chosen * value
    return sums


@dataclass(frozen=True)
class UnitSpread:
    """Spread of a ratio of sums over its units.

    Attributes:
        tops, bottoms: numerators and denominators, float64 [units], two or more.
        error: standard error; of the logarithm of the ratio if it is relative.
        degrees: degrees of freedom of Student's t.
        relative: True if the value is the ratio minus 1, and its interval is that of the logarithm (default: False).
    """

    tops: NDArray[np.float64]
    bottoms: NDArray[np.float64]
    error: float
    degrees: float
    relative: bool = False

    @property
    def by_subsets(self) -> bool:
        """True if the distribution is that of subsets."""
        return SUBSETS_FROM <= len(self.tops) <= SUBSETS_TO

    @cached_property
    def value(self) -> float:
        """The ratio, minus 1 if it is relative."""
        return exact_sum(self.tops) / exact_sum(self.bottoms) - self.relative

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Values over the subsets, ascending, float64 [subsets]."""
        order = self._order()
        tops, bottoms = subset_sums(self.tops[order]), subset_sums(self.bottoms[order])
        positive = bottoms > 0
        return np.sort(tops[positive] / bottoms[positive] - self.relative)

    def _order(self) -> NDArray[np.intp]:
        """Return an order of the units that depends neither on their input order nor on which tokenizer comes first."""
        if self.relative:
            return np.lexsort((np.abs(self.tops - self.bottoms), self.tops + self.bottoms))
        return np.lexsort((np.abs(self.tops), self.bottoms))

    def halves(self, alpha: float) -> tuple[float, float]:
        """Return the half-widths of the interval below and above the value at level ``alpha``.

        They are infinite if the subsets are too few for the level.
        """
        if not self.by_subsets:
            half = quantile(alpha, self.degrees) * self.error
            if not self.relative:
                return half, half
            center = log1p(self.value)
            return self.value - expm1(center - half), expm1(center + half) - self.value
        total = len(self.values) + 1
        cut = int(alpha / 2 * total + 1e-9)
        if cut < 1:
            return inf, inf
        low, high = float(self.values[cut - 1]), float(self.values[total - 1 - cut])
        return max(0.0, self.value - low), max(0.0, high - self.value)

    @property
    def least(self) -> float:
        """Least p-value of the subsets that are used."""
        return 2 / (len(self.values) + 1) if self.by_subsets else 0.0

    def p_value(self) -> float:
        """Return the two-sided p-value of a value of zero.

        Below the resolution of random subsets, it is that of Student's t, but at least that of all subsets.
        """
        center = log1p(self.value) if self.relative else self.value
        by_student = two_sided(center / self.error, self.degrees) if self.error else 1.0
        if not self.by_subsets:
            return by_student
        beyond = self.values >= -SLACK if self.value < 0 else self.values <= SLACK
        p_value = min(1.0, 2 * (1 + int(beyond.sum())) / (len(self.values) + 1))
        return beyond_resolution(p_value, self, by_student)


def beyond_resolution(p_value: float, spread: UnitSpread, by_student: float) -> float:
    """Return a p-value, or that of Student's t if it is the least of random subsets."""
    if p_value > spread.least:
        return p_value
    return max(2.0 ** (1 - len(spread.tops)), min(p_value, by_student))


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Variance that seeds add to a mean over seeds.

    Attributes:
        variance: variance of the mean between seeds.
        degrees: its degrees of freedom.
        residual: part of ``variance`` from single units in single seeds, which the spread over units contains, too.
        residual_degrees: degrees of freedom of ``residual``.
    """

    variance: float
    degrees: float
    residual: float
    residual_degrees: float

    def square(self, alpha: float) -> float:
        """Return the part of the square of a half-width that seeds add at level ``alpha``."""
        of_seeds, of_rest = quantile(alpha, self.degrees), quantile(alpha, self.residual_degrees)
        return max(0.0, of_seeds**2 * self.variance - of_rest**2 * self.residual)


def combined_halves(units: UnitSpread, seeds: SeedSpread | None, alpha: float) -> tuple[float, float]:
    """Return the half-widths of the interval over units and seeds at level ``alpha``."""
    below, above = units.halves(alpha)
    if seeds is None:
        return below, above
    square = seeds.square(alpha)
    return sqrt(below * below + square), sqrt(above * above + square)


def combined_p(distance: float, units: UnitSpread, seeds: SeedSpread, by_student: float) -> float:
    """Return the least level at which the interval over units and seeds excludes zero.

    Args:
        distance: the value.
        units: spread over units.
        seeds: spread over seeds.
        by_student: p-value of Student's t, for levels that subsets cannot resolve.
    """
    side = 0 if distance > 0 else 1
    lowest = max(units.least, 1e-300)

    def excludes(alpha: float) -> bool:
        return abs(distance) > combined_halves(units, seeds, alpha)[side]

    if excludes(lowest):
        return beyond_resolution(lowest, units, by_student) if units.by_subsets else lowest
    low, high = lowest, 1.0
    for _ in range(STEPS):
        middle = sqrt(low * high)
        low, high = (low, middle) if excludes(middle) else (middle, high)
        if high - low < 1e-9 * high:
            break
    return high
