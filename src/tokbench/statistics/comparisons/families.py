"""Families of comparisons: tokenizers of one size by one measure, their pairs, and their places.

Tokenizers are ranked only among those of the same pre-tokenizer. Existing tokenizers cannot be trained again, so they
are compared at their own sizes, with all pre-tokenizers. The best is chosen by the numbers that it is tested on. All
pairs of a family are therefore tested together and corrected by Holm's procedure. With very many variants only pairs
with the best and the baseline are tested, and the report says so. A pair has one test: its interval and its verdict
come from the same estimate, in the scoreboard, in the table of pairs, in ``tokbench compare`` and in Python.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.statistics.comparisons.pair_selection import select_pairs, unordered_pairs
from tokbench.statistics.significance.eligibility import LOSSY, ONE_TRAINING, may_rank, why_untested
from tokbench.statistics.significance.estimate import Estimate, ratio, relative_difference
from tokbench.statistics.significance.judgements import Judgement, judge
from tokbench.statistics.significance.verdicts import NO_DIFFERENCE, NOT_TESTED, WORSE, in_full

if TYPE_CHECKING:
    from tokbench.metric import Direction

Row = tuple[Any, ...]
NamedRow = dict[str, Any]
HEAD = ("corpus", "size", "measure", "model", "suite", "definition")
"""Columns that identify a family."""
Pair = tuple[str, str]
Documents = Mapping[str, NDArray[np.float64]]
"""Values of each unit by variant, float64 [units]."""
TOKENS, GAP, NGRAM, BITS, ACCURACY, ALIGNMENT = (
    "tokens", "gap", "ngram_bits_per_byte", "bits_per_byte", "accuracy", "alignment",
)  # fmt: skip
"""Names of the main measures."""
BEST, ALIKE, UNTESTED, UNRANKED = "best", NO_DIFFERENCE, NOT_TESTED, "not ranked"
BASELINE = "baseline"
"""Verdict for the baseline; differences from it are better, worse, no significant difference or not tested."""
UNCOUNTED = "tokens were not counted document by document"
NO_INTERVAL = "no interval could be had"
NO_BASELINE = "the experiment has no baseline for it"
OTHER_PRETOKENIZERS = "different pre-tokenizers"
Tested = Mapping[Pair, Judgement]
Pretokenizers = Mapping[str, str]
"""Pre-tokenizer by variant; all variants without an entry share one."""


class Value(NamedTuple):
    """Value of one tokenizer.

    Attributes:
        value: the number; None if it is missing.
        low, high: its 95 % interval; None if there is none (default).
        n: number of units of the interval (default: None).
        reason: reason why there is no value, or why it is not ranked (default: None).
        ranked: True if it is compared with the others (default).
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    reason: str | None = None
    ranked: bool = True


