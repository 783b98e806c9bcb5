"""Verdicts on a family of differences: Holm's correction, intervals, and excluded differences.

Every face calls :func:`judge`, so the same numbers have the same verdict in each. Differences that
:mod:`tokbench.statistics.significance.eligibility` excludes have an interval and a reason, and do not count in the
correction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING, Any

from tokbench.statistics.significance.eligibility import too_few_for, why_not_tested
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.student import detectable
from tokbench.statistics.significance.verdicts import ALPHA, BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE
from tokbench.statistics.significance.wilcoxon import holm

if TYPE_CHECKING:
    from tokbench.metric import Direction

OPPOSITE = {BETTER: WORSE, WORSE: BETTER}
"""Verdict on b by that on a, if they differ."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict on one difference of a family of tests; fields are in the order of
    :func:`tokbench.statistics.comparisons.judgement_columns.judgement_columns`.

    Attributes:
        difference: difference of the values, a minus b; of a relative one, a / b - 1.
        low, high: its 95 % interval; None if its error is not known, or if the units do not vary.
        p_value: two-sided p-value, by sign flips of the units or Student's t; None if not tested.
        holm: p-value after Holm's correction over the family; None if not tested.
        verdict: verdict on a, see :mod:`tokbench.statistics.significance.verdicts`.
        excluded: larger differences are excluded by simultaneous intervals; None if significant or not tested.
        detectable: true difference that Student's t test with this error detects with probability 0.8, without
            correction for other pairs; None if not tested. Sign flips of few units detect larger ones.
        reason: reason why the difference is not tested; None if it is.
        n: number of units that the interval is over; None if it is not over units.
        unit: name of these units, such as "documents"; None if the interval is not over units.
    """

    difference: float
    low: float | None
    high: float | None
    p_value: float | None
    holm: float | None
    verdict: str
    excluded: float | None
    detectable: float | None
    reason: str | None = None
    n: int | None = None
    unit: str | None = None

    def reverse(self, *, relative: bool = False) -> "Judgement":
        """Return the verdict on b.

        Args:
            relative: True if the difference is a ratio minus 1 (default: False).
        """
        opposite = OPPOSITE.get(self.verdict, self.verdict)
        difference, low, high = (_opposite(end, relative) for end in (self.difference, self.high, self.low))
        assert difference is not None
        return replace(self, difference=difference, low=low, high=high, verdict=opposite)


def reversed_row(row: Mapping[str, Any], *, relative: bool = False) -> dict[str, Any]:
    """Return the row of a comparison with its two tokenizers in the other order.

    Args:
        row: columns of :data:`tokbench.statistics.comparisons.paired_comparisons.PAIRED_COMPARISONS`.
        relative: True if the difference is a ratio minus 1 (default: False).
    """
    swapped = {"a": row["b"], "b": row["a"]}
    for name in ("value", "pretokenization", "size"):
        if f"{name}_a" not in row:  # Rows of the tables have one size.
            continue
        swapped |= {f"{name}_a": row[f"{name}_b"], f"{name}_b": row[f"{name}_a"]}
    ends = {"difference": row["difference"], "low": row["high"], "high": row["low"]}
    opposite = {name: _opposite(value, relative) for name, value in ends.items()}
    verdict = OPPOSITE.get(row["verdict"], row["verdict"])
    return {**row, **swapped, **opposite, "verdict": verdict}


def _opposite(value: float | None, relative: bool) -> float | None:
    if value is None:
        return None
    return 1 / (1 + value) - 1 if relative else 0.0 - value


def judge(family: Sequence[Estimate], end: "Direction" = "lowest") -> list[Judgement]:
    """Judge every difference of a family.

    Holm's procedure decides which of the tested differences are significant. Differences beyond simultaneous 95 %
    intervals (Bonferroni's) are excluded for the rest.

    Args:
        family: the differences, a minus b.
        end: better end of the measure (default: "lowest").
    """
    reasons = _reasons(family)
    p_values = [estimate.p_value for estimate, reason in zip(family, reasons, strict=True) if not reason]
    adjusted = iter(zip(p_values, holm(p_values).tolist(), strict=True))  # type: ignore[arg-type]
    judgements = []
    for estimate, reason in zip(family, reasons, strict=True):
        ends = estimate.ends()
        units = (estimate.units, None if estimate.units is None else estimate.unit)
        if reason:
            judgements.append(Judgement(estimate.difference, *ends, None, None, NOT_TESTED, None, None, reason, *units))
            continue
        p_value, corrected = next(adjusted)
        better = BETTER if (estimate.difference < 0) == (end == "lowest") else WORSE
        verdict = better if corrected <= ALPHA else NO_DIFFERENCE
        together = [abs(value) for value in estimate.ends(ALPHA / len(p_values)) if value is not None]
        excluded = max(together, default=None) if verdict == NO_DIFFERENCE else None
        detectable_difference = estimate.error * detectable(estimate.degrees) if 0 < estimate.error < inf else None
        judgements.append(
            Judgement(
                estimate.difference, *ends, p_value, corrected, verdict, excluded, detectable_difference, None, *units
            )
        )
    return judgements


def _reasons(family: Sequence[Estimate]) -> list[str]:
    """Return the reason why each difference is not tested, or an empty text.

    After the reasons of single differences come those of too few units for the number of tests: the least p-value of n
    units is 2^(1 - n), and Holm's procedure multiplies it by the number of tests.
    """
    reasons = [why_not_tested(estimate) for estimate in family]
    tests = reasons.count("")
    return [reason or too_few_for(estimate, tests) for estimate, reason in zip(family, reasons, strict=True)]
