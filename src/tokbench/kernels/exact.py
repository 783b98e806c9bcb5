"""Sums and correlations with the same bits on every machine.

Linear algebra libraries add in an order that depends on the vector width, and round differently with fused
multiply-add; both change the last bit. Here a sum is rounded only once, independent of order. For
functions of single numbers see :mod:`tokbench.kernels.elementary`.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import fsum, isqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

BITS = 80
"""Bits of a root before it is rounded to a double."""


def exact_sum(values: NDArray[np.float64]) -> float:
    """Return the sum, rounded once."""
    return fsum(values.tolist())


def exact_mean(values: Iterable[float]) -> float:
    """Return the sum, rounded once, divided by the number of values; there must be at least one."""
    terms = list(values)
    return fsum(terms) / len(terms)


def correlation(first: ArrayLike, second: ArrayLike) -> tuple[float, Fraction]:
    """Return Pearson's r of paired numbers, and its exact square. Both variables must vary.

    The sums are exact: doubles are integer multiples of a power of two.
    """
    x, y = _proportional_integers(first), _proportional_integers(second)
    n, of_x, of_y = len(x), sum(x), sum(y)
    both = n * sum(a * b for a, b in zip(x, y, strict=True)) - of_x * of_y
    spreads = (n * sum(a * a for a in x) - of_x * of_x) * (n * sum(b * b for b in y) - of_y * of_y)
    shift = BITS + max(spreads.bit_length() - (both * both).bit_length(), 0)
    root = Fraction(isqrt((both * both << 2 * shift) // spreads), 1 << shift)
    return float(root if both >= 0 else -root), Fraction(both * both, spreads)


def _proportional_integers(values: ArrayLike) -> list[int]:
    """Return integers in the same proportions."""
    ratios = [value.as_integer_ratio() for value in np.asarray(values, np.float64).tolist()]
    unit = max((below for _, below in ratios), default=1)
    return [above * (unit // below) for above, below in ratios]
