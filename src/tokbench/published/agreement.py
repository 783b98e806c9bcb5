"""One printed number beside the same number recomputed."""

from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from tokbench.statistics.rounding import SLACK, Span, printed_span

SAME = "same"
WITHIN = "within rounding"
DIFFERS = "differs"
MISSING = "not recomputable"
VERDICTS = {
    SAME: "what was recomputed from the numbers as printed, rounded to the digits of the paper, is the paper's "
    "number, or keeps the bound that the paper states",
    WITHIN: "the paper's number can come from values that round to the numbers printed",
    DIFFERS: "it cannot",
    MISSING: "the paper does not print what it was computed from",
}


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number that a paper derives from others.

    Attributes:
        paper, where: the paper and its table, figure or section.
        statistic: what it is.
        model, size: of what models and vocabulary sizes; empty for all.
        a, b: what is compared; ``b`` empty for a number of one thing.
        relation: ``=``, ``<=`` or ``>``.
        published: the number as printed.
        ours: recomputed from the printed numbers; None where that is impossible.
        low, high: what it can be within their rounding.
        verdict: one of :data:`VERDICTS`.
        note: what else is to be said.
    """

    paper: str
    where: str
    statistic: str
    model: str
    size: str
    a: str
    b: str
    relation: str
    published: str
    ours: float | None
    low: float | None
    high: float | None
    verdict: str
    note: str = ""


def judged(row: dict[str, str], ours: Span | None, note: str = "") -> Statistic:
    """The printed number beside ours.

    Args:
        row: a row of :func:`tokbench.published.facts.statistics`.
        ours: the recomputed value and what rounding allows; None where the numbers it needs are not printed.
        note: a remark, or why there is none of ours.
    """
    value, low, high = (None, None, None) if ours is None else (ours.value, ours.low, ours.high)
    return Statistic(
        paper=row["paper"],
        where=row["where"],
        statistic=row["statistic"],
        model=row["model"],
        size=row["size"],
        a=row["a"],
        b=row["b"],
        relation=row["relation"],
        published=row["value"],
        ours=value,
        low=low,
        high=high,
        verdict=MISSING if ours is None else _verdict(row["relation"], row["value"], ours),
        note="; ".join(filter(None, (row["note"], note))),
    )


def _verdict(relation: str, printed: str, ours: Span) -> str:
    if relation == "=":
        if _rounds_to(ours.value, printed):
            return SAME
        return WITHIN if printed_span(printed).meets(ours) else DIFFERS
    bound = float(printed)
    holds = [value <= bound if relation == "<=" else value > bound for value in (ours.value, ours.low, ours.high)]
    return SAME if holds[0] else WITHIN if any(holds) else DIFFERS


def _rounds_to(value: float, printed: str) -> bool:
    """Whether the value prints so; one that lies half-way between two prints as either."""
    number = Decimal(printed)
    step = Decimal(1).scaleb(int(number.as_tuple().exponent))
    near = Decimal(repr(value))
    slack = abs(near) * Decimal(SLACK)
    return any(
        (near + shift).quantize(step, rounding) == number
        for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)
        for shift in (-slack, slack)
    )
