"""What figures show, each in a sentence, for readers who do not see them."""

from collections import Counter
from collections.abc import Mapping, Sequence

from tokbench.report.figures.p_values import SIGNIFICANCE
from tokbench.report.numbers import fitting_decimals, printed
from tokbench.report.wording import counted, few


def between(what: str, values: Mapping[tuple[str, int], float], decimals: int | None = None) -> str:
    """Which tokenizers lie at the two ends of the largest size.

    Args:
        what: was measured, the beginning of the sentence.
        values: by variant and size.
        decimals: digits after the point; fitted to the values when None.
    """
    size = max(size for _, size in values)
    here = {variant: value for (variant, other), value in values.items() if other == size}
    return f"{what} at a vocabulary of {size:,}: {_from_to(here, decimals)}"


def ends(what: str, values: Mapping[str, float], decimals: int | None = None) -> str:
    """Which tokenizers lie at the two ends, of one size or of their own sizes; arguments as of :func:`between`."""
    return f"{what}: {_from_to(values, decimals)}"


def _from_to(values: Mapping[str, float], decimals: int | None = None) -> str:
    low, high = (end(values, key=lambda one: (values[one], one)) for end in (min, max))
    digits = fitting_decimals(list(values.values())) if decimals is None else decimals
    least, most = (printed(values[one], "real", digits) for one in (low, high))
    return f"{least}, {low}." if len(values) == 1 else f"from {least}, {low}, to {most}, {high}."


def first_by_model(averages: Mapping[tuple[str, str], float]) -> str:
    """Which variant has the highest average with each model.

    Args:
        averages: by model and variant.
    """
    models = list(dict.fromkeys(model for model, _ in averages))
    firsts = {
        model: max(((value, variant) for (one, variant), value in averages.items() if one == model), default=(0.0, ""))
        for model in models
    }
    told = [f"{variant} with {model}, {value:.1f} %" for model, (value, variant) in firsts.items()]
    return f"The highest average: {few(told)}."


def told_apart(p_values: Mapping[tuple[str, str], float | None]) -> str:
    """How many pairs a one-sided test of each direction tells apart.

    Args:
        p_values: of ordered pairs.
    """
    pairs = {frozenset(pair) for pair, p in p_values.items() if p is not None}
    apart = {frozenset(pair) for pair, p in p_values.items() if p is not None and p <= SIGNIFICANCE}
    return f"Of {counted(len(pairs), 'pair')}, {len(apart):,} have p ≤ {SIGNIFICANCE} in one direction, uncorrected."


def within_reach(ranks: Mapping[str, float], difference: float) -> str:
    """Which variants are not told apart from the one of the lowest average rank.

    Args:
        ranks: average rank by variant.
        difference: the critical one.
    """
    best = min(ranks, key=lambda one: (ranks[one], one))
    near = sorted(one for one in ranks if one != best and ranks[one] - ranks[best] <= difference)
    others = f"not told apart from it: {few(near)}" if near else "it is told apart from all others"
    return f"The lowest average rank is that of {best}, {ranks[best]:.2f}; {others}."


def by_verdict(baseline: str, verdicts: Sequence[str]) -> str:
    """How many variants a test has found better, worse, or neither.

    Args:
        baseline: what they are compared with.
        verdicts: of each.
    """
    told = [f"{number:,} {'is' if number == 1 else 'are'} {one}" for one, number in sorted(Counter(verdicts).items())]
    return f"Of {counted(len(verdicts), 'tokenizer')} beside {baseline}, {few(told)}."


def sides_of_zero(baseline: str, intervals: Sequence[tuple[float, float] | None]) -> str:
    """How many intervals lie on either side of zero."""
    known = [one for one in intervals if one is not None]
    above, below = sum(low > 0 for low, _ in known), sum(high < 0 for _, high in known)
    return (
        f"Of {counted(len(known), 'interval')} of a difference from {baseline}, {above:,} are above zero, {below:,} "
        f"below it, and {len(known) - above - below:,} include it."
    )


def shared(regions: Mapping[str, int], names: Sequence[str]) -> str:
    """How much three vocabularies have in common.

    Args:
        regions: tokens of each region, ``all``, ``only_a``, ``only_b`` and ``only_c`` among them.
        names: of a, b and c.
    """
    alone = [f"{regions[f'only_{letter}']:,} in {name} alone" for letter, name in zip("abc", names, strict=True)]
    return f"{counted(regions['all'], 'token')} in all three vocabularies; {few(alone)}."
