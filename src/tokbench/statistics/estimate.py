"""Estimates with standard errors: ratios of sums over documents, seeds and documents, and languages.

Bits per byte and token counts are such ratios. Their intervals by Student's t are the same in tables, on the page and
in ``tokbench compare``. A bootstrap is unreliable for few documents: if all of seven agree in sign, its p-value is the
least possible. Student's t allows for the small number.

Every seed is tested on the same documents, so seeds and documents are crossed random effects. More seeds reduce only
the variance from training, not the variance from documents.

Differences of tokenizers vary between languages. A linear model with a random intercept by language gives intervals for
other languages of the same kind; treating all documents as independent would not.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, fsum, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.statistics.student import quantile
from tokbench.statistics.verdicts import ALPHA

Ratio = tuple[NDArray[np.float64], NDArray[np.float64]]
"""Numerators and denominators, float64 arrays of equal length."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Difference or single value with its standard error.

    Attributes:
        difference: the difference, or a single value.
        error: its standard error.
        degrees: degrees of freedom of Student's t.
        trainings: number of seeds that the models of both were trained with (default: None, no trained model).
    """

    difference: float
    error: float
    degrees: float
    trainings: int | None = None


def ratio_over_documents(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Estimate:
    """Return sum of parts / sum of wholes with its standard error over documents and degrees of freedom.

    This is :func:`ratio_over_both` without seeds. Documents are weighted by their sizes, and the degrees of freedom
    count them as the number of equal documents with the same effective size, minus one.

    Args:
        parts: float64 [documents], numerators.
        wholes: float64 [documents], denominators, two or more; none is zero.
    """
    count, whole = len(wholes), exact_sum(wholes)
    mean = exact_sum(parts) / whole
    rest = count * (parts - mean * wholes) / whole
    variance = exact_sum(rest * rest) / (count - 1)
    return Estimate(mean, sqrt(variance / count), max(1.0, whole * whole / exact_sum(wholes * wholes) - 1))


def difference_of_ratios(a: Ratio, b: Ratio) -> Estimate:
    """Return the difference of two ratios of sums over the same items, each with its own denominators.

    Both are linearized (Cochran 1977, section 6.4). The residuals are subtracted item by item, so that variation common
    to both does not count. Items are weighted by their mean share of the two denominators. With equal denominators this
    is :func:`ratio_over_documents` of the differences.

    Args:
        a, b: numerators and denominators, float64 [items], two or more items. No sum of denominators is zero, but
            single ones may be.
    """
    count = len(a[0])
    ratios, rests, shares = [], [], []
    for parts, wholes in (a, b):
        whole = exact_sum(wholes)
        ratios.append(exact_sum(parts) / whole)
        rests.append((parts - ratios[-1] * wholes) / whole)
        shares.append(wholes / whole)
    rest, share = rests[0] - rests[1], (shares[0] + shares[1]) / 2
    variance = exact_sum(rest * rest) * count / (count - 1)
    return Estimate(ratios[0] - ratios[1], sqrt(variance), max(1.0, 1 / exact_sum(share * share) - 1))


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the unweighted mean of independent estimates, with Satterthwaite's degrees of freedom (1946)."""
    count = len(estimates)
    squares = [one.error * one.error for one in estimates]
    whole = fsum(squares)
    parts = fsum(square * square / one.degrees for square, one in zip(squares, estimates, strict=True))
    degrees = whole * whole / parts if parts else fsum(one.degrees for one in estimates)
    return Estimate(fsum(one.difference for one in estimates) / count, sqrt(whole) / count, degrees)


