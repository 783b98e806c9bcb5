"""Plain-Python reference of sums without rounding."""

from collections.abc import Iterable
from fractions import Fraction


def whole_sum(values: Iterable[float]) -> int:
    """The sum in units of the least double."""
    return int(sum(map(Fraction, values)) * 2**1074)
