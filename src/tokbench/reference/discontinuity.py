"""Regression discontinuity by one regression: the reference of :mod:`tokbench.statistics.effects.discontinuity`.

Ordinary least squares on an intercept, a step, a slope and a change of the slope, by the normal equations with exact
fractions, and HC3 standard errors from the hat matrix.
"""

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt


def jump(points: Sequence[tuple[int, float]], cutoff: int, bandwidth: int) -> tuple[float, float, int]:
    """Return the effect at a cut-off, its HC3 standard error, and degrees of freedom.

    >>> effect, error, degrees = jump([(-3, 5.0), (-2, 6.0), (-1, 7.0), (0, 3.0), (1, 4.0), (2, 5.0)], 0, 3)
    >>> effect, error, degrees
    (5.0, 0.0, 2)
    """
    near = [(rank, y) for rank, y in points if cutoff - bandwidth <= rank < cutoff + bandwidth]
    rows, outcomes = [], []
    for rank, y in near:
        x, inside = Fraction(2 * (rank - cutoff) + 1, 2), Fraction(int(rank < cutoff))
        rows.append([Fraction(1), inside, x, inside * x])
        outcomes.append(Fraction(y))
    inverse = invert([[sum((row[i] * row[j] for row in rows), Fraction()) for j in range(4)] for i in range(4)])
    moments = [sum((row[i] * y for row, y in zip(rows, outcomes, strict=True)), Fraction()) for i in range(4)]
    coefficients = [_dot(line, moments) for line in inverse]
    variance = Fraction()
    for row, outcome in zip(rows, outcomes, strict=True):
        influence = [_dot(line, row) for line in inverse]
        leverage = _dot(row, influence)
        residual = outcome - _dot(row, coefficients)
        if leverage < 1:
            variance += (influence[1] * residual / (1 - leverage)) ** 2
    return float(coefficients[1]), sqrt(variance), len(near) - 4


def _dot(a: Sequence[Fraction], b: Sequence[Fraction]) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction())


def invert(matrix: Sequence[Sequence[Fraction]]) -> list[list[Fraction]]:
    """Return the inverse of a square matrix by Gauss-Jordan elimination."""
    size = len(matrix)
    rows = [[*row, *(Fraction(int(i == j)) for j in range(size))] for i, row in enumerate(matrix)]
    for pivot in range(size):
        swap = next(row for row in range(pivot, size) if rows[row][pivot])
        rows[pivot], rows[swap] = rows[swap], rows[pivot]
        rows[pivot] = [value / rows[pivot][pivot] for value in rows[pivot]]
        for other in range(size):
            if other != pivot:
                factor = rows[other][pivot]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[pivot], strict=True)]
    return [row[size:] for row in rows]
