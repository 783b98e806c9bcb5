"""The digamma function, without scipy, whose import would cost every command 30 MiB and a quarter of a second."""

import numpy as np
from numpy.typing import NDArray

LARGE = 10.0
"""From here on the series is exact to double precision."""

SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
"""Coefficients of the even negative powers."""


def digamma(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Logarithmic derivative of the gamma function at positive numbers.

    Smaller ones by the recurrence, then the asymptotic series (Abramowitz and Stegun, "Handbook of Mathematical
    Functions", 6.3.5 and 6.3.18).
    """
    values = np.array(values, np.float64)
    result = np.zeros_like(values)
    while (small := values < LARGE).any():
        result[small] -= 1 / values[small]
        values[small] += 1
    inverse = 1 / values**2
    tail = np.zeros_like(values)
    for coefficient in reversed(SERIES):
        tail = (tail + coefficient) * inverse
    return result + np.log(values) - 0.5 / values - tail
