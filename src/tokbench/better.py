"""Which end of an intrinsic metric is the better one, and what must be equal before two of its values are compared.

Values are compared on one text and at one vocabulary size alone. Of some metrics that is not enough: what they divide
by is made by the tokenizer itself. Fertility in pre-tokens is low where a scheme cuts few of them, whatever the
vocabulary; a gap is above the bound of one pre-tokenization. Such values are compared where they are over equally many
things, their n, and nowhere else.

Rényi efficiency, token lengths, shares of words and the like have no better end here: whether more of them is better is
what experiments are to find out.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Literal

End = Literal["highest", "lowest"]

_ENDS: dict[str, End] = {
    "corpus_token_count": "lowest",
    "relative_corpus_token_count": "lowest",
    "gap": "lowest",
    "bytes_per_token": "highest",
    "fertility": "lowest",
    "byte_fallback": "lowest",
    "unused_tokens": "lowest",
    "unused_token_share": "lowest",
    "tokens_cutting_characters": "lowest",
    "undertrained_tokens": "lowest",
    "partition_cover_ratio": "highest",
    "parity_range": "lowest",
    "morphological_alignment": "highest",
    "morphological_precision": "highest",
    "morphological_recall": "highest",
    "cognitive_plausibility": "highest",
}
_OVER_THE_SAME = {"fertility", "gap", "partition_cover_ratio", "partition_cover_attained"}


def state(better: Mapping[str, End], over_the_same: Iterable[str] = ()) -> None:
    """What a family of metrics says of its measurements; see :func:`tokbench.metric.metric`.

    Args:
        better: the better end, by name of the measurement.
        over_the_same: names of measurements that are compared only where they are over equally many things.
    """
    _ENDS.update(better)
    _OVER_THE_SAME.update(over_the_same)


def better_end(metric: str) -> End | None:
    """``highest`` or ``lowest``; None where neither end is better by itself."""
    if metric not in _ENDS:
        _load_others()
    return _ENDS.get(metric)


def over_the_same(metric: str) -> bool:
    """Whether values are compared only where their n is equal."""
    if metric not in _ENDS:
        _load_others()
    return metric in _OVER_THE_SAME


@cache
def _load_others() -> None:
    """Metrics of other distributions state theirs when they are imported."""
    for entry in sorted(entry_points(group="tokbench.metric"), key=lambda entry: entry.name):
        entry.load()