@dataclass(frozen=True)
class ComparisonFamily:
    """Tokenizers of one size that are compared by one measure.

    Attributes:
        head: first values of the rows, before the variant.
        over: sources of variation of the intervals; empty if there are no intervals.
        end: better end of the measure.
        values: values by variant.
        differ: function that returns the difference of two variants, first minus second, or None if there is none
            (default: always None).
        untested: reason why nothing is tested (default: none).
        relative: True if differences are shares of the second variant's value (default: False).
        same_pretokenizer: True if values of different pre-tokenizers are not comparable (default: False).
        trainings: number of trainings of each variant's model; empty if no model was trained (default).
        own_sizes: size of each existing tokenizer, in the order of the configuration; empty if all variants have the
            size of ``head`` (default).
        other_sizes: size of each existing tokenizer that is not in the family, because it has another size (default:
            none).
    """

    head: Row
    over: str
    end: "Direction"
    values: Mapping[str, Value]
    differ: Callable[[str, str], Estimate | None] = lambda a, b: None
    untested: str = ""
    relative: bool = False
    same_pretokenizer: bool = False
    trainings: Mapping[str, int] = field(default_factory=dict)
    own_sizes: Mapping[str, int] = field(default_factory=dict)
    other_sizes: Mapping[str, int] = field(default_factory=dict)

    def baselines(self, of_experiment: Mapping[str, str]) -> Mapping[str, str]:
        """Return the baseline of each variant.

        That of existing tokenizers is the first one, unless the baseline of the experiment is one of them.

        Args:
            of_experiment: baseline by variant.
        """
        first = next((name for name in self.own_sizes if name in self.values), None)
        if first is None:
            return of_experiment
        chosen = {name: of_experiment.get(name, first) for name in self.values}
        return {name: baseline if baseline in self.values else first for name, baseline in chosen.items()}

    def gap(self, variant: str, best: str) -> float | None:
        """Return the difference of two values, or None if one is missing or the divisor is zero."""
        own_value, best_value = self.values[variant].value, self.values[best].value
        if own_value is None or best_value is None:
            return None
        return own_value - best_value if not self.relative else own_value / best_value - 1 if best_value else None

    def compares(self, variant: str) -> bool:
        """Return True if a variant is ranked: it has a comparable value, and its model was trained often enough."""
        return self.comparable(variant) and may_rank(self.trainings.get(variant))

    def comparable(self, variant: str) -> bool:
        """Return True if a variant has a comparable value, for any number of trainings."""
        value = self.values.get(variant)
        return value is not None and value.ranked and value.value is not None

    def why_untested(self, *variants: str) -> str:
        """Return the reason why a difference of some variants without an estimate is not tested."""
        known = [self.trainings[variant] for variant in variants if variant in self.trainings]
        return self.why_unranked(*variants) or why_untested(min(known, default=None)) or self.untested or NO_INTERVAL

    def why_unranked(self, *variants: str) -> str:
        """Return the reason of the first variant that is not ranked, with its name; empty if all are ranked."""
        reasons = ((name, self.values[name]) for name in variants if name in self.values)
        return next((f"{name} {value.reason or 'is not ranked'}" for name, value in reasons if not value.ranked), "")


def bests_of(family: ComparisonFamily, pretokenizers: Pretokenizers) -> dict[str, str]:
    """Return for each ranked variant the best variant of its pre-tokenizer; ties go to the first by name.

    Args:
        family: the variants.
        pretokenizers: pre-tokenizer by variant.
    """
    sign = 1 if family.end == "lowest" else -1
    ranked = {
        name: value.value for name, value in family.values.items() if value.value is not None and family.compares(name)
    }
    first: dict[str | None, str] = {}
    for _, variant in sorted((sign * value, name) for name, value in ranked.items()):
        first.setdefault(None if family.own_sizes else pretokenizers.get(variant), variant)
    return {name: first[None if family.own_sizes else pretokenizers.get(name)] for name in ranked}


def judge_pairs(
    family: ComparisonFamily, baselines: Mapping[str, str], pretokenizers: Pretokenizers
) -> dict[Pair, Judgement]:
    """Judge every pair of variants that have values, after correction over all tested pairs of the family.

    The second variant of a pair is the best of the pre-tokenizer or else the baseline. A pair without an estimate has
    its difference and a reason.

    Args:
        family: the variants.
        baselines: baseline by variant, see :func:`tokbench.statistics.comparisons.pair_selection.select_pairs`.
        pretokenizers: pre-tokenizer by variant.
    """
    bests, baselines = bests_of(family, pretokenizers), family.baselines(baselines)
    names = sorted(name for name, value in family.values.items() if value.value is not None)
    pairs = unordered_pairs(select_pairs(names, bests, baselines)) if len(names) > 1 else []
    if family.same_pretokenizer:
        pairs = [(a, b) for a, b in pairs if pretokenizers.get(a) == pretokenizers.get(b)]

    def second(name: str, candidate: str) -> bool:
        """Return True if the other is compared with ``name``."""
        return bests.get(candidate) == name or (bests.get(name) != candidate and baselines.get(candidate) == name)

    ordered = [(b, a) if second(a, b) else (a, b) for a, b in pairs]
    estimates = {pair: estimate for pair in ordered if (estimate := family.differ(*pair)) is not None}
    reasons = {pair: estimate.reason or family.why_unranked(*pair) for pair, estimate in estimates.items()}
    judgements = judge([replace(estimate, reason=reasons[pair]) for pair, estimate in estimates.items()], family.end)
    by_pair = dict(zip(estimates, judgements, strict=True))
    for pair in ordered:
        if pair not in by_pair and (difference := family.gap(*pair)) is not None:
            why = in_full(family.why_untested(*pair))
            by_pair[pair] = Judgement(difference, None, None, None, None, NOT_TESTED, None, None, why)
    return {pair: by_pair[pair] for pair in ordered if pair in by_pair}


