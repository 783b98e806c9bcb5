"""Whether another library gives the ids of a tokenizer of ours, pre-token by pre-token."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer

TEXTS_AT_ONCE = 1000
"""Pre-tokens that are compared in one batch; all at once would need a kilobyte each."""

MOST_COMPARED = 1_000_000
"""Pre-tokens that are compared at the most, the most frequent: of larger texts the others stand there once or twice."""

Encode = Callable[[list[str]], Iterable[Sequence[int]]]
"""How another library is called: texts in, the ids of each out."""


class Comparison(NamedTuple):
    """What was compared.

    Attributes:
        compared: pre-tokens.
        of: how many there are, where that is more than were compared; else 0.
        differs: the first that has other ids, or None where all have the same.
        left_out: how many were not to be compared.
    """

    compared: int
    of: int
    differs: str | None
    left_out: int = 0

    def __str__(self) -> str:
        """``11724 pre-tokens``, or how many of how many."""
        if not self.of:
            return f"{self.compared} pre-tokens"
        return f"{self.compared:,} of {self.of:,} pre-tokens, the most frequent"


def compare(
    tokenizer: Tokenizer,
    counts: PretokenCounts | None,
    encode: Encode,
    most: int = MOST_COMPARED,
    known: Callable[[str], bool] | None = None,
) -> Comparison:
    """Compare on the pre-tokens that are text, from the most frequent on, up to the first with other ids.

    Args:
        tokenizer: ours.
        counts: the pre-tokens; None compares nothing.
        encode: the other library.
        most: how many are compared at the most.
        known: whether a pre-token is to be compared; None for all.
    """
    seen = left_out = 0
    texts = _texts(counts) if counts is not None else iter(())
    chosen = islice(texts, most)
    while batch := list(islice(chosen, TEXTS_AT_ONCE)):
        seen += len(batch)
        if known is not None:
            left_out += len(batch)
            batch = list(filter(known, batch))
            left_out -= len(batch)
        for ids, text in zip(encode(batch), batch, strict=True):
            if list(ids) != tokenizer.encode(text).tolist():
                return Comparison(seen - left_out, 0, text, left_out)
    more = counts is not None and next(texts, None) is not None
    return Comparison(seen - left_out, len(counts) if more and counts is not None else 0, None, left_out)


def _texts(counts: PretokenCounts) -> Iterator[str]:
    for token, _ in counts.items():
        try:
            yield token.decode()
        except UnicodeDecodeError:
            continue
