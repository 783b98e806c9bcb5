"""Pairs of variants that are compared.

All ordered pairs of a model and suite are compared if there are few variants. A thousand variants have a million pairs:
nobody reads them, and correcting for them leaves no power. Above a limit each variant is therefore compared only with
its baseline and with the best. P-values are corrected for the tests that are made. The best variant is chosen by the
accuracies that it is tested on, and no correction for these tests allows for that. The baseline is chosen beforehand.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

from tokbench.tabulation import limits

SELECTION = (
    f"only pairs with the corpus baseline or the best variant if there are more than "
    f"{limits.MAX_PAIRWISE_VARIANTS} variants"
)
"""Pairs in the tables of comparisons, in a phrase."""
Pair = tuple[str, str]


def select_pairs(
    variants: Sequence[str], best: str | Mapping[str, str] | None, baselines: Mapping[str, str]
) -> list[Pair]:
    """Return the ordered pairs of variants to compare, for one model and suite.

    These are all pairs, or above :data:`tokbench.tabulation.limits.MAX_PAIRWISE_VARIANTS` variants the pairs of each
    variant with its baseline and with the best, in both orders. If no such pair exists, each variant is paired with the
    first.

    Args:
        variants: variants, in the order of the pairs.
        best: variant of the highest average accuracy, or the best of each variant's group by variant. None if no
            variant has all cells.
        baselines: baseline by variant.
    """
    if len(variants) <= limits.MAX_PAIRWISE_VARIANTS:
        return list(permutations(variants, 2))
    place = {variant: index for index, variant in enumerate(variants)}
    partners: dict[str, set[str]] = {variant: set() for variant in variants}
    for variant in variants:
        first = best.get(variant) if isinstance(best, Mapping) else best
        for reference in (baselines.get(variant), first):
            if reference in place and reference != variant:
                partners[variant].add(reference)
                partners[reference].add(variant)
    if not any(partners.values()):
        lead, *rest = variants
        partners |= {variant: {lead} for variant in rest} | {lead: set(rest)}
    return [(a, b) for a in variants for b in sorted(partners[a], key=place.__getitem__)]


def sorted_pairs(
    variants: Sequence[str], best: str | Mapping[str, str] | None, baselines: Mapping[str, str]
) -> list[Pair]:
    """Return the unordered pairs of :func:`select_pairs`, each in alphabetical order, ascending."""
    return sorted({(min(pair), max(pair)) for pair in unordered_pairs(select_pairs(variants, best, baselines))})


def unordered_pairs(pairs: Sequence[Pair]) -> list[Pair]:
    """Return each unordered pair once, in the order of first occurrence."""
    by_members: dict[frozenset[str], Pair] = {}
    for pair in pairs:
        by_members.setdefault(frozenset(pair), pair)
    return list(by_members.values())
