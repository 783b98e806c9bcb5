"""Values of every tokenizer of a family by one measure, the best of them, and the differences from the best.

The best is chosen by the numbers that it is tested on. All pairs of the family are therefore tested together and
corrected by Holm's procedure, so that the pairs with the best among them hold whichever it is. Of very many variants
those with the best and the baseline alone are tested, which holds no longer; the report says so.

Where models are trained, :mod:`tokbench.statistics.verdicts` decides how many trainings a rank and a test need.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokbench.metric import End
from tokbench.statistics.estimate import Estimate
from tokbench.statistics.judgement import judged
from tokbench.statistics.pairing import compared, unordered
from tokbench.statistics.power import ALPHA
from tokbench.statistics.verdicts import NOT_TESTED, NOT_TOLD, ONE_TRAINING, WORSE, may_rank, why_untested

Row = tuple[Any, ...]
BEST, ALIKE, UNTESTED, UNRANKED = "best", NOT_TOLD, NOT_TESTED, "not ranked"


class Value(NamedTuple):
    """What one tokenizer has.

    Attributes:
        value: the number; None where there is none.
        low, high: 95 % interval of it; None where nothing was drawn.
        n: things drawn.
        reason: why there is no value, or why it is not ranked.
        ranked: whether it is compared with the others.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str | None = None
    ranked: bool = True


@dataclass(frozen=True)
class Family:
    """Tokenizers of one size that are compared by one measure.

    Attributes:
        head: what the rows begin with, but for the variant.
        over: what the intervals have in them; empty where there are none.
        seeds: number of seeds that the models of two variants share; of a variant with itself, of its own. None where
            no model was trained.
        end: the better end.
        values: by variant.
        differ: the difference of two variants, the first minus the second, or None where it has no standard error.
        untested: why nothing is tested; empty where it is.
        relative: whether differences are shares of the second one's value.
    """

    head: Row
    over: str
    seeds: Callable[[str, str], int] | None
    end: End
    values: Mapping[str, Value]
    differ: Callable[[str, str], Estimate | None] = lambda a, b: None
    untested: str = ""
    relative: bool = False

    def trainings(self, variant: str) -> int | None:
        """Return the number of trainings of a variant; None where no model was trained."""
        return None if self.seeds is None else self.seeds(variant, variant)

    def compared(self, variant: str) -> bool:
        """Return whether a variant is ranked: it has a value, is comparable, and was trained often enough."""
        one = self.values[variant]
        return one.ranked and one.value is not None and may_rank(self.trainings(variant))

    def behind(self, variant: str, best: str) -> float | None:
        """The difference of two values."""
        one, other = self.values[variant].value, self.values[best].value
        if one is None or other is None:
            return None
        return one - other if not self.relative else one / other - 1 if other else None


def best_of(family: Family) -> str | None:
    """The variant at the better end, of equals the first by name; None where none is ranked."""
    sign = 1 if family.end == "lowest" else -1
    known = [
        (sign * one.value, variant)
        for variant, one in family.values.items()
        if one.value is not None and family.compared(variant)
    ]
    return min(known)[1] if known else None


def rows_of(family: Family, baselines: Mapping[str, str]) -> list[Row]:
    """A row for each variant: head, variant, value with interval, and where it stands.

    Args:
        family: the variants.
        baselines: each variant's, for pairs where variants are many; see
            :func:`tokbench.statistics.pairing.compared`.
    """
    best = best_of(family)
    against = {} if best is None else _against(family, best, baselines)
    return [
        (
            *family.head,
            variant,
            *one[:4],
            family.over or None,
            family.trainings(variant),
            *_standing(family, variant, best, against),
        )
        for variant, one in sorted(family.values.items())
    ]


def _standing(family: Family, variant: str, best: str | None, against: Mapping[str, Row]) -> Row:
    """The best, by how much the variant is behind it, p, the verdict and the reason."""
    one = family.values[variant]
    if one.value is not None and one.ranked and not may_rank(family.trainings(variant)):
        return (None, None, None, None, None, UNTESTED, one.reason or ONE_TRAINING)
    if one.value is None or not one.ranked or best is None:
        return (None, None, None, None, None, UNRANKED, one.reason)
    if variant == best:
        return (best, 0.0, None, None, None, BEST, one.reason)
    if variant in against:
        *told, why = against[variant]
        return (best, *told, one.reason or why)
    behind, why = family.behind(variant, best), why_untested(family.trainings(variant))
    return (
        best,
        behind,
        None,
        None,
        None,
        UNTESTED,
        one.reason or why or family.untested or "no interval could be had",
    )


def _against(family: Family, best: str, baselines: Mapping[str, str]) -> dict[str, Row]:
    """What is told of each variant beside the best, after correction among all pairs of the family."""
    ranked = sorted(filter(family.compared, family.values))
    pairs: Sequence[tuple[str, str]] = unordered(compared(ranked, best, baselines)) if len(ranked) > 1 else []
    ordered = [(b, a) if a == best else (a, b) for a, b in pairs]
    found = {pair: estimate for pair in ordered if (estimate := family.differ(*pair)) is not None}
    told = dict(zip(found, judged(list(found.values())), strict=True)) if found else {}
    return {
        variant: (one.difference, one.low, one.high, one.holm, _verdict(one.holm), one.reason)
        for (variant, other), one in told.items()
        if other == best
    }


def _verdict(p_value: float | None) -> str:
    return UNTESTED if p_value is None else WORSE if p_value <= ALPHA else ALIKE
