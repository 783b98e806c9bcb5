"""Random units, sizes, seeds and counts with known true values, for the simulation of intervals."""

from math import e, exp, expm1, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Rng = np.random.Generator

DISTRIBUTIONS = {
    "normal": "normal",
    "heavy": "heavy-tailed (t with 3 degrees)",
    "both": "difference of two lognormals",
    "skewed": "skewness 0.8",
    "more skewed": "skewness 1.75",
    "extreme": "skewness 6.2",
}
"""Distributions of a unit's value, with mean 0 and variance 1. The last three are lognormals."""
SIGMAS = {"skewed": 0.25, "more skewed": 0.5, "extreme": 1.0}
SIZES = {"equal": "equal", "unequal": "lognormal", "half": "one has half"}
"""Sizes of units: equal, lognormal (1 in logarithms), or half of everything in one unit."""


def unit_values(rng: Rng, distribution: str, shape: tuple[int, ...]) -> Floats:
    """Return values of units with mean 0 and variance 1."""
    if distribution == "normal":
        return rng.standard_normal(shape)
    if distribution == "heavy":
        return np.asarray(rng.standard_t(3, shape)) / sqrt(3)
    if distribution == "both":
        return (np.exp(rng.standard_normal(shape)) - np.exp(rng.standard_normal(shape))) / sqrt(2 * e * (e - 1))
    sigma = SIGMAS[distribution]
    centered = np.exp(sigma * rng.standard_normal(shape)) - exp(sigma**2 / 2)
    return np.asarray(centered / sqrt(expm1(sigma**2) * exp(sigma**2)))


def unit_sizes(rng: Rng, kind: str, count: int) -> Floats:
    """Return sizes of units with mean 1."""
    if kind == "unequal":
        sizes = np.exp(rng.standard_normal(count))
    else:
        sizes = np.ones(count)
        if kind == "half":
            sizes[0] = count - 1
    return np.asarray(sizes / sizes.mean())


def over_seeds(
    rng: Rng, seeds: int, values: Floats, sizes: Floats, seed_variance: float, rest_variance: float
) -> Floats:
    """Return a difference per byte of seeds and units: unit + seed + rest.

    The variances are those of the mean over seeds and units, in multiples of the part of units.

    Args:
        rng: random generator.
        seeds: number of seeds.
        values: values of units with variance 1, float64 [..., units].
        sizes: sizes of the units, float64 [units].
        seed_variance: part of the seeds.
        rest_variance: part of single units in single seeds.

    Returns:
        float64 [..., seeds, units].
    """
    *others, units = values.shape
    share = sizes / sizes.sum()
    of_seed = sqrt(seed_variance * seeds * float((share * share).sum()))
    of_rest = sqrt(rest_variance * seeds)
    means = values[..., np.newaxis, :] + of_seed * rng.standard_normal((*others, seeds, 1))
    return np.asarray(means + of_rest * rng.standard_normal((*others, seeds, units)))
