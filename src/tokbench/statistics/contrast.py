"""Two tokenizers side by side on one thing, with an interval of their difference from what was drawn to measure it."""

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
    """What two tokenizers have, and how they differ.

    Attributes:
        a, b: the two values.
        difference: of the two, as the function that makes it says.
        low, high: 95 % interval of the difference: of tokens and bits by Student's t over documents, of answers by the
            paired bootstrap over questions; None where fewer than two things were drawn.
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


def answered(a: Mapping[Question, float], b: Mapping[Question, float]) -> Contrast | None:
    """Shares of right answers to the questions that both were asked, and a minus b.

    A question is drawn with its answers at every size: sizes ask the same questions.

    Args:
        a, b: by question 1 if the answer is right and 0 if not, or the share of seeds with a right answer.

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
    p_value = paired_p((left - right).tolist(), right.tolist())
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
    of_a, of_b = exact_sum(left) / exact_sum(whole), exact_sum(right) / exact_sum(whole)
    low, high = _interval_of_ratio(left - right, whole)
    return Contrast(of_a, of_b, of_a - of_b, low, high, len(whole), paired_p((left - right).tolist(), whole.tolist()))


def bits_over_seeds(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]], sizes: Sequence[int]
) -> Contrast | None:
    """Bits per byte of the same documents by models of several seeds, and a minus b; over seeds and documents.

    Args:
        a, b: by seed, in one order, bits of each document.
        sizes: bytes of each document.

    Returns:
        None where the documents have no bytes. With one seed the interval is over documents.
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
    """Two-sided p of Student's t test that paired differences, over what they are of, are zero.

    The interval of the same ratio belongs to it, see :func:`tokbench.statistics.estimate.ratio_over_documents`.

    It is never below that of the signs, 2^(1 - n): less than that only the assumption of a normal distribution could
    say of so few.

    Args:
        differences: of each document or question.
        sizes: of each; all the same where they are not given.

    Returns:
        None for fewer than two differences.
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
    """95 % interval of sum of part / sum of whole by Student's t over documents, as everywhere in a report; see
    :func:`tokbench.statistics.estimate.ratio_over_documents`."""
    if len(whole) < 2:
        return None, None
    return interval(ratio_over_documents(part, whole))
