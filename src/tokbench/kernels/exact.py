"""Sums and correlations that come out the same on every machine, whatever its instructions.

The width of a processor's vectors and its fused multiplication and addition settle in which order linear algebra adds
up, and how it rounds, and with that the last bit. Here a sum is rounded once, whatever the order of its terms, or its
order is told and each step rounds by itself. Functions of single numbers that hold to the same are in
:mod:`tokbench.kernels.elementary`.
"""

from collections.abc import Iterable
from fractions import Fraction
from math import fsum, isqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

BITS = 80
"""To so many bits a root is taken before it is rounded to a double."""
SPLITTER = 2.0**27 + 1
"""Veltkamp's, which halves a double."""


def exact_sum(values: NDArray[np.float64]) -> float:
    """The sum, rounded once."""
    return fsum(values.tolist())


def exact_mean(values: Iterable[float]) -> float:
    """The sum, rounded once, over how many there are; at least one."""
    kept = list(values)
    return fsum(kept) / len(kept)


def correlation(first: ArrayLike, second: ArrayLike) -> tuple[float, Fraction]:
    """Pearson's r of paired numbers that both vary, and its square, which has no rounding at all.

    The sums are taken over whole numbers: doubles are whole multiples of a power of two.
    """
    x, y = _whole(first), _whole(second)
    n, of_x, of_y = len(x), sum(x), sum(y)
    both = n * sum(a * b for a, b in zip(x, y, strict=True)) - of_x * of_y
    spreads = (n * sum(a * a for a in x) - of_x * of_x) * (n * sum(b * b for b in y) - of_y * of_y)
    shift = BITS + max(spreads.bit_length() - (both * both).bit_length(), 0)
    root = Fraction(isqrt((both * both << 2 * shift) // spreads), 1 << shift)
    return float(root if both >= 0 else -root), Fraction(both * both, spreads)


def _whole(values: ArrayLike) -> list[int]:
    """Whole numbers in the same proportion."""
    ratios = [value.as_integer_ratio() for value in np.asarray(values, np.float64).tolist()]
    unit = max((below for _, below in ratios), default=1)
    return [above * (unit // below) for above, below in ratios]


def compensated_dot(weights: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """``weights @ values``, with what each step rounds off carried along (Kahan, in the form of Knuth).

    Args:
        weights: int64 [n, values], each below 2^26, so that its products with half a double are exact.
        values: float64.

    Returns:
        float64 [n].
    """
    wide = values * SPLITTER
    high = wide - (wide - values)
    sums, carried = np.zeros(len(weights)), np.zeros(len(weights))
    for column, halves in zip(weights.T, zip(high.tolist(), (values - high).tolist(), strict=True), strict=True):
        for half in halves:
            term = column * half
            sums, before = sums + term, sums
            virtual = sums - before
            carried += (before - (sums - virtual)) + (term - virtual)
    return sums + carried
