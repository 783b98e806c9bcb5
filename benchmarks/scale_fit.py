"""How time, memory and disk grow, and what that makes of larger quantities.

What a process takes at its start is taken off first; what is beyond it is fitted as a power of a quantity, a straight
line of logarithms by least squares.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scipy.special import stdtrit

LEAST = 0.1
"""What grows by less than this share of its start does not grow."""
CLEAR = 0.25
"""Points that lie less than this share of the start above it are left out: what starts take differs by some of it."""


@dataclass(frozen=True)
class Fit:
    """A start, and a power of a quantity beyond it.

    Attributes:
        start: what is taken of next to nothing.
        quantity, beyond: the largest quantity measured, and what was taken of it beyond the start.
        exponent: of the power; zero where nothing grows.
        low, high: its 95 % interval; NaN where two points or fewer were fitted.
        spread: sum of squares of the logarithms of the quantities about their mean.
        left, free: sum of squares that the line leaves, and its degrees of freedom.
    """

    start: float
    quantity: float
    beyond: float
    exponent: float
    low: float
    high: float
    spread: float = 0.0
    left: float = 0.0
    free: int = 0

    def at(self, quantity: float, exponent: float | None = None) -> float:
        """What a quantity takes, by the exponent or by another one; the line goes through the largest measured."""
        power = self.exponent if exponent is None else exponent
        return self.start + self.beyond * (quantity / self.quantity) ** power

    def within(self, left: float, free: int) -> "Fit":
        """The same with the interval of a line that leaves so much; the same where there is none."""
        if not free or not self.spread:
            return self
        wide = student(free) * math.sqrt(left / free / self.spread)
        return replace(self, low=self.exponent - wide, high=self.exponent + wide)

    def between(self, low: float, high: float) -> tuple[float, float]:
        """The least and the most that quantities between two take, by the ends of the exponent's interval."""
        ends = [end for end in (self.low, self.high) if not math.isnan(end)] or [self.exponent]
        found = [self.at(quantity, end) for quantity in (low, high) for end in ends]
        return min(found), max(found)


def fit(quantities: Sequence[float], values: Sequence[float], start: float = 0.0, *, every: bool = False) -> Fit:
    """Fit values of ascending quantities.

    Points too near the start are left out, and so are those that took more than a larger quantity, of which some part
    of the work was not done. Where one alone is left, growth is taken to be proportional.

    Args:
        quantities: all above zero.
        values: what was taken of each.
        start: what is taken of next to nothing, and no part of the power.
        every: leave no point out.

    Raises:
        ValueError: there is nothing to fit.
    """
    if not quantities:
        raise ValueError("no points to fit")
    beyond = [max(0.0, value - start) for value in values]
    largest, most = quantities[-1], max(beyond)
    if most <= LEAST * start or (len(beyond) > 1 and most - min(beyond) <= LEAST * most):
        return Fit(start, largest, beyond[-1], 0.0, 0.0, 0.0)
    least = [0.0 if every else min(beyond[place:]) for place in range(len(beyond))]
    kept = zip(quantities, beyond, least, strict=True)
    points = [(math.log(x), math.log(y)) for x, y, below in kept if y > CLEAR * start and (every or y <= below)]
    if len({x for x, _ in points}) < 2:
        return Fit(start, largest, beyond[-1], 1.0, math.nan, math.nan)
    exponent, spread, left = _line(points)
    free = len(points) - 2
    found = Fit(start, largest, beyond[-1], exponent, math.nan, math.nan, spread, left if free else 0.0, free)
    return found.within(found.left, free)


def pooled(fits: Sequence[Fit]) -> list[Fit]:
    """Fits with the intervals that follow from what all lines together leave, as if all strayed alike."""
    left, free = math.fsum(one.left for one in fits), sum(one.free for one in fits)
    return [one.within(left, free) for one in fits]


def student(free: int) -> float:
    """The 97.5 % quantile of Student's t."""
    return float(stdtrit(free, 0.975))


def _line(points: Sequence[tuple[float, float]]) -> tuple[float, float, float]:
    """Slope of the straight line of least squares; sums of squares of x about its mean, and of what is left."""
    number = len(points)
    x_mean = math.fsum(x for x, _ in points) / number
    y_mean = math.fsum(y for _, y in points) / number
    spread = math.fsum((x - x_mean) ** 2 for x, _ in points)
    slope = math.fsum((x - x_mean) * (y - y_mean) for x, y in points) / spread
    return slope, spread, math.fsum((y - y_mean - slope * (x - x_mean)) ** 2 for x, y in points)