def ranking_rows(
    family: ComparisonFamily, baselines: Mapping[str, str], pretokenizers: Pretokenizers
) -> Iterator[NamedRow]:
    """Yield a row of the scoreboard for each variant, by column name.

    Args:
        family: the variants.
        baselines: baseline by variant, see :func:`tokbench.statistics.comparisons.pair_selection.select_pairs`.
        pretokenizers: pre-tokenizer by variant.
    """
    bests, baselines = bests_of(family, pretokenizers), family.baselines(baselines)
    judgements = judge_pairs(family, baselines, pretokenizers)
    for variant, value in sorted(family.values.items()):
        row: NamedRow = dict(zip(HEAD, family.head, strict=True))
        row |= {"variant": variant, "pretokenization": pretokenizers.get(variant)}
        row |= {"size": family.own_sizes.get(variant, row["size"])}
        row |= {"value": value.value, "low": value.low, "high": value.high, "n": value.n, "over": family.over or None}
        row |= {"seeds": family.trainings.get(variant)} | _place(family, variant, bests.get(variant), judgements)
        yield row | _next_to_baseline(family, variant, baselines.get(variant), pretokenizers, judgements)


def _pair(family: ComparisonFamily, judgements: Tested, a: str, b: str) -> Judgement | None:
    """Return the verdict on a against b; None if they are not compared."""
    if (judgement := judgements.get((a, b))) is not None:
        return judgement
    opposite = judgements.get((b, a))
    return None if opposite is None else opposite.reverse(relative=family.relative)


def _place(family: ComparisonFamily, variant: str, best: str | None, judgements: Tested) -> NamedRow:
    """Return the best variant, the difference from it with its interval and p-value, the verdict and the reason."""
    value = family.values[variant]
    if best is None and family.comparable(variant):
        return {"verdict": UNTESTED, "reason": value.reason or ONE_TRAINING}
    if best is None:
        return {"verdict": UNRANKED, "reason": value.reason}
    if variant == best:
        return {"best": best, "behind": 0.0, "verdict": BEST, "reason": value.reason}
    judgement = _pair(family, judgements, variant, best)
    if judgement is None:
        gap = family.gap(variant, best)
        return {"best": best, "behind": gap, "verdict": UNTESTED, "reason": value.reason or NO_INTERVAL}
    verdict = judgement.verdict if judgement.verdict in (UNTESTED, ALIKE) else WORSE
    difference = {
        "behind": judgement.difference,
        "behind_low": judgement.low,
        "behind_high": judgement.high,
        "holm": judgement.holm,
    }
    return {"best": best, "verdict": verdict, "reason": value.reason or judgement.reason} | difference


def _next_to_baseline(
    family: ComparisonFamily, variant: str, baseline: str | None, pretokenizers: Pretokenizers, judgements: Tested
) -> NamedRow:
    """Return the baseline, its pre-tokenizer, the difference with interval and p-value, verdict, reason and units."""
    if baseline is None:
        return {"difference_verdict": UNTESTED, "difference_reason": NO_BASELINE}
    row = {"baseline": baseline, "baseline_pretokenization": pretokenizers.get(baseline)}
    if variant == baseline:
        return row | {"difference_verdict": BASELINE}
    if reason := _why_no_difference(family, variant, baseline, pretokenizers):
        return row | {"difference_verdict": UNTESTED, "difference_reason": reason}
    judgement = _pair(family, judgements, variant, baseline)
    if judgement is None:
        why = family.why_untested(variant, baseline)
        difference = {"difference": family.gap(variant, baseline)}
        return row | difference | {"difference_verdict": UNTESTED, "difference_reason": why}
    names = ("low", "high", "holm", "verdict", "reason", "n", "unit")
    return (
        row | {"difference": judgement.difference} | {f"difference_{name}": getattr(judgement, name) for name in names}
    )


