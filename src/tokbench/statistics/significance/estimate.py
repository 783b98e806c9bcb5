"""Estimates with intervals: ratios of sums over units, and over seeds and units.

A unit is an independent item of a test: a document, an author, a cluster of questions, a word of gold data, a language.
Bits per byte and accuracies are ratios of sums over units. A relative number of tokens is a ratio of two such sums, and
its interval cannot leave its range. A unit without content is no observation.

Every seed is tested on the same units, so seeds and units are crossed random effects. More seeds reduce only the
variance from training, not the variance from units. Reference distributions:
:mod:`tokbench.statistics.significance.subsets`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import expm1, fsum, inf, log1p, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.statistics.significance.student import quantile, two_sided
from tokbench.statistics.significance.subsets import SeedSpread, UnitSpread, combined_halves, combined_p
from tokbench.statistics.significance.verdicts import ALPHA

Ratio = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Numerators and denominators, float64 arrays of equal length."""
DOCUMENTS = "documents"


@dataclass(frozen=True, slots=True)
class Estimate:
    """Difference or single value with its spread.

    Attributes:
        difference: the difference, or a single value.
        error: its standard error; infinite if it is not known, as for one unit. Of a relative difference, it is that of
            the logarithm of the ratio.
        degrees: degrees of freedom of Student's t.
        trainings: number of seeds that the models of both were trained with (default: None, no trained model).
        units: number of units that the error is over (default: None, the error is not over units).
        unit: name of the units, in the plural (default: "documents").
        relative: True if the difference is a ratio minus 1 (default: False).
        reason: reason why the difference is not tested (default: none), see
            :mod:`tokbench.statistics.significance.eligibility`.
        over_units: spread over units (default: None; the interval is then Student's t).
        over_seeds: spread over seeds (default: None).
    """

    difference: float
    error: float
    degrees: float
    trainings: int | None = None
    units: int | None = None
    unit: str = DOCUMENTS
    relative: bool = False
    reason: str = ""
    over_units: UnitSpread | None = None
    over_seeds: SeedSpread | None = None

    def ends(self, alpha: float = ALPHA) -> tuple[float | None, float | None]:
        """Return the interval at level ``alpha`` (default: 0.05).

        Both ends are None if the error is not known, or if the units do not vary: no variance is not certainty.
        """
        if not 0 < self.error < inf:
            return None, None
        if self.over_units is not None:
            below, above = combined_halves(self.over_units, self.over_seeds, alpha)
            return (None, None) if below == inf else (self.difference - below, self.difference + above)
        half = self.error * quantile(alpha, self.degrees)
        if not self.relative:
            return self.difference - half, self.difference + half
        center = log1p(self.difference)
        return expm1(center - half), expm1(center + half)

    @property
    def p_value(self) -> float | None:
        """Two-sided p-value of no difference; None if the error is not known, or if the units do not vary.

        It is at most 0.05 if and only if the 95 % interval excludes zero.
        """
        if not self.difference and self.error < inf:
            return 1.0
        if not 0 < self.error < inf:
            return None
        center = log1p(self.difference) if self.relative else self.difference
        by_student = two_sided(center / self.error, self.degrees)
        if self.over_units is None:
            return by_student
        if self.over_seeds is None:
            return self.over_units.p_value()
        return combined_p(self.difference, self.over_units, self.over_seeds, by_student)

    def exclude(self, reason: str) -> "Estimate":
        """Return the estimate as one that is not tested for a reason of its tokenizers."""
        return replace(self, reason=reason)


def ratio(
    parts: NDArray[np.float64], wholes: NDArray[np.float64], *, unit: str = DOCUMENTS, trained: bool = False
) -> Estimate | None:
    """Return sum of parts / sum of wholes, over the units whose whole is above zero.

    With several seeds, seeds and units are random effects, see :func:`ratio_over_both`; with one seed, only units are.
    With one unit the error is not known.

    Args:
        parts: numerators, float64 [seeds, units] or [units].
        wholes: denominators, float64 [units]. Units without content (zero) are left out.
        unit: name of the units (default: "documents").
        trained: True if the parts are of trained models (default: False).

    Returns:
        The estimate; None if no unit has content.
    """
    rows = np.atleast_2d(parts)
    filled = wholes > 0
    rows, sizes = rows[:, filled], wholes[filled]
    seeds, units = rows.shape
    if not units:
        return None
    if seeds > 1 and units > 1:
        return replace(ratio_over_both(rows, sizes).estimate, unit=unit)
    whole = exact_sum(sizes)
    mean = exact_sum(rows.ravel()) / (seeds * whole)
    error, degrees = over_units((rows[0] - mean * sizes) / whole, sizes / whole)
    spread = UnitSpread(rows[0], sizes, error, degrees) if units > 1 else None
    return Estimate(mean, error, degrees, seeds if trained else None, units, unit, over_units=spread)


