"""The rules by which pairs are left out of training, each pair counted under the first that it breaks."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.parallel.read import Pair
from tokbench.corpus.parallel.sources import Cleaning

RULES = {
    "not_utf8": "a side is not UTF-8",
    "empty": "a side is missing or empty",
    "too_long": "a side has more than max_characters",
    "ratio": "the longer side has more than max_ratio times the characters of the shorter",
    "held_out": "the pair stands in the development split or in a test, too",
    "duplicate": "the pair stands earlier in the training split",
}
"""In the order in which they are asked."""
DIGEST = 16
"""Bytes of a digest."""


def digest(pair: Pair) -> bytes:
    """What equal pairs share, and no others do, but by a chance that nobody meets (128 bits of BLAKE2b)."""
    first, second = pair
    return hashlib.blake2b(len(first).to_bytes(8) + first + second, digest_size=DIGEST).digest()


def broken_rule(pair: Pair, options: Cleaning) -> str | None:
    """The first rule that a pair breaks by itself; None for a good one."""
    try:
        lengths = [len(side.decode()) for side in pair]
    except UnicodeDecodeError:
        return "not_utf8"
    if not min(lengths):
        return "empty"
    if max(lengths) > options.max_characters:
        return "too_long"
    if options.max_ratio is not None and max(lengths) > options.max_ratio * min(lengths):
        return "ratio"
    return None


def cleaned(
    pairs: Iterable[Pair],
    options: Cleaning,
    held: AbstractSet[bytes],
    again: NDArray[np.bool_] | None,
    counts: Counter[str],
) -> Iterator[tuple[int, Pair]]:
    """The pairs that break no rule, each with its number from 0.

    Args:
        pairs: as they are read.
        options: of the rules.
        held: digests of the pairs of other splits.
        again: bool [pairs], which of them stand earlier, too (:func:`tokbench.corpus.parallel.again.repeated`); None
            where these are kept.
        counts: gets ``read``, and how many were left out by each rule.
    """
    for number, pair in enumerate(pairs):
        counts["read"] += 1
        rule = broken_rule(pair, options)
        if rule is None and held and digest(pair) in held:
            rule = "held_out"
        if rule is None and again is not None and again[number]:
            rule = "duplicate"
        if rule is None:
            yield number, pair
        else:
            counts[rule] += 1
