"""Two tokenizers side by side on one thing, with an interval of their difference from what was drawn to measure it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from tokbench.exact import mean, total, weighted_sums
from tokbench.statistics.bootstrap import CONFIDENCE, RESAMPLES, paired_bootstrap
from tokbench.statistics.tails import student_tail

Question = tuple[int, int]
"""Vocabulary size and number of a question."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """What two tokenizers have, and how they differ.

    Attributes:
        a, b: the two values.
        difference: of the two, as the function that makes it says.
        low, high: 95 % interval of the difference by the paired bootstrap; None where fewer than two things were drawn.
        n: things drawn.
        p_value: two-sided, that the difference is zero; None where there is no test of it.
    """

    a: float
    b: float
    difference: float
    low: float | None
    high: float | None
    n: int
    p_value: float | None = None

    @property
    def side(self) -> int:
        """1 where the whole interval is above zero, -1 where it is below, 0 where it holds zero or is not known."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return 0
        return 1 if self.low > 0 else -1


def answered(a: Mapping[Question, bool], b: Mapping[Question, bool]) -> Contrast | None:
    """Shares of right answers to the questions that both were asked, and a minus b.

    A question is drawn with its answers at every size: sizes ask the same questions.

    Returns:
        None where no question is common to both.
    """
    common = sorted(a.keys() & b.keys())
    if not common:
        return None
    differences = [float(a[question]) - float(b[question]) for question in common]
    drawn = paired_bootstrap(differences, [number for _, number in common])
    of_question: dict[int, list[float]] = {}
    for (_, number), difference in zip(common, differences, strict=True):
        of_question.setdefault(number, []).append(difference)
    p_value = paired_p([fsum(of_sizes) for of_sizes in of_question.values()])
    share_a, share_b = (sum(side[question] for question in common) / len(common) for side in (a, b))
    low, high = (None, None) if drawn is None else (drawn.low, drawn.high)
    return Contrast(share_a, share_b, share_a - share_b, low, high, len(of_question), p_value)


def token_counts(a: Sequence[int], b: Sequence[int]) -> Contrast | None:
    """Tokens of the same documents, and how many more a needs, as a share of b's: sum of a / sum of b - 1.

    Args:
        a, b: tokens of each document, in one order.

    Returns:
        None where b has no token.
    """
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if not right.sum():
        return None
    low, high = _interval_of_ratio(left - right, right)
    more = float(left.sum() / right.sum() - 1)
    p_value = paired_p((left - right).tolist())
    return Contrast(float(left.sum()), float(right.sum()), more, low, high, len(left), p_value)


def bits_per_byte(a: Sequence[float], b: Sequence[float], sizes: Sequence[int]) -> Contrast | None:
    """Bits per byte of the same documents under two models, and a minus b.

    Args:
        a, b: bits of each document, in one order.
        sizes: bytes of each.

    Returns:
        None where the documents have no bytes.
    """
    left, right, whole = (np.asarray(values, np.float64) for values in (a, b, sizes))
    if not whole.sum():
        return None
    of_a, of_b = total(left) / total(whole), total(right) / total(whole)
    low, high = _interval_of_ratio(left - right, whole)
    return Contrast(of_a, of_b, of_a - of_b, low, high, len(whole), paired_p((left - right).tolist()))


def paired_p(differences: Sequence[float]) -> float | None:
    """Two-sided p of Student's paired t test that differences are zero in the mean.

    A ratio of sums is zero where the mean of its numerators is. The p is never below that of the signs, 2^(1 - n):
    less than that only the assumption of a normal distribution could say of so few.

    Returns:
        None for fewer than two differences.
    """
    count = len(differences)
    if count < 2:
        return None
    middle = mean(differences)
    spread = fsum((one - middle) ** 2 for one in differences)
    if not middle:
        return 1.0
    least = 2.0 ** (1 - count)
    return max(least, student_tail(middle**2 * count * (count - 1) / spread, count - 1)) if spread else least


def _interval_of_ratio(
    part: NDArray[np.float64], whole: NDArray[np.float64], *, resamples: int = RESAMPLES, seed: int = 0
) -> tuple[float | None, float | None]:
    """95 % interval of sum of part / sum of whole where documents, part and whole, are drawn with replacement."""
    count = len(whole)
    if count < 2:
        return None, None
    drawn = np.random.default_rng(seed).multinomial(count, np.full(count, 1 / count), resamples)
    parts, wholes = weighted_sums(drawn, part), weighted_sums(drawn, whole)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(parts[wholes > 0] / wholes[wholes > 0], [tail, 1 - tail])
    return float(low), float(high)
