"""Contrast of two tokenizers on one text or task, with an interval of their difference."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.statistics.bootstrap import paired_bootstrap
from tokbench.statistics.estimate import interval, ratio_over_both, ratio_over_documents
from tokbench.statistics.student import two_sided

Question = tuple[int, int]
"""Vocabulary size and number of a question."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Values of two tokenizers and their difference.

    Attributes:
        a, b: the two values.
        difference: difference of the two, as defined by the function that returns it.
        low, high: 95 % interval of the difference: by Student's t over documents for tokens and bits, by the paired
            bootstrap over questions for answers. None for fewer than two documents or questions.
        n: number of documents, questions or words that the interval is over.
        p_value: two-sided p-value of a difference of zero; None if it was not tested.
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
        """1 if the interval is above zero, -1 if it is below, 0 if it contains zero or is unknown."""
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return 0
        return 1 if self.low > 0 else -1


def answered(a: Mapping[Question, float], b: Mapping[Question, float]) -> Contrast | None:
    """Compare shares of right answers to the questions that both were asked; the difference is a minus b.

    A question is drawn with its answers at every size, because all sizes are asked the same questions.

    Args:
        a, b: by question 1 for a right answer and 0 for a wrong one, or the share of seeds with a right answer.

    Returns:
        The contrast; None if there is no common question.
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
    """Compare token counts of the same documents; the difference is sum of a / sum of b - 1.

    Args:
        a, b: tokens of each document, in the same order.

    Returns:
        The contrast; None if b has no token.
    """
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if not right.sum():
        return None
    low, high = _interval_of_ratio(left - right, right)
    more = float(left.sum() / right.sum() - 1)
    p_value = paired_p((left - right).tolist(), right.tolist())
    return Contrast(float(left.sum()), float(right.sum()), more, low, high, len(left), p_value)


def bits_per_byte(a: Sequence[float], b: Sequence[float], sizes: Sequence[int]) -> Contrast | None:
    """Compare bits per byte of the same documents under two models; the difference is a minus b.

    Args:
        a, b: bits of each document, in the same order.
        sizes: bytes of each document.

    Returns:
        The contrast; None if the documents have no bytes.
    """
    left, right, whole = (np.asarray(values, np.float64) for values in (a, b, sizes))
    if not whole.sum():
        return None
    of_a, of_b = exact_sum(left) / exact_sum(whole), exact_sum(right) / exact_sum(whole)
    low, high = _interval_of_ratio(left - right, whole)
    return Contrast(of_a, of_b, of_a - of_b, low, high, len(whole), paired_p((left - right).tolist(), whole.tolist()))


def bits_over_seeds(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], sizes: Sequence[int]
) -> Contrast | None:
    """Compare bits per byte of the same documents by models of several seeds, over seeds and documents.

    The difference is a minus b.

    Args:
        a, b: bits of each document by seed, both in the same order.
        sizes: bytes of each document.

    Returns:
        The contrast; None if the documents have no bytes. With one seed the interval is over documents only.
    """
    if len(a) < 2 or len(sizes) < 2:
        return bits_per_byte(a[0], b[0], sizes)
    left, right, whole = (np.asarray(values, np.float64) for values in (a, b, sizes))
    if not whole.sum():
        return None
    found = ratio_over_both(left - right, whole).estimate
    of_a, of_b = (exact_sum(side.ravel()) / (len(side) * exact_sum(whole)) for side in (left, right))
    least = 2.0 ** (1 - len(whole)) if found.difference else 1.0
    p_value = max(least, two_sided(found.difference / found.error, found.degrees)) if found.error else least
    return Contrast(of_a, of_b, of_a - of_b, *interval(found), len(whole), p_value)


def paired_p(differences: Sequence[float], sizes: Sequence[float] | None = None) -> float | None:
    """Return the two-sided p-value of Student's t test that the ratio of differences to sizes is zero.

    The interval of the same ratio is :func:`tokbench.statistics.estimate.ratio_over_documents`. The p-value is never
    below 2^(1 - n), that of the sign test: with so few pairs, only normality could support a lower one.

    Args:
        differences: paired difference of each document or question.
        sizes: size of each (default: None, all equal).

    Returns:
        The p-value; None for fewer than two differences.
    """
    count = len(differences)
    if count < 2:
        return None
    wholes = np.ones(count) if sizes is None else np.asarray(sizes, np.float64)
    found = ratio_over_documents(np.asarray(differences, np.float64), wholes)
    if not found.difference:
        return 1.0
    least = 2.0 ** (1 - count)
    return max(least, two_sided(found.difference / found.error, found.degrees)) if found.error else least


def _interval_of_ratio(part: NDArray[np.float64], whole: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Return the 95 % interval of sum of part / sum of whole by Student's t over documents.

    None for fewer than two documents. See :func:`tokbench.statistics.estimate.ratio_over_documents`.
    """
    if len(whole) < 2:
        return None, None
    return interval(ratio_over_documents(part, whole))