def relative_difference(a: NDArray[np.float64], b: NDArray[np.float64], *, unit: str = DOCUMENTS) -> Estimate | None:
    """Return sum of a / sum of b - 1 of the same units, with the standard error of its logarithm.

    The logarithm is linearized: a unit adds a / sum of a - b / sum of b. The estimate of b against a is therefore its
    exact reverse, and no interval reaches below -100 %.

    Args:
        a, b: counts, float64 [units]. Units where both are zero are left out.
        unit: name of the units (default: "documents").

    Returns:
        The estimate; None if either sum is zero.
    """
    filled = (a > 0) | (b > 0)
    left, right = a[filled], b[filled]
    of_a, of_b = exact_sum(left), exact_sum(right)
    if not of_a or not of_b:
        return None
    shares = left / of_a, right / of_b
    error, degrees = over_units(shares[0] - shares[1], (shares[0] + shares[1]) / 2)
    spread = UnitSpread(left, right, error, degrees, relative=True) if len(left) > 1 else None
    return Estimate(of_a / of_b - 1, error, degrees, None, len(left), unit, relative=True, over_units=spread)


def difference_of_ratios(a: Ratio, b: Ratio, *, unit: str = DOCUMENTS) -> Estimate:
    """Return the difference of two ratios of sums over the same units, each with its own denominators.

    Both are linearized (Cochran 1977, section 6.4). The residuals are subtracted unit by unit, so that variation common
    to both does not count. Units are weighted by their mean share of the two denominators. With equal denominators this
    is :func:`ratio` of the differences.

    Args:
        a, b: numerators and denominators, float64 [units]. No sum of denominators is zero, but single ones may be.
        unit: name of the units (default: "documents").
    """
    ratios, rests, shares = [], [], []
    for parts, wholes in (a, b):
        whole = exact_sum(wholes)
        ratios.append(exact_sum(parts) / whole)
        rests.append((parts - ratios[-1] * wholes) / whole)
        shares.append(wholes / whole)
    rest, share = rests[0] - rests[1], (shares[0] + shares[1]) / 2
    error, degrees = over_units(rest, share)
    difference = ratios[0] - ratios[1]
    spread = UnitSpread(difference * share + rest, share, error, degrees) if len(rest) > 1 else None
    return Estimate(difference, error, degrees, None, len(rest), unit, over_units=spread)


