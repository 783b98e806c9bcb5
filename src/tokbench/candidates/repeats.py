"""Repeated substrings of pre-tokens, found by several threads."""

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.suffix import Suffixes
from tokbench.parallel import share
from tokbench.pretokens import PretokenCounts

PART_BYTES = 1 << 16
"""Bytes of pre-tokens that are worth a part of their own."""
MOST_PARTS = 16


def repeats(
    counts: PretokenCounts,
    max_length: int,
    *,
    whole_characters: bool = False,
    by_occurrence: bool = False,
    distinct_ends: bool = False,
    threads: int = 1,
) -> NDArray[np.int64]:
    """Substrings that occur repeatedly and could not be longer: some two occurrences are followed differently.

    By type, a substring counts once for each place in the unique pre-tokens, as for ``tokenizers``; by occurrence, a
    place counts as often as its pre-token, as for sentencepiece. In the suffix arrays of both, all ends of pre-tokens
    are one way to go on. With distinct ends each is a way of its own, so that pre-tokens which occur twice are found
    too.

    Args:
        counts: the pre-tokens, of fewer than 2**31 bytes.
        max_length: longest substring, in characters.
        whole_characters: characters are those of UTF-8, where a byte that is out of place is one of its own; else
            every byte is a character.
        by_occurrence: count by occurrence rather than by type.
        distinct_ends: every end of a pre-token is a way of its own to go on.
        threads: threads to use; the result does not depend on them.

    Returns:
        int64 [m, 4] in order of the substrings' bytes: start and end of an occurrence in ``counts.data``, characters,
        count. Substrings of one character are all there, always counted by occurrence.

    Raises:
        ValueError: the text is too long.
    """
    parts = min(MOST_PARTS, 1 + len(counts.data) // PART_BYTES)
    edges = np.searchsorted(counts.offsets, np.linspace(0, len(counts.data), parts + 1))
    edges[0], edges[-1] = 0, len(counts)
    suffixes = Suffixes(
        counts.data, counts.offsets, counts.counts, edges, max_length, whole_characters, by_occurrence, distinct_ends
    )
    share(suffixes.tally, range(parts), threads)
    suffixes.place()
    share(suffixes.put, range(parts), threads)
    share(suffixes.search, range(suffixes.divide()), threads)
    return suffixes.found()
