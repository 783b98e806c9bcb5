"""Power laws and Kendall's tau in plain Python: the reference of
:mod:`tokbench.statistics.scale.power_law` and :mod:`tokbench.statistics.scale.rank_order`.

Polynomials are fitted to logarithms by the normal equations, with exact fractions. Kendall's tau-b counts pairs
(Kendall 1945).
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from math import exp, log, sqrt

from tokbench.reference.discontinuity import invert


def polynomial(x: Sequence[float], y: Sequence[float], degree: int) -> list[float]:
    """Return the coefficients of a least-squares polynomial, from the constant to the highest power."""
    rows = [[Fraction(value) ** power for power in range(degree + 1)] for value in x]
    size = range(degree + 1)
    inverse = invert([[sum((row[i] * row[j] for row in rows), Fraction()) for j in size] for i in size])
    moments = [sum((row[i] * Fraction(value) for row, value in zip(rows, y, strict=True)), Fraction()) for i in size]
    return [float(sum((a * b for a, b in zip(line, moments, strict=True)), Fraction())) for line in inverse]


def power_law(points: Sequence[tuple[float, float]]) -> tuple[float, float, float | None]:
    """Fit bits = a x^-b.

    Args:
        points: quantity x and bits per byte, with two distinct quantities or more.

    Returns:
        b, a, and the coefficient of the squared logarithm in a parabola, None with fewer than three quantities.

    >>> exponent, coefficient, _ = power_law([(1.0, 8.0), (4.0, 4.0), (16.0, 2.0)])
    >>> round(exponent, 3), round(coefficient, 3)
    (0.5, 8.0)
    """
    x, y = [log(size) for size, _ in points], [log(bits) for _, bits in points]
    level, slope = polynomial(x, y, 1)
    return -slope, exp(level), polynomial(x, y, 2)[2] if len(set(x)) > 2 else None


def prediction(points: Sequence[tuple[float, float]]) -> float:
    """Return bits per byte at the last quantity, by the power law of the points before it.

    Args:
        points: quantity x and bits per byte, with two distinct quantities or more before the last.

    >>> round(prediction([(1.0, 8.0), (4.0, 4.0), (16.0, 3.0)]), 3)
    2.0
    """
    exponent, coefficient, _ = power_law(points[:-1])
    return float(coefficient * points[-1][0] ** -exponent)


def kendall(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Return Kendall's tau-b; None if one of the two does not vary.

    >>> round(kendall([1, 2, 3], [3, 1, 2]), 3)
    -0.333
    """
    pairs = list(combinations(range(len(x)), 2))
    signs = [(_sign(x[a] - x[b]), _sign(y[a] - y[b])) for a, b in pairs]
    of_x, of_y = sum(a != 0 for a, _ in signs), sum(b != 0 for _, b in signs)
    return sum(a * b for a, b in signs) / sqrt(of_x * of_y) if of_x and of_y else None


def _sign(value: float) -> int:
    return (value > 0) - (value < 0)
