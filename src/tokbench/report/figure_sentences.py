"""What figures show, each in a sentence, for readers who do not see them."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from tokbench.report.figures.differences import SIGNIFICANCE
from tokbench.report.wording import fitting_decimals, join_some, pluralise, printed
from tokbench.statistics.verdicts import IN_WORDS, NO_DIFFERENCE, ONE_TRAINING


def between(what: str, values: Mapping[tuple[str, int], float], decimals: int | None = None) -> str:
    """Which tokenizers lie at the two ends of the largest size at which there are two or more, if there is such.

    Args:
        what: was measured, the beginning of the sentence.
        values: by variant and size.
        decimals: digits after the point; fitted to the values when None.
    """
    number = Counter(size for _, size in values)
    size = max(number, key=lambda one: (number[one] > 1, one))
    here = {variant: value for (variant, other), value in values.items() if other == size}
    return f"{what} at a vocabulary of {size:,}: {_from_to(here, decimals)}"


def ends(what: str, values: Mapping[str, float], decimals: int | None = None) -> str:
    """Which tokenizers lie at the two ends, of one size or of their own sizes; arguments as of :func:`between`."""
    return f"{what}: {_from_to(values, decimals)}"


def _from_to(values: Mapping[str, float], decimals: int | None = None) -> str:
    low, high = (end(values, key=lambda one: (values[one], one)) for end in (min, max))
    digits = fitting_decimals(list(values.values())) if decimals is None else decimals
    least, most = (printed(values[one], "real", digits) for one in (low, high))
    if len(values) == 1:
        return f"{least}, {low}."
    return f"{least} with each, as far as is shown." if least == most else f"from {least}, {low}, to {most}, {high}."


def first_by_model(averages: Mapping[tuple[str, str], float], ranked: Container[str]) -> str:
    """Which variants have the highest average with each model, as far as is printed.

    Args:
        averages: in percent, by model and variant, of variants that several models were trained with.
        ranked: models that were trained often enough for a highest one.
    """
    told = []
    for model in dict.fromkeys(model for model, _ in averages):
        if model not in ranked:
            told.append(f"{ONE_TRAINING} with {model}")
            continue
        here = {variant: printed(value, "real", 1) for (one, variant), value in averages.items() if one == model}
        highest = printed(max(value for (one, _), value in averages.items() if one == model), "real", 1)
        told.append(f"{join_some([variant for variant in here if here[variant] == highest])} with {model}, {highest} %")
    return f"The highest average of a tokenizer that several models were trained with: {'; '.join(told)}."


PValues = Mapping[tuple[str, str], float | None]


def told_apart(p_values: PValues, holm: PValues) -> str:
    """How many pairs differ significantly by a one-sided test of each direction, before and after correction.

    Args:
        p_values: of ordered pairs.
        holm: the same, after Holm's correction.
    """
    pairs = {frozenset(pair) for pair, p in p_values.items() if p is not None}
    apart, corrected = (
        len({frozenset(pair) for pair, p in found.items() if p is not None and p <= SIGNIFICANCE})
        for found in (p_values, holm)
    )
    if not apart:
        told = pluralise(len(pairs), "pair")
        return f"None of {told} differs significantly (p ≤ {SIGNIFICANCE} in one direction, uncorrected)."
    have = f"{apart:,} {'has' if apart == 1 else 'have'}"
    after = f", and {corrected:,} after Holm's correction"
    return f"Of {pluralise(len(pairs), 'pair')}, {have} p ≤ {SIGNIFICANCE} in one direction, uncorrected{after}."


def within_reach(ranks: Mapping[str, float], difference: float) -> str:
    """Which variants have no significant difference from the one of the lowest average rank.

    Args:
        ranks: average rank by variant.
        difference: the critical one.
    """
    best = min(ranks, key=lambda one: (ranks[one], one))
    near = sorted(one for one in ranks if one != best and ranks[one] - ranks[best] <= difference)
    others = f"; {NO_DIFFERENCE} from it: {join_some(near)}" if near else "; all others are significantly worse"
    return f"The lowest average rank is that of {best}, {ranks[best]:.2f}{others * (len(ranks) > 1)}."


def by_verdict(baseline: str, verdicts: Sequence[str]) -> str:
    """How many variants are significantly better, significantly worse, neither, or not tested.

    Args:
        baseline: what they are compared with.
        verdicts: of each, see :mod:`tokbench.statistics.verdicts`.
    """
    told = [f"{IN_WORDS[one]}: {number:,}" for one, number in sorted(Counter(verdicts).items())]
    return f"{pluralise(len(verdicts), 'tokenizer')} compared with {baseline}. {'; '.join(told).capitalize()}."


def sides_of_zero(baseline: str, intervals: Sequence[tuple[float, float] | None]) -> str:
    """How many intervals lie on either side of zero."""
    known = [one for one in intervals if one is not None]
    if not known:
        return f"No difference from {baseline} has an interval."
    above, below = sum(low > 0 for low, _ in known), sum(high < 0 for _, high in known)
    return (
        f"{pluralise(len(known), 'interval')} of a difference from {baseline}: {above:,} above zero, {below:,} below "
        f"it, {len(known) - above - below:,} with zero inside."
    )


def shared(regions: Mapping[str, int], names: Sequence[str]) -> str:
    """How much three vocabularies have in common.

    Args:
        regions: tokens of each region, ``all``, ``only_a``, ``only_b`` and ``only_c`` among them.
        names: of a, b and c.
    """
    alone = [f"{regions[f'only_{letter}']:,} in {name} alone" for letter, name in zip("abc", names, strict=True)]
    return f"{pluralise(regions['all'], 'token')} in all three vocabularies; {join_some(alone)}."
