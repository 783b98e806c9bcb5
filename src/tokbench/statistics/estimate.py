"""A ratio of sums over documents with its standard error, and the interval that Student's t gives it.

Bits per byte and tokens are such ratios, and this is the interval that they have everywhere: in tables, on the page and
from ``tokbench compare``. A bootstrap of a handful of documents knows too little: with seven, all on one side give the
least p there is. Student's t pays for the few.

The mean of differences that were drawn twice over: seeds of the models, and documents that these were tested on.

Every seed is tested on the same documents, so that the two cross. A mean over both varies by either: trained again, the
models would differ, and other documents would tell otherwise. More seeds make the first smaller, and not the second.

A mean over languages of which each has documents of its own: a linear model with a random intercept by language.

A difference of tokenizers is not the same in every language. To take all documents for independent would say how sure
it is for these languages; a random intercept says how sure it is for languages like these.
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
"""Parts and wholes of things."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference, a minus b, its standard error, and degrees of freedom of Student's t.

    Attributes:
        trainings: seeds that the models of both were trained with; None if no model was trained.
    """

    difference: float
    error: float
    degrees: float
    trainings: int | None = None


def ratio_over_documents(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Estimate:
    """Sum of parts over sum of wholes, its standard error over documents and the degrees of freedom.

    As :func:`tokbench.statistics.estimate.ratio_over_both`, without seeds: documents weigh what they hold, and count
    for as many as equal ones would be.

    Args:
        parts, wholes: float64 [documents], two or more; no whole is zero.
    """
    count, whole = len(wholes), exact_sum(wholes)
    mean = exact_sum(parts) / whole
    rest = count * (parts - mean * wholes) / whole
    variance = exact_sum(rest * rest) / (count - 1)
    return Estimate(mean, sqrt(variance / count), max(1.0, whole * whole / exact_sum(wholes * wholes) - 1))


def difference_of_ratios(a: Ratio, b: Ratio) -> Estimate:
    """The difference of two ratios of sums over the same things, each with wholes of its own.

    Both are linearized (Cochran 1977, section 6.4), and what remains is subtracted thing by thing, so that what the two
    share is not counted against them. Things count by their mean share of the two wholes. With equal wholes this is
    :func:`ratio_over_documents` of the differences.

    Args:
        a, b: parts and wholes of each, float64 [things], two or more; no sum of wholes is zero, but a thing's may be.
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
    """The unweighted mean of independent estimates; degrees of freedom are Satterthwaite's (1946)."""
    count = len(estimates)
    squares = [one.error * one.error for one in estimates]
    whole = fsum(squares)
    parts = fsum(square * square / one.degrees for square, one in zip(squares, estimates, strict=True))
    degrees = whole * whole / parts if parts else fsum(one.degrees for one in estimates)
    return Estimate(fsum(one.difference for one in estimates) / count, sqrt(whole) / count, degrees)


def interval(estimate: Estimate, unit: float = 1.0) -> tuple[float, float]:
    """95 % interval of an estimate by Student's t, times a unit."""
    half = estimate.error * quantile(ALPHA, estimate.degrees)
    return unit * (estimate.difference - half), unit * (estimate.difference + half)


@dataclass(frozen=True, slots=True)
class Spread:
    """A ratio of sums over seeds and documents, and by how much it would vary.

    Attributes:
        mean: the ratio of the sums.
        error: its standard error, both sources together.
        degrees: of freedom of Student's t, by Satterthwaite.
        seed_deviation: sample standard deviation of the seeds' ratios.
        document_error: the part of ``error`` that no further seed makes smaller.
        seeds: number of seeds.
    """

    mean: float
    error: float
    degrees: float
    seed_deviation: float
    document_error: float
    seeds: int

    @property
    def estimate(self) -> Estimate:
        """The ratio with its standard error, degrees of freedom and number of trainings."""
        return Estimate(self.mean, self.error, self.degrees, self.seeds)


def ratio_over_both(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Spread:
    """Sum of parts over sum of wholes, with the standard error of seeds and documents as crossed random effects.

    Documents weigh what they hold: the ratio is taken as the mean of its linearization, R + J (part - R whole) / sum of
    wholes (Cochran 1977, section 6.4). Its mean squares between seeds, between documents and of the rest give the
    variance (MS seeds + MS documents - MS rest) / (seeds x documents), never less than of one source alone, and its
    degrees of freedom (Satterthwaite 1946), never fewer than of the source that has fewer. Documents of unequal size
    count for as many as equal ones would be, (sum of wholes)^2 / sum of their squares (Kish 1965).

    Args:
        parts: float64 [seeds, documents], two or more of both.
        wholes: float64 [documents], what each document holds; not all zero.
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
        seeds,
    )


def _squares(values: NDArray[np.float64]) -> float:
    return exact_sum(values * values)


LEAST, MOST = -30.0, 30.0
"""Range of the logarithm of a ratio of variances in which it is looked for."""
STEPS = 121
"""Points of a first look at that range."""
GOLDEN = (sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True)
class Mixed:
    """The fixed intercept and the two standard deviations.

    Attributes:
        mean: the intercept, a mean over languages in which those count less that are known less well.
        error: its standard error; with Student's t of one degree less than languages it gives an interval.
        between: standard deviation of the languages' own intercepts.
        within: standard deviation of a language's documents.
    """

    mean: float
    error: float
    between: float
    within: float


def random_intercept(values: Sequence[NDArray[np.float64]]) -> Mixed:
    """Fit value = intercept + language + rest by restricted maximum likelihood (Patterson and Thompson 1971).

    Of the two variances only their ratio has to be looked for, which is one number and has one place to be: general
    programs for mixed models walk to it by gradients, and stop early or fail where a variance is zero.

    Args:
        values: for each of two languages or more a float64 array of its documents, one or more.
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
        """The intercept, the sum of weights, and the sum of squares about it."""
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
    """Where a function with one valley between two places is least, by golden sections."""
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
