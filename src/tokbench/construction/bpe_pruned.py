"""Pruned BPE: drop the least used leaves of an existing tokenizer, so that all remaining merges still apply.

Purason, Chizhov, Yamshchikov and Fishel, "Teaching Old Tokenizers New Words: Efficient Tokenizer Adaptation for
Pre-trained Models" (2025), section 4, leaf-based pruning by frequency. A leaf is a token that is no part of another
token that is kept. :mod:`tokbench.construction.bpe_trimmed` also drops tokens that others need, and splits them
afterwards.

Reference: ``prune`` in :mod:`tokbench.reference.bpe`.
"""

import heapq

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import check_bytes, check_size
from tokbench.construction import bpe, construction
from tokbench.construction.bpe_continued import ParentOptions, read_parent
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.kernels.merge import MergeSegmenter
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation.merge import replay_merges
from tokbench.vocabulary import BYTES, Vocabulary


class BpePrunedOptions(ParentOptions):
    """Without ``tokenizer``, a BPE vocabulary of the counts is pruned."""

    initial_size: int | None = Field(None, ge=256, le=LARGEST_VOCABULARY)
    """Without ``tokenizer``: size of the BPE vocabulary that is pruned. Default: twice the size."""


@construction("bpe_pruned", options=BpePrunedOptions, segmentation="merge", cites=("purason2025",))
def build(
    counts: PretokenCounts, size: int, options: BpePrunedOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Drop the least used leaf until ``size`` tokens remain. The 256 bytes are never dropped.

    Uses are counted in the pre-tokens as the existing merges split them. The uses of a dropped token become uses of its
    two parts. Of equally used leaves the one with the latest merge is dropped first, and before it those without a
    merge, the last one first.

    Args:
        counts: pre-tokens to count uses in.
        size: number of tokens wanted, including the 256 bytes. If the tokenizer has no more, nothing changes.
        options: existing tokenizer.
        seed: not used; nothing is random.
        threads: not used; counting is single-threaded.

    Returns:
        The 256 bytes, then the remaining tokens in their order, with their merges. Ids are new.

    Raises:
        TokbenchError: ``size`` is below 256, the tokenizer cannot be read or has no merges, or the unique pre-tokens
            have 2 GiB or more.
    """
    check_size(size)
    check_bytes(counts, "bpe_pruned")
    if options.tokenizer is None:
        initial_size = max(size, options.initial_size or min(2 * size, LARGEST_VOCABULARY))
        parent = bpe.build(counts, initial_size, bpe.BpeOptions())
    else:
        parent = read_parent(options.tokenizer)
    dropped = leaves_to_drop(parent, count_uses(parent, counts), len(parent) - size)
    return remove_tokens(parent, dropped)


def count_uses(vocabulary: Vocabulary, counts: PretokenCounts) -> NDArray[np.int64]:
    """Return how often each token occurs in the pre-tokens as its merges split them, int64 [tokens]."""
    ids, bounds = MergeSegmenter(*replay_merges(vocabulary, "merge")).segment(counts.data, counts.offsets)
    uses = np.zeros(len(vocabulary), np.int64)
    np.add.at(uses, ids, np.repeat(counts.counts, np.diff(bounds)))
    return uses


def leaves_to_drop(vocabulary: Vocabulary, uses: NDArray[np.int64], number: int) -> set[int]:
    """Return the indices of up to ``number`` tokens, chosen one by one as :func:`build` describes."""
    assert vocabulary.merges is not None
    merges = vocabulary.merges.tolist()
    parts: dict[int, tuple[int, int]] = {}
    rank: dict[int, int] = {}
    pairs_by_result: dict[int, list[tuple[int, int]]] = {}
    needed = [0] * len(vocabulary)
    for place, (left, right, result) in enumerate(merges):
        parts.setdefault(result, (left, right))
        rank.setdefault(result, place)
        pairs_by_result.setdefault(result, []).append((left, right))
        needed[left] += 1
        needed[right] += 1
    counted = uses.tolist()

    def entry(token: int) -> tuple[int, int, int]:
        return counted[token], -rank.get(token, len(merges) + token), token

    # Leaves in order of their uses; the parts of a dropped leaf gain its uses, and may become leaves.
    single = {index for index, token in enumerate(vocabulary.tokens) if len(token) == 1}
    queue = [entry(token) for token in range(len(vocabulary)) if not needed[token] and token not in single]
    heapq.heapify(queue)
    dropped: set[int] = set()
    while queue and len(dropped) < number:
        times, _, token = heapq.heappop(queue)
        dropped.add(token)
        for part in parts.get(token, ()):
            counted[part] += times
        for part in [part for pair in pairs_by_result.get(token, ()) for part in pair]:
            needed[part] -= 1
            if not needed[part] and part not in single:
                heapq.heappush(queue, entry(part))
    return dropped


def remove_tokens(vocabulary: Vocabulary, dropped: set[int]) -> Vocabulary:
    """Return the vocabulary without some tokens and the merges that make them: the bytes first, then the others."""
    assert vocabulary.merges is not None
    place = {token: index for index, token in enumerate(vocabulary.tokens)}
    remaining = [place[byte] for byte in BYTES]
    remaining += [index for index, token in enumerate(vocabulary.tokens) if len(token) > 1 and index not in dropped]
    index_of = np.full(len(vocabulary), -1, np.int32)
    index_of[remaining] = np.arange(len(remaining), dtype=np.int32)
    merges = index_of[vocabulary.merges]
    return Vocabulary(tuple(vocabulary.tokens[index] for index in remaining), merges=merges[merges[:, 2] >= 0])
