"""Which end of an intrinsic metric is the better one, and what must be equal before two of its values are compared.

Values are compared on one text and at one vocabulary size alone. Of some metrics that is not enough: what they divide
by is made by the tokenizer itself. Fertility in pre-tokens is low where a scheme cuts few of them, whatever the
vocabulary; a share of the tokens of a text is low where a tokenizer takes many; a gap is above the bound of one
pre-tokenization. Such values are compared where they are over equally many
things, their n, and nowhere else. Which metrics these are stands with each family of metrics, where it registers.

Rényi efficiency, token lengths, shares of words and the like have no better end here: whether more of them is better is
what experiments are to find out.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Literal

End = Literal["highest", "lowest"]

_ENDS: dict[str, End] = {}
_OVER_THE_SAME: set[str] = set()


def state(better: Mapping[str, End], over_the_same: Iterable[str] = ()) -> None:
    """What a family of metrics says of its measurements; see :func:`tokbench.metric.metric`.

    Args:
        better: the better end, by name of the measurement.
        over_the_same: names of measurements, or definitions of some, that are compared only where they are over equally
            many things.
    """
    _ENDS.update(better)
    _OVER_THE_SAME.update(over_the_same)


def better_end(metric: str) -> End | None:
    """``highest`` or ``lowest``; None where neither end is better by itself."""
    if metric not in _ENDS:
        _load()
    return _ENDS.get(metric)


def over_the_same(metric: str, definition: str) -> bool:
    """Whether values of one definition of a metric are compared only where their n is equal."""
    if metric not in _ENDS:
        _load()
    return metric in _OVER_THE_SAME or definition in _OVER_THE_SAME


@cache
def _load() -> None:
    """Families of metrics state theirs when they are imported, those of other distributions, too."""
    from tokbench.metric import metrics

    metrics.load()