def _why_no_difference(
    family: ComparisonFamily, variant: str, baseline: str, pretokenizers: Pretokenizers
) -> str | None:
    """Return the reason why a variant has no difference from the baseline; None if it has one."""
    if not family.comparable(variant):
        return family.values[variant].reason or NO_INTERVAL
    if not all(may_rank(family.trainings.get(name)) for name in (variant, baseline)):
        return ONE_TRAINING
    if not family.comparable(baseline):
        why = family.values[baseline].reason if baseline in family.values else "it was not measured here"
        if baseline in family.other_sizes:
            why = f"it has another size, {family.other_sizes[baseline]:,} tokens"
        return f"nothing to compare with the baseline {baseline}: {why or 'it has no value'}"
    if family.same_pretokenizer and pretokenizers.get(baseline) != pretokenizers.get(variant):
        return OTHER_PRETOKENIZERS
    return None


def token_counts(
    head: Row,
    totals: Mapping[str, tuple[float | None, str | None]],
    by_unit: Documents,
    sizes: NDArray[np.float64],
    unit: str = "documents",
) -> ComparisonFamily:
    """Return the family of token counts of one text.

    Args:
        head: first values of the rows.
        totals: tokens of the text by tokenizer, or None with the reason.
        by_unit: tokens of each unit by tokenizer, float64 [units]; those of a tokenizer whose sum is not its total are
            not used.
        sizes: bytes of each unit, float64 [units].
        unit: name of the units (default: "documents").
    """
    complete = {
        name: counts for name, counts in by_unit.items() if name in totals and float(counts.sum()) == totals[name][0]
    }
    values = {}
    for name, (value, reason) in totals.items():
        level = ratio(complete[name], sizes) if name in complete else None
        whole = float(sizes.sum())
        low, high = (None if end is None else end * whole for end in (level.ends() if level else (None, None)))
        values[name] = Value(value, low, high, level.units if level else None, reason)
    over, untested = (unit, "") if complete else ("", UNCOUNTED)
    return ComparisonFamily(
        head, over, "lowest", values, partial(_token_difference, complete, unit), untested, relative=True
    )


def _token_difference(by_unit: Documents, unit: str, a: str, b: str) -> Estimate | None:
    return relative_difference(by_unit[a], by_unit[b], unit=unit) if a in by_unit and b in by_unit else None


def over_documents(
    head: Row, bits: Mapping[str, NDArray[np.float64]], sizes: NDArray[np.float64], unit: str
) -> ComparisonFamily:
    """Return bits per byte of variants on the same documents.

    Args:
        head: first values of the rows.
        bits: float64 [documents] by variant.
        sizes: float64 [documents], bytes of the documents.
        unit: name of the documents, if they are other units (default: "documents").
    """
    levels = {name: ratio(of_variant, sizes) for name, of_variant in bits.items()}
    values = {
        name: Value(level.difference, *level.ends(), level.units) for name, level in levels.items() if level is not None
    }

    def differ(a: str, b: str) -> Estimate | None:
        return ratio(bits[a] - bits[b], sizes, unit=unit) if a in bits and b in bits else None

    return ComparisonFamily(head, unit, "lowest", values, differ)


def unrank_lossy(family: ComparisonFamily, lossy: Set[str]) -> ComparisonFamily:
    """Return the family with lossy tokenizers unranked."""
    values = {
        name: value._replace(ranked=False, low=None, high=None, n=None, reason=value.reason or LOSSY)
        if name in lossy
        else value
        for name, value in family.values.items()
    }
    return replace(family, values=values)


def pair_row(family: ComparisonFamily, a: str, b: str, judgement: Judgement) -> dict[str, Any]:
    """Return the columns of a comparison, without pre-tokenizers.

    Args:
        family: family of the two.
        a, b: the tokenizers.
        judgement: the verdict on a.
    """
    corpus, size, measure, model, suite, definition = family.head
    trained = [family.trainings[name] for name in (a, b) if name in family.trainings]
    return {
        "measure": measure,
        "definition": definition,
        "corpus": corpus,
        "model": model,
        "suite": suite,
        "task": None,
        "size": size,
        "a": a,
        "b": b,
        "value_a": family.values[a].value,
        "value_b": family.values[b].value,
        "seeds": min(trained, default=None),
        **{field.name: getattr(judgement, field.name) for field in fields(judgement)},
    }
