"""Which variants are compared with which.

Every ordered pair of a model and suite, as long as there are few variants. The pairs of a thousand are a million, which
nobody reads and whose correction leaves no power: above a limit each variant is compared with its baseline and with the
best alone. A p-value is corrected for the tests that are made. The best is chosen by the same accuracies that it is
tested on, which no correction for these tests allows for; the baseline is chosen beforehand.
"""

from collections.abc import Mapping, Sequence
from itertools import permutations

import polars as pl

from tokbench.tidy import many

WHICH = f"of more than {many.EVERY_PAIR_UP_TO} variants those with the baseline of the corpus and with the best alone"
"""What the tables of comparisons hold, in a phrase."""
Pair = tuple[str, str]


def compared(variants: Sequence[str], best: str | Mapping[str, str] | None, baselines: Mapping[str, str]) -> list[Pair]:
    """The ordered pairs to compare, of the variants of one model and suite.

    Above :data:`tokbench.tidy.many.EVERY_PAIR_UP_TO` variants these are the pairs of each variant with its baseline and
    with the best, both ways round. Where neither is among the variants, the first of them stands in.

    Args:
        variants: in the order in which their pairs come.
        best: the variant of the highest average accuracy, or the best of each variant's group by variant; None where
            no variant has all cells.
        baselines: each variant's, the baseline of its corpus.
    """
    if len(variants) <= many.EVERY_PAIR_UP_TO:
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
        lead, *others = variants
        partners |= {other: {lead} for other in others} | {lead: set(others)}
    return [(a, b) for a in variants for b in sorted(partners[a], key=place.__getitem__)]


def best_of(ranks: pl.DataFrame) -> dict[tuple[str, str], str]:
    """The variant of the highest average by model and suite, of equals the first by name.

    Args:
        ranks: columns ``model``, ``suite``, ``variant`` and ``rank``, null where a variant has none.
    """
    first = ranks.filter(rank=1).sort("model", "suite", "variant").unique(["model", "suite"], keep="first")
    return {(model, suite): variant for model, suite, variant in first.select("model", "suite", "variant").iter_rows()}


def of_every_pair(pairs: pl.DataFrame) -> bool:
    """Whether a table of comparisons of one model and suite has every ordered pair of its variants, or they are few."""
    count = pl.concat([pairs["a"], pairs["b"]]).n_unique()
    return count <= many.EVERY_PAIR_UP_TO or pairs.height == count * (count - 1)


def unordered(pairs: Sequence[Pair]) -> list[Pair]:
    """Each two variants once, in the order in which they first come."""
    found: dict[frozenset[str], Pair] = {}
    for pair in pairs:
        found.setdefault(frozenset(pair), pair)
    return list(found.values())
