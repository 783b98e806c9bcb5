"""A mean over languages of which each has documents of its own: a linear model with a random intercept by language.

A difference of tokenizers is not the same in every language. To take all documents for independent would say how sure
it is for these languages; a random intercept says how sure it is for languages like these.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.exact import total

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
    means = np.array([total(one) / len(one) for one in values])
    inside = total(np.concatenate([(one - mean) ** 2 for one, mean in zip(values, means, strict=True)]))
    rest = float(counts.sum() - 1)
    if not inside:
        mean = total(means) / len(means)
        between = sqrt(total((means - mean) ** 2) / (len(means) - 1))
        return Mixed(mean, between / sqrt(len(means)), between, 0.0)

    def parts(ratio: float) -> tuple[float, float, float]:
        """The intercept, the sum of weights, and the sum of squares about it."""
        weights = counts / (1 + counts * ratio)
        mean = total(weights * means) / total(weights)
        return mean, total(weights), inside + total(weights * (means - mean) ** 2)

    def deviance(exponent: float) -> float:
        ratio = 0.0 if exponent == -inf else exp(exponent)
        _, weight, squares = parts(ratio)
        return rest * log(squares) + total(np.log1p(counts * ratio)) + log(weight)

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
