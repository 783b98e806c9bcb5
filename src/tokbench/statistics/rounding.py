"""What printed numbers allow: the values that round to them, and how far a statistic of them can move."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

from tokbench.statistics.wilcoxon import Null, signed_rank

SLACK = 1e-9
"""Beyond the ends of an interval, so that a value on the end itself lies inside."""
_NULLS: tuple[Null, ...] = ("tied", "untied")


@dataclass(frozen=True, slots=True)
class Span:
    """A printed value and the least and greatest value that it can stand for."""

    low: float
    value: float
    high: float

    def scaled(self, factor: float) -> "Span":
        """In another unit."""
        return Span(self.low * factor, self.value * factor, self.high * factor)

    def meets(self, other: "Span") -> bool:
        """Whether the two can stand for the same value."""
        slack = SLACK * max(abs(self.value), abs(other.value), 1e-300)
        return self.low <= other.high + slack and other.low <= self.high + slack


def printed_span(text: str) -> Span:
    """What a decimal number stands for: half a unit of its last printed digit either way."""
    number = Decimal(text)
    exponent = number.as_tuple().exponent
    half = Decimal(5).scaleb(int(exponent) - 1)
    return Span(float(number - half), float(number), float(number + half))


def share_span(text: str, questions: int | None) -> Span:
    """What a printed percentage of right answers stands for.

    A share of n questions is k / n for a whole k, and only those that print as the text are allowed; where the task has
    few questions that is a single one. Harnesses print shares with four decimals, which may have been rounded again, so
    k / n is rounded to four decimals first.

    Args:
        text: a percentage with one decimal or more.
        questions: how many the task has; None where it is not known.

    Returns:
        Least, nearest and greatest share, in percent. Half a unit either way where the number of questions is unknown
        or no whole number of right answers prints so.
    """
    span = printed_span(text)
    if questions is None:
        return span
    counts = range(floor(span.low * questions / 100) - 1, ceil(span.high * questions / 100) + 2)
    shares = [round(round(count / questions, 4) * 100, 2) for count in counts]
    allowed = [share for share in shares if span.low - SLACK <= share <= span.high + SLACK]
    if not allowed:
        return span
    return Span(min(allowed), min(allowed, key=lambda share: (abs(share - span.value), share)), max(allowed))


def signed_rank_span(first: Sequence[Span], second: Sequence[Span]) -> Span:
    """P-value of the one-sided signed-rank test over pairs of values that are known so far only.

    The statistic never falls when a difference grows (it counts the pairs of differences, each with itself too, whose
    sum is positive), so the two corners, all differences least and all greatest, bound it. The p-value is taken there
    and at the values themselves, by the null that knows of ties and by the one that does not.
    """
    middle = [a.value - b.value for a, b in zip(first, second, strict=True)]
    greatest = [a.high - b.low for a, b in zip(first, second, strict=True)]
    least = [a.low - b.high for a, b in zip(first, second, strict=True)]
    found = [signed_rank(differences, null).p_value for differences in (middle, greatest, least) for null in _NULLS]
    return Span(min(found), found[0], max(found))


def statistic_span(statistic: Callable[[NDArray[np.float64]], float], values: Sequence[Span]) -> Span:
    """How far a smooth statistic of many values can move within their spans.

    From the values themselves, it climbs: each value goes to the end that the slope points to, until none moves. The
    ends of the span are therefore attained, and any number between them; the true extremes may lie further out.

    Args:
        statistic: of float64 [n], such as a correlation.
        values: n spans.
    """
    middle = np.array([span.value for span in values])
    low, high = np.array([span.low for span in values]), np.array([span.high for span in values])
    ends = [_climb(statistic, middle, low, high, sign) for sign in (-1, 1)]
    value = statistic(middle)
    return Span(min(*ends, value), value, max(*ends, value))


def _climb(
    statistic: Callable[[NDArray[np.float64]], float],
    start: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    sign: int,
    rounds: int = 20,
) -> float:
    """The statistic at the corner of the box that the slope leads to, downwards for a sign of -1."""
    here = start
    for _ in range(rounds):
        slope = np.empty_like(here)
        for place, room in enumerate((high - low).tolist()):
            moved = here.copy()
            step = max(room, SLACK) / 100
            moved[place] += step
            slope[place] = (statistic(moved) - statistic(here)) * sign
        corner = np.where(slope > 0, high, low)
        if np.array_equal(corner, here) or sign * statistic(corner) <= sign * statistic(here) + SLACK * SLACK:
            break
        here = corner
    return statistic(here)
