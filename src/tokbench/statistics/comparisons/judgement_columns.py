"""Columns of verdicts in tables of comparisons."""

import polars as pl

from tokbench.tabulation.columns import REASON
from tokbench.tabulation.table import PROBABILITY, Column

BITS = "bits per byte"
N = Column("n", pl.Int64, "number of units that the interval is over", "", "n")
UNIT = Column("unit", pl.String, "kind of these units; with several seeds, the interval is also over seeds", "", "unit")


def judgement_columns(over: str, family: str, unit: str = BITS) -> tuple[Column, ...]:
    """Return the columns of a judgement.

    Args:
        over: sources of variation in the interval.
        family: tests that the p-values are corrected for.
        unit: unit of the difference (default: bits per byte).
    """
    return (
        Column("difference", pl.Float64, "value of a minus that of b", unit, f"a − b ({unit})", 4),
        Column("low", pl.Float64, f"lower end of its 95 % interval, {over}", unit, "low", 4),
        Column("high", pl.Float64, "upper end of this interval", unit, "high", 4),
        Column("p_value", pl.Float64, "two-sided p-value, by sign flips of the units or Student's t", PROBABILITY, "p"),
        Column("holm", pl.Float64, f"p-value after Holm's correction over {family}", PROBABILITY, "p, Holm"),
        Column("verdict", pl.String, "verdict on a by Holm's p at level 0.05: better (fewer bits), worse, no "
               "significant difference, or not tested (see reason)", "", "a is"),
        Column("excluded", pl.Float64, "if not significant: larger differences, of either sign, are excluded by "
               "simultaneous 95 % intervals for all pairs of the family", unit, "excluded above", 4,
               "the difference is significant"),
        Column("detectable", pl.Float64, "true difference that Student's t test with this error detects with "
               "probability 0.8, without correction", unit, "detectable", 4),
        REASON,
        N,
        UNIT,
    )  # fmt: skip
