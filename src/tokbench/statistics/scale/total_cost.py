"""A tokenizer at the total cost of a model with the baseline: what the saved cost buys, and its bits per byte.

The target gives multiples of text or layers. Bits per byte at a multiple are read off the fitted line of the small
models. Estimates and intervals are those of :mod:`tokbench.statistics.scale.power_law`. Tokens of the documents are
part of them, because the multiple depends on tokens per byte.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import fsum, inf
from typing import Any

import numpy as np

from tokbench.kernels.elementary import logs_of
from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.comparisons.pair_selection import sorted_pairs
from tokbench.statistics.scale.power_law import (
    Points,
    Weighted,
    exponential,
    interval_limit,
    line_weights,
    points_of,
    slope_weights,
    sum_of_logs,
    terms_of,
    value_of,
)
from tokbench.statistics.scale.scale_lines import EQUAL, ScaleGroup
from tokbench.statistics.scale.target_model import TargetModel, affordable_layers
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.judgements import Judgement, judge
from tokbench.statistics.undersized import LEFT_OUT, Undersized

Row = dict[str, Any]
SPENT_ON = {"budget": "text_bytes", "size": "parameters_without_embeddings"}
"""Quantity that the saved cost is spent on, by the scale that varies."""
TEXT = "text"
"""Quantity that must be equal on a line of sizes."""
MOST_EXTRAPOLATED = 2.0
"""Largest factor beyond the range of a line for which there is a value."""
NOTHING_LEFT = "serving costs as much as training and serving with the baseline, so nothing is left for training"
NO_LAYERS = "the softmax costs as much as the complete model with the baseline, so nothing is left for layers"
NOT_EQUAL_TEXT = "the sizes were not trained on equal text, so that their costs differ in more than size"
NO_POINTS = "fewer than two common models with known text and tokens"


def _extrapolated(factor: float) -> str:
    return f"extrapolated {factor:.2f} times beyond the models of the line"


def _too_far(factor: float) -> str:
    return f"outside the data: {factor:.2f} times beyond the models of the line"


@dataclass(frozen=True)
class SpentCost:
    """A tokenizer at the total cost of a model with the baseline.

    Attributes:
        group: the line of models.
        variant: the tokenizer.
        points: its models.
        multiple: text, or layers, relative to those of the baseline at equal total cost.
        sensitivity: derivative of the logarithm of ``multiple`` by that of the baseline's tokens. That by the
            tokenizer's own tokens is the opposite.
        quantity: text, or parameters, at which its line is read.
        baseline: the baseline.
    """

    group: ScaleGroup
    variant: str
    points: Points
    multiple: float
    sensitivity: float
    quantity: float
    baseline: str

    @property
    def extrapolation(self) -> float:
        """Factor by which the quantity is outside the range of the models; at most 1 if it is inside."""
        return max(self.quantity / max(self.points.values), min(self.points.values) / self.quantity)

    @property
    def reason(self) -> str | None:
        """Reason why the value is extrapolated or missing; None if it is neither."""
        if self.extrapolation <= EQUAL:
            return None
        return (
            _extrapolated(self.extrapolation)
            if self.extrapolation <= MOST_EXTRAPOLATED
            else _too_far(self.extrapolation)
        )

    @cached_property
    def _log(self) -> float:
        return float(logs_of([self.quantity])[0])

    @cached_property
    def log_bits(self) -> float:
        """Logarithm of bits per byte of the fitted line at the quantity."""
        weights = line_weights(self.points.logs, self._log)
        return fsum(weight * level for weight, level in zip(weights, self._levels, strict=True))

    @cached_property
    def _levels(self) -> list[float]:
        """Logarithms of bits per byte of the models."""
        terms = terms_of(self.group, self.variant, self.points, [1.0] * len(self.points.logs))
        return [value_of(sum_of_logs([term], self.group.bytes, False)) for term in terms]

    def terms(self, factor: float) -> list[Weighted]:
        """Return the linear terms of ``factor`` times the logarithm of bits: those of bits, and those of tokens."""
        weights = [factor * weight for weight in line_weights(self.points.logs, self._log)]
        terms = terms_of(self.group, self.variant, self.points, weights)
        tokens = self.group.tokens
        if self.variant == self.baseline or not {self.variant, self.baseline} <= tokens.keys():
            return terms
        slope = fsum(w * level for w, level in zip(slope_weights(self.points.logs), self._levels, strict=True))
        moved = factor * slope * self.sensitivity
        shape = terms[0].bits.shape
        for name, sign in ((self.baseline, 1.0), (self.variant, -1.0)):
            terms.append(Weighted(sign * moved, np.broadcast_to(tokens[name], shape)))
        return terms


Judged = Mapping[tuple[str, str], tuple[Judgement, int] | str]
"""Verdict on each pair with its number of seeds, or the reason why there is no difference."""


@dataclass(frozen=True)
class Anchor:
    """A model with the baseline, whose total cost at a target all tokenizers spend.

    Attributes:
        name: name of the target.
        target: the target.
        group: the line of models.
        baseline: the baseline.
        model: common name of the model.
        vocabularies: tokens by variant and vocabulary size.
    """

    name: str
    target: TargetModel
    group: ScaleGroup
    baseline: str
    model: str
    vocabularies: Mapping[tuple[str, int], int]

    @property
    def head(self) -> Row:
        """Columns that identify the cost."""
        return self.group.head | {"target": self.name, "model": self.model}

    @property
    def axis(self) -> str:
        """Quantity that saved cost is spent on."""
        return SPENT_ON[self.group.line.varies]

    def spend(self, variant: str, together: Sequence[str]) -> SpentCost | str:
        """Return a tokenizer at this total cost, or the reason why there is no number.

        Args:
            variant: the tokenizer.
            together: tokenizers that are compared; lines are over the models and seeds that all of them have.
        """
        group, baseline = self.group, self.baseline
        if group.line.varies == "size" and group.line.equal != TEXT:
            return NOT_EQUAL_TEXT
        names = list(dict.fromkeys([*together, baseline]))
        points = points_of(group, self.axis, names) if all(name in group.bits for name in names) else []
        start = group.on(self.axis, baseline).get(self.model)
        rates = [self._rate(name) for name in (baseline, variant)]
        if not points or start is None or None in rates:
            return NO_POINTS
        ratio = rates[0] / rates[1]  # type: ignore[operator]
        of_baseline, shape = (
            self.target.transformer(self.vocabularies.get((name, group.size), group.size))
            for name in (baseline, variant)
        )
        # Multiple of text or layers, and the derivative of its logarithm by that of the ratio.
        if group.line.varies == "budget":
            cost = ratio * of_baseline.forward_flops / shape.forward_flops
            multiple = self.target.affordable_text(cost)
            moved = self.target.affordable_text(cost) - self.target.affordable_text(0.0)
        else:
            multiple = affordable_layers(shape, of_baseline, ratio)
            moved = multiple - affordable_layers(shape, of_baseline, 0.0)
        if multiple <= 0:
            return NOTHING_LEFT if group.line.varies == "budget" else NO_LAYERS
        return SpentCost(
            group, variant, points[names.index(variant)], multiple, moved / multiple, multiple * start, baseline
        )

    def _rate(self, variant: str) -> float | None:
        """Return tokens per byte; None if they are not known."""
        models = self.group.of(variant)
        return next(
            (rate for model in models if (rate := self.group.costs[variant, model].get("tokens_per_byte"))), None
        )

    def judgements(self, baselines: Mapping[str, str], undersized: Undersized) -> Judged:
        """Return verdicts on pairs of tokenizers; all pairs are one family of tests."""
        group = self.group
        variants = sorted(group.bits)
        found: dict[tuple[str, str], Estimate | str] = {}
        seeds: dict[tuple[str, str], int] = {}
        for pair in sorted_pairs(variants, self.baseline, baselines):
            spent = [self.spend(variant, pair) for variant in pair]
            known = [one for one in spent if isinstance(one, SpentCost)]
            if len(known) < 2:
                found[pair] = next(one for one in spent if isinstance(one, str))
                continue
            seeds[pair] = len(known[0].points.seeds)
            found[pair] = self._difference(known[0], known[1])
            estimate = found[pair]
            if isinstance(estimate, Estimate) and any((name, group.size) in undersized for name in pair):
                found[pair] = estimate.exclude(LEFT_OUT)
        estimates = {pair: estimate for pair, estimate in found.items() if isinstance(estimate, Estimate)}
        judged = dict(zip(estimates, judge(list(estimates.values())), strict=True))
        return {
            pair: reason if isinstance(reason, str) else (judged[pair], seeds[pair]) for pair, reason in found.items()
        }

    def _difference(self, a: SpentCost, b: SpentCost) -> Estimate | str:
        """Return the difference in bits per byte, or the reason why there is none."""
        reasons = [one.reason for one in (a, b) if one.reason]
        if any(one.extrapolation > MOST_EXTRAPOLATED for one in (a, b)):
            return next(one.reason or "" for one in (a, b) if one.extrapolation > MOST_EXTRAPOLATED)
        bits = [exponential(one.log_bits) for one in (a, b)]
        terms = [*a.terms(bits[0]), *b.terms(-bits[1])]
        whole = sum_of_logs(terms, self.group.bytes, bool(a.points.seeds))
        difference = bits[0] - bits[1]
        if not a.points.seeds:
            return NO_SEED
        if not isinstance(whole, Estimate):
            return replace(Estimate(difference, inf, 1.0), reason=interval_limit(self.group, a.points.seeds) or "")
        estimate = replace(whole, difference=difference, unit=self.group.unit)
        return estimate.exclude(reasons[0]) if reasons else estimate


def anchors_of(
    targets: Mapping[str, TargetModel],
    groups: Sequence[ScaleGroup],
    baselines: Mapping[str, str],
    vocabularies: Mapping[tuple[str, int], int],
) -> Iterator[Anchor]:
    """Yield the models with the baseline on lines of budgets and sizes, for each target."""
    for name, target in targets.items():
        for group in groups:
            if group.line.varies not in SPENT_ON:
                continue
            chosen = (baselines.get(variant) for variant in sorted(group.bits))
            baseline = next((one for one in chosen if one in group.bits), min(group.bits))
            for model in (one for one in group.line.models if one in group.of(str(baseline))):
                yield Anchor(name, target, group, str(baseline), model, vocabularies)