def over_units(rests: NDArray[np.float64], shares: NDArray[np.float64]) -> tuple[float, float]:
    """Return the standard error of a linearized estimate over units, and its degrees of freedom.

    The degrees of freedom count the units as the number of equal ones with the same effective size (Kish 1965), minus
    one.

    Args:
        rests: deviation of the estimate that each unit causes, float64 [units]; their sum is zero.
        shares: weight of each unit, float64 [units]; their sum is one.

    Returns:
        Standard error and degrees of freedom; an infinite error for one unit.
    """
    count = len(rests)
    if count < 2:
        return inf, 1.0
    return sqrt(_squares(rests) * count / (count - 1)), max(1.0, 1 / _squares(shares) - 1)


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the unweighted mean of independent estimates, with Satterthwaite's degrees of freedom (1946).

    A single estimate is returned as it is.
    """
    count = len(estimates)
    if count == 1:
        return estimates[0]
    squares = [estimate.error * estimate.error for estimate in estimates]
    whole = fsum(squares)
    parts = fsum(square * square / estimate.degrees for square, estimate in zip(squares, estimates, strict=True))
    degrees = whole * whole / parts if parts and whole < inf else fsum(estimate.degrees for estimate in estimates)
    units = sum(estimate.units or 0 for estimate in estimates)
    difference = fsum(estimate.difference for estimate in estimates) / count
    return Estimate(difference, sqrt(whole) / count, degrees, None, units or None, estimates[0].unit)


@dataclass(frozen=True, slots=True)
class Spread:
    """Ratio of sums over seeds and documents, with its components of variance.

    Attributes:
        mean: ratio of the sums.
        error: standard error of the ratio from both sources.
        degrees: degrees of freedom of Student's t, by Satterthwaite.
        seed_deviation: sample standard deviation of the seeds' ratios.
        document_error: part of ``error`` that more seeds do not reduce.
        residual_error: part of ``error`` from variation of single documents between seeds, which more of either reduce.
        seeds, units: number of each.
        over_units: spread over units of the mean over seeds.
        over_seeds: spread that seeds add.
    """

    mean: float
    error: float
    degrees: float
    seed_deviation: float
    document_error: float
    residual_error: float
    seeds: int
    units: int
    over_units: UnitSpread
    over_seeds: SeedSpread

    @property
    def estimate(self) -> Estimate:
        """Estimate: ratio with its spread, number of trainings and of units."""
        spreads = {"over_units": self.over_units, "over_seeds": self.over_seeds}
        return Estimate(self.mean, self.error, self.degrees, self.seeds, self.units, **spreads)  # type: ignore[arg-type]


def ratio_over_both(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Spread:
    """Return sum of parts / sum of wholes, with seeds and documents as crossed random effects.

    The ratio is the mean of its linearization, R + J (part - R whole) / sum of wholes for J documents (Cochran 1977,
    section 6.4). Its mean squares between seeds, between documents and of the residual give the variance
    (MS seeds + MS documents - MS residual) / (seeds x documents). The variance is at least that of either source.
    Degrees of freedom (Satterthwaite 1946) are at least those of the source with fewer. For them, documents of unequal
    size count as (sum of wholes)^2 / sum of squared wholes equal documents (Kish 1965).

    Args:
        parts: float64 [seeds, documents], numerators, two or more of both.
        wholes: float64 [documents], size of each document; not all zero.
    """
    seeds, documents = parts.shape
    whole = exact_sum(wholes)
    mean = exact_sum(parts.ravel()) / (seeds * whole)
    # Linearize the ratio (Cochran 1977): values by seed and document that average to it.
    values = mean + documents * (parts - mean * wholes) / whole
    by_seed = np.array([exact_sum(row) for row in values]) / documents
    by_document = np.array([exact_sum(column) for column in values.T]) / seeds
    # Mean squares of seeds, documents and their interaction (two-way random effects without replication).
    of_seeds = documents * _squares(by_seed - mean) / (seeds - 1)
    of_documents = seeds * _squares(by_document - mean) / (documents - 1)
    rest = (values - by_seed[:, np.newaxis] - by_document + mean).ravel()
    of_rest = _squares(rest) / ((seeds - 1) * (documents - 1))
    whole_square = max(of_seeds + of_documents - of_rest, of_seeds, of_documents)
    # Documents of equal size with the same effective number (Kish 1965).
    equal = max(whole * whole / _squares(wholes), 2.0)
    # Satterthwaite's degrees of freedom (1946), not fewer than those of the smaller factor.
    variances = of_seeds**2 / (seeds - 1) + of_documents**2 / (equal - 1)
    variances += of_rest**2 / ((seeds - 1) * (equal - 1))
    fewest = min(seeds, equal) - 1.0
    # The same spread for intervals by sign flips: over units, between seeds, and the rest.
    means = np.array([exact_sum(column) for column in parts.T]) / seeds
    share = wholes / whole
    of_units, degrees = over_units((means - mean * wholes) / whole, share)
    deviations = (by_seed - mean)[:, np.newaxis]
    single = ((parts - mean * wholes) / whole - share * deviations - (means - mean * wholes) / whole).ravel()
    residual = _squares(single) * documents / (documents - 1) / (seeds * (seeds - 1))
    between = _squares(by_seed - mean) / (seeds - 1) / seeds
    return Spread(
        mean,
        sqrt(whole_square / (seeds * documents)),
        max(fewest, whole_square**2 / variances) if variances else fewest,
        sqrt(of_seeds / documents),
        sqrt(max(of_documents - of_rest, 0.0) / (seeds * documents)),
        sqrt(of_rest / (seeds * documents)),
        seeds,
        documents,
        UnitSpread(means, wholes, of_units, degrees),
        SeedSpread(between, seeds - 1.0, residual, (seeds - 1) * (equal - 1)),
    )


def _squares(values: NDArray[np.float64]) -> float:
    return exact_sum(values * values)