def interval(estimate: Estimate, unit: float = 1.0) -> tuple[float, float]:
    """Return the 95 % interval of an estimate by Student's t, multiplied by ``unit`` (default: 1.0)."""
    half = estimate.error * quantile(ALPHA, estimate.degrees)
    return unit * (estimate.difference - half), unit * (estimate.difference + half)


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
        seeds: number of seeds.
    """

    mean: float
    error: float
    degrees: float
    seed_deviation: float
    document_error: float
    residual_error: float
    seeds: int

    @property
    def estimate(self) -> Estimate:
        """Estimate: ratio with standard error, degrees of freedom and number of trainings."""
        return Estimate(self.mean, self.error, self.degrees, self.seeds)


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
    values = mean + documents * (parts - mean * wholes) / whole
    by_seed = np.array([exact_sum(row) for row in values]) / documents
    by_document = np.array([exact_sum(column) for column in values.T]) / seeds
    of_seeds = documents * _squares(by_seed - mean) / (seeds - 1)
    of_documents = seeds * _squares(by_document - mean) / (documents - 1)
    rest = (values - by_seed[:, np.newaxis] - by_document + mean).ravel()
    of_rest = _squares(rest) / ((seeds - 1) * (documents - 1))
    whole_square = max(of_seeds + of_documents - of_rest, of_seeds, of_documents)
    equal = max(whole * whole / _squares(wholes), 2.0)
    variances = of_seeds**2 / (seeds - 1) + of_documents**2 / (equal - 1)
    variances += of_rest**2 / ((seeds - 1) * (equal - 1))
    fewest = min(seeds, equal) - 1.0
    return Spread(
        mean,
        sqrt(whole_square / (seeds * documents)),
        max(fewest, whole_square**2 / variances) if variances else fewest,
        sqrt(of_seeds / documents),
        sqrt(max(of_documents - of_rest, 0.0) / (seeds * documents)),
        sqrt(of_rest / (seeds * documents)),
        seeds,
    )


def _squares(values: NDArray[np.float64]) -> float:
    return exact_sum(values * values)


LEAST, MOST = -30.0, 30.0
"""Search range of the logarithm of the ratio of variances."""
STEPS = 121
"""Grid points of the first search over this range."""
GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Mixed:
    """Fixed intercept and standard deviations of a mixed model.

    Attributes:
        mean: intercept, a mean over languages weighted by their precision.
        error: standard error of ``mean``; use Student's t with one degree of freedom less than languages.
        between: standard deviation of the languages' intercepts.
        within: standard deviation of a language's documents.
    """

    mean: float
    error: float
    between: float
    within: float


def random_intercept(values: Sequence[NDArray[np.float64]]) -> Mixed:
    """Fit value = intercept + language + residual by restricted maximum likelihood (Patterson and Thompson 1971).

    Only the ratio of the two variances is searched: one number with one optimum. General programs for mixed models use
    gradients, which may stop early or fail if a variance is zero.

    Args:
        values: one float64 array per language with the values of its documents, one or more; two or more languages.
    """
    counts = np.array([len(one) for one in values], np.float64)
    means = np.array([exact_sum(one) / len(one) for one in values])
    inside = exact_sum(np.concatenate([(one - mean) ** 2 for one, mean in zip(values, means, strict=True)]))
    rest = float(counts.sum() - 1)
    if not inside:
        mean = exact_sum(means) / len(means)
        between = sqrt(exact_sum((means - mean) ** 2) / (len(means) - 1))
        return Mixed(mean, between / sqrt(len(means)), between, 0.0)

    def parts(ratio: float) -> tuple[float, float, float]:
        """Return the intercept, the sum of weights, and the sum of squares about the intercept."""
        weights = counts / (1 + counts * ratio)
        mean = exact_sum(weights * means) / exact_sum(weights)
        return mean, exact_sum(weights), inside + exact_sum(weights * (means - mean) ** 2)

    def deviance(exponent: float) -> float:
        ratio = 0.0 if exponent == -inf else exp(exponent)
        _, weight, squares = parts(ratio)
        return rest * log(squares) + exact_sum(np.log1p(counts * ratio)) + log(weight)

    grid = np.linspace(LEAST, MOST, STEPS).tolist()
    least = min(range(STEPS), key=lambda place: deviance(grid[place]))
    best = _least(deviance, grid[max(least - 1, 0)], grid[min(least + 1, STEPS - 1)])
    ratio = 0.0 if deviance(-inf) <= deviance(best) else exp(best)
    mean, weight, squares = parts(ratio)
    variance = squares / rest
    return Mixed(mean, sqrt(variance / weight), sqrt(variance * ratio), sqrt(variance))


def _least(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the minimum of a unimodal function between two points, by golden-section search."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > 1e-9:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2
