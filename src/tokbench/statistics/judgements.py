"""Tests of a family of differences, with Holm's correction, intervals and excluded differences."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tokbench.statistics.estimate import Estimate
from tokbench.statistics.student import detectable, quantile, two_sided
from tokbench.statistics.verdicts import ALPHA, BETTER, NOT_TESTED, NOT_TOLD, WORSE, why_untested
from tokbench.statistics.wilcoxon import holm
from tokbench.tabulation.columns import REASON
from tokbench.tabulation.table import PROBABILITY, Column

BITS = "bits per byte"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Verdict on one difference of a family of tests; fields are in the order of :func:`judgement_columns`.

    Attributes:
        difference: difference of the values, a minus b.
        low, high: its 95 % interval.
        p_value: two-sided p-value of Student's t test; None if not tested.
        holm: p-value after Holm's correction over the family; None if not tested.
        verdict: verdict on a, see :mod:`tokbench.statistics.verdicts`.
        excluded: larger differences are excluded by simultaneous intervals; None if significant or not tested.
        detectable: true difference that the test detects with probability 0.8; None if not tested.
        reason: reason why the difference is not tested; None if it is. It then has an interval and no p-value.
    """

    difference: float
    low: float
    high: float
    p_value: float | None
    holm: float | None
    verdict: str
    excluded: float | None
    detectable: float | None
    reason: str | None = None


def judge(family: Sequence[Estimate]) -> list[Judgement]:
    """Judge every difference of a family.

    Differences with too few trainings are not tested, and do not count in the correction. Holm's procedure decides
    which of the others are significant. Differences beyond simultaneous 95 % intervals (Bonferroni's) are excluded for
    the rest.
    """
    p_values = [_p_value(one) for one in family if not why_untested(one.trainings)]
    tests = zip(p_values, holm(p_values).tolist(), strict=True)
    found = []
    for one in family:
        half = one.error * quantile(ALPHA, one.degrees)
        ends = (one.difference - half, one.difference + half)
        if reason := why_untested(one.trainings):
            found.append(Judgement(one.difference, *ends, None, None, NOT_TESTED, None, None, reason))
            continue
        p_value, adjusted = next(tests)
        together = one.error * quantile(ALPHA / len(p_values), one.degrees)
        told = adjusted <= ALPHA
        found.append(
            Judgement(
                one.difference,
                *ends,
                p_value,
                adjusted,
                NOT_TOLD if not told else BETTER if one.difference < 0 else WORSE,
                None if told else abs(one.difference) + together,
                one.error * detectable(one.degrees),
            )
        )
    return found


def _p_value(one: Estimate) -> float:
    if not one.error:
        return float(not one.difference)
    return two_sided(one.difference / one.error, one.degrees)


def judgement_columns(over: str, family: str) -> tuple[Column, ...]:
    """Return the columns of a judgement.

    Args:
        over: sources of variation in the interval.
        family: tests that the p-values are corrected for.
    """
    return (
        Column("difference", pl.Float64, "value of a minus that of b", BITS, "a − b (bits per byte)", 4),
        Column("low", pl.Float64, f"lower end of its 95 % interval, {over}", BITS, "low", 4),
        Column("high", pl.Float64, "upper end of this interval", BITS, "high", 4),
        Column("p_value", pl.Float64, "two-sided p-value of Student's t test", PROBABILITY, "p"),
        Column("holm", pl.Float64, f"p-value after Holm's correction over {family}", PROBABILITY, "p, Holm"),
        Column("verdict", pl.String, "verdict on a by Holm's p at level 0.05: better (fewer bits), worse, or not told "
               "apart (no significant difference); not tested with fewer than three trainings", "", "a is"),
        Column("excluded", pl.Float64, "if not significant: larger differences, of either sign, are excluded by "
               "simultaneous 95 % intervals for all pairs of the family", BITS, "excluded above", 4,
               "the difference is significant"),
        Column("detectable", pl.Float64, "true difference that the uncorrected test detects with probability 0.8", BITS,
               "detectable", 4),
        REASON,
    )  # fmt: skip
