"""Place of every tokenizer of a family by one measure: value, best of its pre-tokenizer, difference from the baseline.

Tokenizers are ranked only among those of the same pre-tokenizer. The best is chosen by the numbers that it is tested
on. All pairs of the family are therefore tested together and corrected by Holm's procedure, whichever is the best. Of
very many variants only those with the best and the baseline are tested; the report says so. A pair has one test:
its interval and its verdict always come from the same estimate.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tokbench.metric import End
from tokbench.statistics.estimate import Estimate
from tokbench.statistics.judgement import judged
from tokbench.statistics.pairing import compared, unordered
from tokbench.statistics.power import ALPHA

Row = tuple[Any, ...]
BEST, ALIKE, WORSE, UNTESTED, UNRANKED = "best", "not told apart", "worse", "not tested", "not ranked"
BETTER, NO_DIFFERENCE, BASELINE = "better", "no significant difference", "baseline"
"""Verdicts on differences from the baseline, in addition to WORSE and UNTESTED."""
NO_INTERVAL = "no interval could be had"
NO_BASELINE = "the experiment has no baseline for it"
UNBOUNDED = "the interval has no upper end, from so few documents"


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
        seeds: seeds of the models; None where no model was trained.
        end: the better end.
        values: by variant.
        differ: the difference of two variants, the first minus the second, or None where it has no standard error.
        untested: why nothing is tested; empty where it is.
        relative: whether differences are shares of the second one's value.
        same_pretokenizer: whether values of different pre-tokenizers are not comparable at all.
    """

    head: Row
    over: str
    seeds: int | None
    end: End
    values: Mapping[str, Value]
    differ: Callable[[str, str], Estimate | None] = lambda a, b: None
    untested: str = ""
    relative: bool = False
    same_pretokenizer: bool = False

    def behind(self, variant: str, best: str) -> float | None:
        """The difference of two values."""
        one, other = self.values[variant].value, self.values[best].value
        if one is None or other is None:
            return None
        return one - other if not self.relative else one / other - 1 if other else None

    def compares(self, variant: str) -> bool:
        """Whether a variant has a value that is ranked."""
        one = self.values.get(variant)
        return one is not None and one.ranked and one.value is not None


class Difference(NamedTuple):
    """A tested difference of two variants: the first minus the second, its 95 % interval, and p after correction."""

    difference: float
    low: float
    high: float
    holm: float


Tested = Mapping[tuple[str, str], Difference]
Pretokenizers = Mapping[str, str]
"""The pre-tokenizer of each variant; a variant that is not named shares one with all others that are not."""


def bests_of(family: Family, pretokenizers: Pretokenizers) -> dict[str, str]:
    """For each ranked variant the one at the better end among those of its pre-tokenizer, of equals the first by name.

    Args:
        family: the variants.
        pretokenizers: by variant.
    """
    sign = 1 if family.end == "lowest" else -1
    ranked = {name: one.value for name, one in family.values.items() if one.ranked and one.value is not None}
    first: dict[str | None, str] = {}
    for _, variant in sorted((sign * value, name) for name, value in ranked.items()):
        first.setdefault(pretokenizers.get(variant), variant)
    return {name: first[pretokenizers.get(name)] for name in ranked}


def rows_of(family: Family, baselines: Mapping[str, str], pretokenizers: Pretokenizers) -> list[Row]:
    """Return a row for each variant: head, variant and pre-tokenizer, value with interval, difference from the best of
    the pre-tokenizer, reason, difference from the baseline.

    Args:
        family: the variants.
        baselines: each variant's, see :func:`tokbench.statistics.pairing.compared`.
        pretokenizers: by variant.
    """
    bests = bests_of(family, pretokenizers)
    tested = _tested(family, bests, baselines)
    return [
        (
            *(*family.head, variant, pretokenizers.get(variant), *one[:4], family.over or None, family.seeds),
            *_place(family, variant, bests.get(variant), tested),
            *_next_to_baseline(family, variant, baselines.get(variant), pretokenizers, tested),
        )
        for variant, one in sorted(family.values.items())
    ]


def _place(family: Family, variant: str, best: str | None, tested: Tested) -> Row:
    """The best, by how much the variant is behind it, p, the verdict and the reason."""
    one = family.values[variant]
    if best is None:
        return (None, None, None, None, None, UNRANKED, one.reason)
    if variant == best:
        return (best, 0.0, None, None, None, BEST, one.reason)
    if (found := tested.get((variant, best))) is not None:
        return (best, *found, WORSE if found.holm <= ALPHA else ALIKE, one.reason)
    behind = family.behind(variant, best)
    return (best, behind, None, None, None, UNTESTED, one.reason or family.untested or NO_INTERVAL)


def _next_to_baseline(
    family: Family, variant: str, baseline: str | None, pretokenizers: Pretokenizers, tested: Tested
) -> Row:
    """The baseline and its pre-tokenizer, the difference with its interval and p, the verdict, and why none."""
    if baseline is None:
        return (None, None, None, None, None, None, UNTESTED, NO_BASELINE)
    other = pretokenizers.get(baseline)
    head = (baseline, other)
    if variant == baseline:
        return (*head, None, None, None, None, BASELINE, None)
    untested = (None, None, None, UNTESTED)
    one = family.values[variant]
    if not family.compares(variant):
        return (*head, None, *untested, one.reason or NO_INTERVAL)
    if not family.compares(baseline):
        why = family.values[baseline].reason if baseline in family.values else "it was not measured here"
        return (*head, None, *untested, f"nothing to compare with the baseline {baseline}: {why or 'it has no value'}")
    if family.same_pretokenizer and other != pretokenizers.get(variant):
        return (*head, None, *untested, "different pre-tokenizers")
    difference = family.behind(variant, baseline)
    found = tested.get((variant, baseline))
    if found is None and (opposite := tested.get((baseline, variant))) is not None:
        found = _opposite(opposite, family.relative)
        if found is None:
            return (*head, difference, *untested, UNBOUNDED)
    if found is None:
        return (*head, difference, *untested, family.untested or NO_INTERVAL)
    better = (found.difference < 0) == (family.end == "lowest")
    verdict = NO_DIFFERENCE if found.holm > ALPHA else BETTER if better else WORSE
    return (*head, *found, verdict, None)


def _opposite(one: Difference, relative: bool) -> Difference | None:
    """The difference seen from the other side; None where its interval has no upper end.

    A share of the one is mapped to a share of the other, end by end: the same interval, so that the same test.
    """
    if not relative:
        return Difference(-one.difference, -one.high, -one.low, one.holm)
    if one.low <= -1:
        return None
    difference, low, high = (1 / (1 + end) - 1 for end in (one.difference, one.high, one.low))
    return Difference(difference, low, high, one.holm)


def _tested(
    family: Family, bests: Mapping[str, str], baselines: Mapping[str, str]
) -> dict[tuple[str, str], Difference]:
    """Every pair that has an interval, the best of a pre-tokenizer or else the baseline second, after correction among
    all pairs of the family."""
    ranked = sorted(bests)
    pairs = unordered(compared(ranked, bests, baselines)) if len(ranked) > 1 else []
    ordered = [(b, a) if bests[b] == a or (bests[a] != b and baselines.get(b) == a) else (a, b) for a, b in pairs]
    found = {pair: estimate for pair in ordered if (estimate := family.differ(*pair)) is not None}
    told = judged(list(found.values())) if found else []
    return {
        pair: Difference(one.difference, one.low, one.high, one.holm) for pair, one in zip(found, told, strict=True)
    }
