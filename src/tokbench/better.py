"""Which end of an intrinsic metric is the better one, and what must be equal before two of its values are compared.

Values are compared on one text and at one vocabulary size alone. Of some metrics that is not enough: what they divide
by is made by the tokenizer itself. Fertility in pre-tokens is low where a pre-tokenization cuts few of them, whatever
the vocabulary; a share of the tokens of a text is low where a tokenizer takes many; a gap is above the bound of one
pre-tokenization. Such values are compared where they are over equally many things, their n, and nowhere else. Both are
stated where a family of metrics registers, see :class:`tokbench.metric.Metric`.

Rényi efficiency, token lengths, shares of words and the like have no better end here: whether more of them is better is
what experiments are to find out.
"""

from collections.abc import Sequence

from tokbench.metric import End, Metric, metrics


def better_end(metric: str) -> End | None:
    """``highest`` or ``lowest``; None where neither end is better by itself."""
    return metrics.derived(_ends).get(metric)


def over_the_same(metric: str, definition: str) -> bool:
    """Whether values of one definition of a metric are compared only where their n is equal."""
    return not metrics.derived(_over_the_same).isdisjoint((metric, definition))


def _ends(families: Sequence[Metric]) -> dict[str, End]:
    return {name: end for family in families for name, end in family.better.items()}


def _over_the_same(families: Sequence[Metric]) -> frozenset[str]:
    return frozenset(name for family in families for name in family.over_the_same)
