"""Unigram objective: log-likelihood of the segmented text under token probabilities counted from its substrings.

Source: "A partition cover approach to tokenization", appendix B, table 8. The probability of a token is its number of
substring occurrences in the text, overlapping ones included, over the same number summed over the vocabulary.
"""

import numpy as np
from numpy.typing import NDArray

from tokbench.intrinsic import metric
from tokbench.intrinsic.measurement import Measurement
from tokbench.intrinsic.usage import Usage
from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options
from tokbench.tokens import Vocabulary

BLOCK = 1 << 22
"""Bytes of pre-tokens that are searched at a time."""

Level = tuple[NDArray[np.int64], NDArray[np.int64]]


def _levels(vocabulary: Vocabulary) -> list[Level]:
    """The trie of the tokens, level by level.

    A level holds its edges, sorted, as (node of the level above) * 256 + byte, and per edge the token that ends
    there, or -1. The nodes of a level are numbered by their edges' places; the root is node 0.
    """
    above: dict[bytes, int] = {b"": 0}
    longest = max(map(len, vocabulary.tokens))
    ids = {token: index for index, token in enumerate(vocabulary.tokens)}
    levels = []
    for width in range(1, longest + 1):
        prefixes = {token[:width] for token in vocabulary.tokens if len(token) >= width}
        keyed = sorted((above[prefix[:-1]] * 256 + prefix[-1], prefix) for prefix in prefixes)
        above = {prefix: node for node, (_, prefix) in enumerate(keyed)}
        edges = np.array([key for key, _ in keyed], np.int64)
        levels.append((edges, np.array([ids.get(prefix, -1) for _, prefix in keyed], np.int64)))
    return levels


def substring_occurrences(vocabulary: Vocabulary, counts: PretokenCounts) -> NDArray[np.int64]:
    """Occurrences of each token as a substring of the pre-tokens, overlapping ones included.

    All positions walk down the trie of the tokens together, one byte a step, until no token goes on or the
    pre-token ends.

    Returns:
        int64 [len(vocabulary)], weighted by the pre-tokens' counts.
    """
    occurrences = np.zeros(len(vocabulary), np.int64)
    levels = _levels(vocabulary)
    first = 0
    while first < len(counts):
        last = max(first + 1, int(np.searchsorted(counts.offsets, counts.offsets[first] + BLOCK, "right")) - 1)
        offsets = counts.offsets[first : last + 1]
        lengths = np.diff(offsets)
        positions = np.arange(offsets[0], offsets[-1])
        ends = np.repeat(offsets[1:], lengths)
        weights = np.repeat(counts.counts[first:last], lengths)
        nodes = np.zeros(len(positions), np.int64)
        for width, (edges, tokens) in enumerate(levels):
            keys = nodes * 256 + counts.data[positions + width]
            nodes = np.minimum(np.searchsorted(edges, keys), len(edges) - 1)
            found = edges[nodes] == keys
            ended = found & (tokens[nodes] >= 0)
            np.add.at(occurrences, tokens[nodes[ended]], weights[ended])
            alive = found & (positions + width + 1 < ends)
            positions, ends, weights, nodes = positions[alive], ends[alive], weights[alive], nodes[alive]
        first = last
    return occurrences


@metric("unigram_objective")
def unigram_objective(usage: Usage, options: Options) -> list[Measurement]:
    """Sum over the tokens of the text of the natural logarithm of their substring probability, in nats."""
    name = "unigram_objective"
    definition = "sum over tokens of the text of ln(substring occurrences / those of the whole vocabulary), nats"
    if usage.vocabulary.continuation is not None:
        reason = "a token with continuation forms has no single number of substring occurrences"
        return [Measurement(name, definition, None, usage.total, reason)]
    used = usage.frequencies > 0
    if not used.any():
        return [Measurement(name, definition, None, 0, "the text has no tokens")]
    occurrences = substring_occurrences(usage.vocabulary, usage.counts)
    logarithms = np.log(occurrences[used] / occurrences.sum())
    return [Measurement(name, definition, float((usage.frequencies[used] * logarithms).sum()), usage.total)]
