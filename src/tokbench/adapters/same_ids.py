"""Comparison of the ids of a tokenizer with those of another library, pre-token by pre-token."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import NamedTuple

from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer

TEXTS_AT_ONCE = 1000
"""Number of pre-tokens in a batch; all at once would need a kilobyte each."""

MOST_COMPARED = 1_000_000
"""Maximum number of pre-tokens to compare, the most frequent ones; in larger texts the others occur once or twice."""

Encode = Callable[[list[str]], Iterable[Sequence[int]]]
"""Signature of another library: from texts to the ids of each."""


class Comparison(NamedTuple):
    """Result of a comparison.

    Attributes:
        compared: number of pre-tokens compared.
        of: number of all pre-tokens if not all were compared, otherwise 0.
        differs: the first pre-token with other ids, None if all ids are equal.
        left_out: number of pre-tokens skipped by ``known``.
    """

    compared: int
    of: int
    differs: str | None
    left_out: int = 0

    def __str__(self) -> str:
        """Return ``11724 pre-tokens``, or the number out of all."""
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
    """Compare ids on the pre-tokens that are text, from the most frequent on, up to the first difference.

    Args:
        tokenizer: our tokenizer.
        counts: the pre-tokens; None compares nothing.
        encode: encode function of the other library.
        most: maximum number of pre-tokens to compare.
        known: whether to compare a pre-token; default: all are compared.
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
        ours, bounds = (array.tolist() for array in tokenizer.encode_flat(batch))
        for ids, (start, end), text in zip(encode(batch), pairwise(bounds), batch, strict=True):
            if list(ids) != ours[start:end]:
                return Comparison(seen - left_out, 0, text, left_out)
    more = counts is not None and next(texts, None) is not None
    return Comparison(seen - left_out, len(counts) if more and counts is not None else 0, None, left_out)


def _texts(counts: PretokenCounts) -> Iterator[str]:
    for token, _ in counts.items():
        try:
            yield token.decode()
        except UnicodeDecodeError:
            continue
