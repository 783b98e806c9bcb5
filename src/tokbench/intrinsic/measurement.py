"""One measured number and what it means."""

from dataclasses import dataclass

ADDED, DROPPED = "(added)", "(dropped)"
"""How definitions mark the tokens that a vocabulary has and its baseline lacks, and those that it lacks."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """One row of the table of intrinsic metrics.

    Attributes:
        metric: name, the same for every definition of one quantity.
        definition: which word, which denominator; the same text for every tokenizer, so that rows can be compared.
        value: the number, or None where it cannot be had.
        n: how many things the number is over (tokens, types or pre-tokens; see the definition).
        reason: why there is no value; None where there is one.
    """

    metric: str
    definition: str
    value: float | None
    n: int
    reason: str | None = None


def ratio(metric: str, definition: str, numerator: float, denominator: int, reason: str) -> Measurement:
    """``numerator / denominator`` over ``denominator`` things; no value, for the given reason, when there are none."""
    if denominator == 0:
        return Measurement(metric, definition, None, 0, reason)
    return Measurement(metric, definition, numerator / denominator, denominator)
