"""What may be said of differences that were tested together: better, worse, or not told apart, and within what."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tokbench.statistics.corrections import holm
from tokbench.statistics.estimate import Estimate
from tokbench.statistics.power import ALPHA
from tokbench.statistics.student import detectable, quantile, two_sided
from tokbench.tidy.columns import REASON
from tokbench.tidy.table import PROBABILITY, Column

BETTER, WORSE, NOT_TOLD = "better", "worse", "not told apart"
BITS = "bits per byte"


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a family of tests says of one of its differences, in the order of :data:`COLUMNS` but for the reason."""

    difference: float
    low: float
    high: float
    p_value: float
    holm: float
    verdict: str
    excluded: float | None
    detectable: float


def judged(family: Sequence[Estimate]) -> list[Judgement]:
    """Judge every difference beside the others of its family.

    Holm's procedure says which differ. What is excluded of the others is what lies beyond intervals that hold all
    together with 95 % (Bonferroni's): what Holm does not tell apart has zero in these.
    """
    p_values = [_p_value(one) for one in family]
    found = []
    for one, p_value, adjusted in zip(family, p_values, holm(p_values).tolist(), strict=True):
        half = one.error * quantile(ALPHA, one.degrees)
        together = one.error * quantile(ALPHA / len(family), one.degrees)
        told = adjusted <= ALPHA
        found.append(
            Judgement(
                one.difference,
                one.difference - half,
                one.difference + half,
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
    """The columns of a judgement.

    Args:
        over: what the interval has in it.
        family: what the tests are corrected for.
    """
    return (
        Column("difference", pl.Float64, "of a minus that of b", BITS, "a − b (bits per byte)", 4),
        Column("low", pl.Float64, f"lower end of a 95 % interval of it, {over}", BITS, "low", 4),
        Column("high", pl.Float64, "upper end", BITS, "high", 4),
        Column("p_value", pl.Float64, "two-sided p by Student's t", PROBABILITY, "p"),
        Column("holm", pl.Float64, f"p adjusted by Holm's procedure among {family}", PROBABILITY, "p, Holm"),
        Column("verdict", pl.String, "of a: better (fewer bits), worse, or not told apart at level 0.05 by Holm's p",
               "", "a is"),
        Column("excluded", pl.Float64, "where not told apart: a difference above it, on either side, is excluded by "
               "intervals that hold for all pairs of the family together with 95 %", BITS, "excluded above", 4,
               "the two are told apart"),
        Column("detectable", pl.Float64, "true difference that the test, uncorrected, sees with probability 0.8", BITS,
               "detectable", 4),
        REASON,
    )  # fmt: skip
