"""Regression discontinuity: the jump of an outcome at a cut-off of ranks, by local linear regression.

A line is fitted by least squares on each side of the cut-off, within a bandwidth, with equal weights (Imbens and
Lemieux 2008). The effect is the left line minus the right line at the cut-off. Its standard error is HC3 (MacKinnon and
White 1985), which is robust to heteroskedasticity, also in small samples (Long and Ervin 2000). This equals one
regression with a slope on each side. Degrees of freedom: points minus 4.

Reference: :mod:`tokbench.reference.discontinuity`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, sqrt

from tokbench.statistics.significance.estimate import Estimate

LEAST = 4
"""Fewest points on each side. A line through two points has no residual."""
Points = Sequence[tuple[int, float]]
"""Ranks with outcomes."""


@dataclass(frozen=True, slots=True)
class Line:
    """A fitted line on one side of a cut-off.

    Attributes:
        points: number of points.
        level: value at the cut-off.
        slope: change per rank.
        variance: HC3 variance of ``level``.
    """

    points: int
    level: float
    slope: float
    variance: float


@dataclass(frozen=True, slots=True)
class Jump:
    """Lines on both sides of a cut-off.

    Attributes:
        inside: the line over lower ranks, which are in the vocabulary.
        outside: the line over the other ranks.
    """

    inside: Line
    outside: Line

    @property
    def estimate(self) -> Estimate:
        """Effect: level inside minus level outside, with its standard error and degrees of freedom."""
        error = sqrt(self.inside.variance + self.outside.variance)
        points = self.inside.points + self.outside.points
        return Estimate(self.inside.level - self.outside.level, error, float(points - 4))


def jump(points: Points, cutoff: int, bandwidth: int) -> Jump | None:
    """Return the lines on both sides of a cut-off; None if a side has fewer than :data:`LEAST` points.

    Args:
        points: ranks and outcomes, in any order; some ranks may be missing.
        cutoff: first rank on the right side. The lines are compared half a rank before it.
        bandwidth: number of ranks on each side.
    """
    left = [(rank - cutoff + 0.5, y) for rank, y in points if cutoff - bandwidth <= rank < cutoff]
    right = [(rank - cutoff + 0.5, y) for rank, y in points if cutoff <= rank < cutoff + bandwidth]
    if min(len(left), len(right)) < LEAST:
        return None
    return Jump(_line(left), _line(right))


def _line(points: Sequence[tuple[float, float]]) -> Line:
    """Fit a line; the cut-off is at x = 0."""
    count = len(points)
    middle = fsum(x for x, _ in points) / count
    mean = fsum(y for _, y in points) / count
    spread = fsum((x - middle) ** 2 for x, _ in points)
    slope = fsum((x - middle) * (y - mean) for x, y in points) / spread
    level = mean - slope * middle
    variance = fsum(
        ((1 / count - middle * (x - middle) / spread) * (y - level - slope * x) / (1 - leverage)) ** 2
        for x, y in points
        if (leverage := 1 / count + (x - middle) ** 2 / spread) < 1
    )
    return Line(count, level, slope, variance)


def placebo_cutoffs(reach: int, bandwidth: int) -> list[int]:
    """Return cut-offs whose windows do not cross 0, every half bandwidth on both sides, in ascending order.

    Neighbouring windows overlap, so their effects are correlated.

    Args:
        reach: number of ranks on each side of 0.
        bandwidth: number of ranks on each side of a cut-off.
    """
    step = max(bandwidth // 2, 1)
    right = list(range(bandwidth, reach - bandwidth + 1, step))
    return [-cutoff for cutoff in reversed(right)] + right
