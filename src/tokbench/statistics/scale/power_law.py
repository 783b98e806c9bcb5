"""Estimates on a power law of bits per byte, over seeds and documents.

Each estimate is a sum of weights times logarithms of bits per byte. Logarithms are linearized (delta method), so an
estimate is a ratio of sums over documents for each seed. Its interval therefore covers seeds and documents as crossed
random effects, see :func:`tokbench.statistics.significance.estimate.ratio_over_both`. Differences of tokenizers are
paired by seed and document. Other scales, such as those between the models, are not sampled: no interval covers them.

Reference: :mod:`tokbench.reference.scaling`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import fsum, inf

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.elementary import exponentials_of, logs_of
from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.scale.scale_lines import ScaleGroup
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.estimate import Estimate, ratio

ONE_DOCUMENT = "one document: how much other documents would differ is not known"


@dataclass(frozen=True, slots=True)
class Weighted:
    """Bits of a model with their weight in a sum of logarithms.

    Attributes:
        weight: weight of the logarithm of bits per byte.
        bits: float64 [seeds, documents].
    """

    weight: float
    bits: NDArray[np.float64]


def sum_of_logs(terms: Sequence[Weighted], sizes: NDArray[np.float64], paired: bool = True) -> Estimate | float:
    """Return a weighted sum of logarithms of bits per byte, with its standard error if there is one.

    Args:
        terms: terms with the same seeds and documents.
        sizes: float64 [documents], bytes of the documents.
        paired: False if the terms have no seed in common; there is then no standard error (default: True).

    Returns:
        An estimate over seeds and documents, over documents only for one seed; for one document, only the value.
    """
    levels = _levels(terms, sizes)
    value = fsum(term.weight * log for term, log in zip(terms, logs_of(levels).tolist(), strict=True))
    estimate = ratio(log_parts(terms, sizes), sizes, trained=True) if paired else None
    return value if estimate is None or estimate.error == inf else replace(estimate, difference=value)


def log_parts(terms: Sequence[Weighted], sizes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the parts of a linearized sum of logarithms of bits per byte, float64 [seeds, documents].

    Divided by the bytes of the documents, their sum varies as the sum of logarithms (delta method).

    Args:
        terms: terms with the same seeds and documents.
        sizes: float64 [documents], bytes of the documents.
    """
    parts = np.zeros(terms[0].bits.shape)
    for term, level in zip(terms, _levels(terms, sizes), strict=True):
        parts += term.weight / level * term.bits
    return parts


def _levels(terms: Sequence[Weighted], sizes: NDArray[np.float64]) -> list[float]:
    """Return the bits per byte of each term, means over seeds."""
    whole = fsum(sizes.tolist())
    return [fsum(term.bits.ravel().tolist()) / (len(term.bits) * whole) for term in terms]


def value_of(estimate: Estimate | float) -> float:
    """Return the value of a sum, with or without a standard error."""
    return estimate.difference if isinstance(estimate, Estimate) else estimate


def ends_of(estimate: Estimate | float | None) -> tuple[float | None, float | None]:
    """Return the 95 % interval of a sum; both ends are None without a standard error."""
    return estimate.ends() if isinstance(estimate, Estimate) else (None, None)


def slope_weights(logs: Sequence[float]) -> list[float]:
    """Return the weights of the values in the slope of a least-squares line over ``logs``, of two distinct or more."""
    mean = fsum(logs) / len(logs)
    squares = fsum((log - mean) ** 2 for log in logs)
    return [(log - mean) / squares for log in logs]


def curvature_weights(logs: Sequence[float]) -> list[float]:
    """Return the weights of the values in the quadratic coefficient of a least-squares parabola.

    Args:
        logs: three distinct numbers or more.
    """
    mean = fsum(logs) / len(logs)
    squares = [(log - mean) ** 2 for log in logs]
    slope = fsum(weight * square for weight, square in zip(slope_weights(logs), squares, strict=True))
    level = fsum(squares) / len(logs)
    rest = [square - level - slope * (log - mean) for log, square in zip(logs, squares, strict=True)]
    whole = fsum(residual * residual for residual in rest)
    return [residual / whole for residual in rest]


def line_weights(logs: Sequence[float], at: float) -> list[float]:
    """Return the weights of the values in the least-squares line at the point ``at``."""
    mean = fsum(logs) / len(logs)
    return [1 / len(logs) + (at - mean) * weight for weight in slope_weights(logs)]


@dataclass(frozen=True, slots=True)
class Points:
    """The models of one tokenizer on a line, over one quantity.

    Attributes:
        models: models with a value of the quantity, from the smallest scale to the largest.
        values: the quantity.
        logs: its logarithms.
        seeds: seeds that all these models have.
    """

    models: tuple[str, ...]
    values: tuple[float, ...]
    logs: tuple[float, ...]
    seeds: tuple[int | None, ...]

    @property
    def distinct(self) -> int:
        """Number of distinct values."""
        return len(set(self.logs))


def points_of(group: ScaleGroup, axis: str, variants: Sequence[str]) -> list[Points]:
    """Return the points of some tokenizers over a quantity, for the models and seeds that all of them have.

    Returns:
        A list in the order of ``variants``; empty if they have fewer than two models with different values in common.
    """
    on = [group.on(axis, variant) for variant in variants]
    models = [model for model in group.line.models if all(model in known for known in on)]
    if len(models) < 2 or any(max(x := [known[m] for m in models]) <= min(x) for known in on):
        return []
    seeds = tuple(group.seeds(variants, models))
    values = [tuple(known[model] for model in models) for known in on]
    return [Points(tuple(models), of_variant, tuple(logs_of(of_variant).tolist()), seeds) for of_variant in values]


def terms_of(group: ScaleGroup, variant: str, points: Points, weights: Sequence[float]) -> list[Weighted]:
    """Return the weighted bits of a tokenizer's models."""
    return [
        Weighted(weight, group.stack(variant, model, points.seeds))
        for model, weight in zip(points.models, weights, strict=True)
    ]


def interval_limit(group: ScaleGroup, seeds: Sequence[int | None]) -> str | None:
    """Return a limit of the intervals over these seeds; None if they cover seeds and documents."""
    if not seeds:
        return NO_SEED
    return ONE_TRAINING if len(seeds) == 1 else ONE_DOCUMENT if len(group.bytes) == 1 else None


def exponential(value: float) -> float:
    """Return e to the power of a value, the same on every processor."""
    return float(exponentials_of([value])[0])


def exponential_of_end(end: float | None) -> float | None:
    """Return e to the power of an end of an interval; None if there is no interval."""
    return None if end is None else exponential(end)
