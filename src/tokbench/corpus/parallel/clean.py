"""The rules by which pairs are left out of training, each pair counted under the first that it breaks."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator

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


def digest(pair: Pair) -> bytes:
    """What equal pairs share, and no others do, but by a chance that nobody meets (128 bits of BLAKE2b)."""
    first, second = pair
    return hashlib.blake2b(len(first).to_bytes(8) + first + second, digest_size=16).digest()


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
    pairs: Iterable[Pair], options: Cleaning, held: frozenset[bytes], counts: Counter[str]
) -> Iterator[tuple[int, Pair]]:
    """The pairs that break no rule, each with its number from 0.

    Args:
        pairs: as they are read.
        options: of the rules.
        held: digests of the pairs of other splits.
        counts: gets ``read``, and how many were left out by each rule.
    """
    seen: set[bytes] = set()
    for number, pair in enumerate(pairs):
        counts["read"] += 1
        rule = broken_rule(pair, options)
        if rule is None:
            own = digest(pair)
            if own in held:
                rule = "held_out"
            elif own in seen:
                rule = "duplicate"
            elif options.drop_duplicates:
                seen.add(own)
        if rule is None:
            yield number, pair
        else:
            counts[rule] += 1
