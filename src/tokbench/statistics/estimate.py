"""A ratio of sums over documents with its standard error, and the interval that Student's t gives it.

Bits per byte and tokens are such ratios, and this is the interval that they have everywhere: in tables, on the page and
from ``tokbench compare``. A bootstrap of a handful of documents knows too little: with seven, all on one side give the
least p there is. Student's t pays for the few.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.exact import total
from tokbench.statistics.power import ALPHA
from tokbench.statistics.student import quantile

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
        whole = total(wholes)
        ratios.append(total(parts) / whole)
        rests.append((parts - ratios[-1] * wholes) / whole)
        shares.append(wholes / whole)
    rest, share = rests[0] - rests[1], (shares[0] + shares[1]) / 2
    variance = total(rest * rest) * count / (count - 1)
    return Estimate(ratios[0] - ratios[1], sqrt(variance), max(1.0, 1 / total(share * share) - 1))


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
