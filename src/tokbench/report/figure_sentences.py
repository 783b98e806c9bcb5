"""Sentences on the findings of figures, for readers who do not see them."""

from collections import Counter
from collections.abc import Container, Mapping, Sequence

from tokbench.report.figures.differences import SIGNIFICANCE
from tokbench.report.wording import fitting_decimals, format_value, join_some, pluralise
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.verdicts import IN_WORDS, NO_DIFFERENCE


def value_range(what: str, values: Mapping[tuple[str, int], float], decimals: int | None = None) -> str:
    """Return a sentence with the least and the greatest value, at the largest size with two or more tokenizers.

    Args:
        what: beginning of the sentence.
        values: values by variant and size.
        decimals: digits after the point (default: fitted to the values).
    """
    number = Counter(size for _, size in values)
    size = max(number, key=lambda size: (number[size] > 1, size))
    here = {variant: value for (variant, other), value in values.items() if other == size}
    return f"{what} at a vocabulary of {size:,}: {_range(here, decimals)}"


def variant_range(what: str, values: Mapping[str, float], decimals: int | None = None) -> str:
    """Return a sentence with the least and the greatest value by variant; arguments as in :func:`value_range`."""
    return f"{what}: {_range(values, decimals)}"


def _range(values: Mapping[str, float], decimals: int | None = None) -> str:
    low, high = (end(values, key=lambda variant: (values[variant], variant)) for end in (min, max))
    digits = fitting_decimals(list(values.values())) if decimals is None else decimals
    least, most = (format_value(values[variant], "real", digits) for variant in (low, high))
    if len(values) == 1:
        return f"{least}, {low}."
    return f"{least} for all, at this precision." if least == most else f"from {least}, {low}, to {most}, {high}."


def highest_by_model(averages: Mapping[tuple[str, str], float], ranked: Container[str]) -> str:
    """Return a sentence on the variants with the highest average for each model, at the printed precision.

    Args:
        averages: averages in percent by model and variant, of variants with several models.
        ranked: models that were trained often enough to be ranked.
    """
    sentences = []
    for model in dict.fromkeys(model for model, _ in averages):
        if model not in ranked:
            sentences.append(f"{ONE_TRAINING} with {model}")
            continue
        here = {variant: format_value(value, "real", 1) for (name, variant), value in averages.items() if name == model}
        highest = format_value(max(value for (name, _), value in averages.items() if name == model), "real", 1)
        sentences.append(
            f"{join_some([variant for variant in here if here[variant] == highest])} with {model}, {highest} %"
        )
    return f"Highest average of the tokenizers with several models: {'; '.join(sentences)}."


PValues = Mapping[tuple[str, str], float | None]


def significant_pairs(p_values: PValues, holm: PValues) -> str:
    """Return a sentence on the number of significantly different pairs, by a one-sided test of each direction.

    Args:
        p_values: p-values by ordered pair.
        holm: p-values after Holm's correction.
    """
    pairs = {frozenset(pair) for pair, p in p_values.items() if p is not None}
    apart, corrected = (
        len({frozenset(pair) for pair, p in values.items() if p is not None and p <= SIGNIFICANCE})
        for values in (p_values, holm)
    )
    if not apart:
        sentence = pluralise(len(pairs), "pair")
        return f"None of {sentence} differs significantly (p ≤ {SIGNIFICANCE} in one direction, uncorrected)."
    have = f"{apart:,} {'has' if apart == 1 else 'have'}"
    after = f", and {corrected:,} after Holm's correction"
    return f"Of {pluralise(len(pairs), 'pair')}, {have} p ≤ {SIGNIFICANCE} in one direction, uncorrected{after}."


def lowest_rank(ranks: Mapping[str, float], difference: float) -> str:
    """Return a sentence on the lowest average rank and the variants that do not differ significantly from it.

    Args:
        ranks: average rank by variant.
        difference: critical difference.
    """
    best = min(ranks, key=lambda variant: (ranks[variant], variant))
    near = sorted(variant for variant in ranks if variant != best and ranks[variant] - ranks[best] <= difference)
    others = f"; {NO_DIFFERENCE} from it: {join_some(near)}" if near else "; all others are significantly worse"
    return f"{best} has the lowest average rank, {ranks[best]:.2f}{others * (len(ranks) > 1)}."


def verdict_counts(baseline: str, verdicts: Sequence[str]) -> str:
    """Return a sentence with the number of variants by verdict.

    Args:
        baseline: name of the reference.
        verdicts: verdict of each variant, see :mod:`tokbench.statistics.significance.verdicts`.
    """
    sentences = [f"{IN_WORDS[verdict]}: {number:,}" for verdict, number in sorted(Counter(verdicts).items())]
    return f"{pluralise(len(verdicts), 'tokenizer')} compared with {baseline}. {'; '.join(sentences).capitalize()}."


def shared_tokens(regions: Mapping[str, int], names: Sequence[str]) -> str:
    """Return a sentence on the tokens that three vocabularies share.

    Args:
        regions: tokens of each region, including ``all``, ``only_a``, ``only_b`` and ``only_c``.
        names: names of a, b and c.
    """
    alone = [f"{regions[f'only_{letter}']:,} only in {name}" for letter, name in zip("abc", names, strict=True)]
    return f"{pluralise(regions['all'], 'token')} in all three vocabularies; {join_some(alone)}."
