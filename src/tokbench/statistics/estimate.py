"""A ratio of sums over documents with its standard error, and the interval that Student's t gives it.

Bits per byte and tokens are such ratios, and this is the interval that they have everywhere: in tables, on the page and
from ``tokbench compare``. A bootstrap of a handful of documents knows too little: with seven, all on one side give the
least p there is. Student's t pays for the few.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.exact import total
from tokbench.statistics.power import ALPHA
from tokbench.statistics.student import quantile


@dataclass(frozen=True, slots=True)
class Estimate:
    """A difference, a minus b, its standard error, and degrees of freedom of Student's t."""

    difference: float
    error: float
    degrees: float


def ratio_over_documents(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Estimate:
    """Sum of parts over sum of wholes, its standard error over documents and the degrees of freedom.

    As :func:`tokbench.statistics.two_sources.ratio_over_both`, without seeds: documents weigh what they hold, and count
    for as many as equal ones would be.

    Args:
        parts, wholes: float64 [documents], two or more; no whole is zero.
    """
    count, whole = len(wholes), total(wholes)
    mean = total(parts) / whole
    rest = count * (parts - mean * wholes) / whole
    variance = total(rest * rest) / (count - 1)
    return Estimate(mean, sqrt(variance / count), max(1.0, whole * whole / total(wholes * wholes) - 1))


def interval(estimate: Estimate, unit: float = 1.0) -> tuple[float, float]:
    """95 % interval of an estimate by Student's t, times a unit."""
    half = estimate.error * quantile(ALPHA, estimate.degrees)
    return unit * (estimate.difference - half), unit * (estimate.difference + half)
