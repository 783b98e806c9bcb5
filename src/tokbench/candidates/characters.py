"""Characters as an alphabet: which of them a text is worth, and the merges of bytes that make them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.greedy import GreedySegmenter
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary


def count_characters(counts: PretokenCounts) -> Counter[str]:
    """How often each character occurs, whatever its width; bytes that are not UTF-8 are none."""
    found: Counter[str] = Counter()
    for pretoken, count in counts.items():
        for character in pretoken.decode(errors="ignore"):
            found[character] += count
    return found


def covering_characters(counts: PretokenCounts, coverage: float) -> list[bytes]:
    """The most frequent characters of two bytes or more, just enough that a share of all occurrences is covered.

    Characters of one byte are covered by the bytes and count towards the share. Order: count descending, then bytes.
    """
    found = count_characters(counts)
    total = sum(found.values())
    covered = sum(count for character, count in found.items() if ord(character) < 128)
    wide = [(character.encode(), count) for character, count in found.items() if ord(character) >= 128]
    chosen = []
    for character, count in sorted(wide, key=lambda item: (-item[1], item[0])):
        if covered >= coverage * total:
            break
        chosen.append(character)
        covered += count
    return chosen


def frequent_characters(counts: PretokenCounts, coverage: float) -> list[bytes]:
    """The most frequent characters of any width, just enough to cover a share of all occurrences, as in sentencepiece.

    Order: count descending, then bytes.
    """
    found = count_characters(counts)
    total = sum(found.values())
    covered = 0
    chosen = []
    for character, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        if covered >= coverage * total:
            break
        chosen.append(character.encode())
        covered += count
    return chosen


def character_merges(counts: PretokenCounts, coverage: float) -> tuple[list[bytes], NDArray[np.int32]]:
    """The 256 bytes, then what merging from the left needs to make each character, the character last.

    Returns:
        The tokens, and int32 [tokens - 256, 2], the two ids from which each token beyond the bytes is made.
    """
    tokens = list(BYTES)
    ids = {token: index for index, token in enumerate(tokens)}
    merges = []
    for character in covering_characters(counts, coverage):
        for end in range(2, len(character) + 1):
            part = character[:end]
            if part not in ids:
                merges.append((ids[part[:-1]], part[-1]))
                ids[part] = len(tokens)
                tokens.append(part)
    return tokens, np.array(merges, np.int32).reshape(-1, 2)


def cut_by_longest_match(
    counts: PretokenCounts, tokens: Sequence[bytes], continuation: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Pre-tokens in tokens, the longest from the left each time.

    Args:
        counts: the pre-tokens.
        tokens: each of the 256 bytes among them.
        continuation: bool [tokens], True for those that match inside a pre-token only, False for those that match at
            its start only; None where all match anywhere.

    Returns:
        int32 [n] ids end to end; int64 [pre-tokens + 1], where each pre-token starts.
    """
    data, offsets = Vocabulary(tuple(tokens), continuation=continuation).flat()
    if continuation is None:
        trie = Trie(data, offsets)
        segmenter = GreedySegmenter(trie, trie)
    else:
        segmenter = GreedySegmenter(Trie(data, offsets, ~continuation), Trie(data, offsets, continuation))
    ids, bounds = segmenter.segment(counts.data, counts.offsets)
    return ids, bounds
