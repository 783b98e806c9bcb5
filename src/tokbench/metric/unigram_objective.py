"""Unigram objective: log-likelihood of the segmented text under token probabilities from substring counts.

Source: "A partition cover approach to tokenization", appendix B, table 8. The probability of a token is its number of
substring occurrences in the text (overlapping ones included) divided by their sum over the vocabulary. Three
segmentations are measured: the tokenizer's, the most likely one (which Unigram maximizes), and the cover of GreedTok,
which the table uses for all its token sets.
Reference: ``matches`` in :mod:`tokbench.reference.segmentation` counts occurrences of tokens.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.elementary import logs_of
from tokbench.kernels.exact import exact_sum
from tokbench.kernels.matches import count_matches
from tokbench.kernels.trie import Trie
from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement
from tokbench.metric.usage import Usage, token_frequencies
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation import Segmenter
from tokbench.segmentation.cover import cover
from tokbench.segmentation.likelihood import likelihood
from tokbench.vocabulary import Vocabulary

NAME = "unigram_objective"
PROBABILITY = "sum over tokens of the text of ln(substring occurrences / those of the whole vocabulary), nats"
OWN_CUT = "text cut by the tokenizer"
GREATEST, BY_COVER = "each pre-token cut so that its sum is greatest", "text cut by cover in order of ids"
OTHER_CUTS = {GREATEST: likelihood, BY_COVER: cover}


def substring_occurrences(vocabulary: Vocabulary, counts: PretokenCounts) -> NDArray[np.int64]:
    """Count occurrences of each token as a substring of the pre-tokens, overlapping ones included.

    Returns:
        int64 [len(vocabulary)], weighted by the pre-tokens' counts.
    """
    trie = Trie(*vocabulary.flat())
    matches: NDArray[np.int64] = count_matches(
        trie, counts.data, counts.offsets, counts.counts, 0, len(counts), len(vocabulary)
    )
    return matches


@metric(
    NAME,
    cites=("lim2025", "kudo2018"),
    shown=(
        Shown(NAME, "frequency", "unigram objective", OWN_CUT),
        Shown(NAME, "frequency", "unigram objective, cover", BY_COVER),
        Shown(NAME, "frequency", "unigram objective, best cut", GREATEST),
    ),
)
def unigram_objective(usage: Usage, options: object) -> list[Measurement]:
    """Return the sum over the text's tokens of the natural logarithm of their substring probability, in nats."""
    cuts = [
        (f"{PROBABILITY}; {OWN_CUT}", None),
        *((f"{PROBABILITY}; {cut}", method) for cut, method in OTHER_CUTS.items()),
    ]
    reason = None
    if usage.vocabulary.continuation is not None:
        reason = "a token with continuation forms has no single number of substring occurrences"
    elif not usage.total:
        reason = "the text has no tokens"
    if reason is not None:
        return [Measurement(NAME, definition, None, usage.total, reason) for definition, _ in cuts]
    occurrences = substring_occurrences(usage.vocabulary, usage.counts)
    logarithms = np.full(len(occurrences), -np.inf)
    logarithms[occurrences > 0] = logs_of(occurrences[occurrences > 0] / occurrences.sum())
    rows = []
    for definition, method in cuts:
        frequencies = usage.frequencies if method is None else _frequencies(usage, method, logarithms)
        used = frequencies > 0
        value = exact_sum(frequencies[used] * logarithms[used])
        rows.append(Measurement(NAME, definition, value, int(frequencies.sum())))
    return rows


def _frequencies(
    usage: Usage, method: Callable[[Vocabulary, object], Segmenter], logarithms: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Count tokens of the text under another segmentation than the tokenizer's."""
    vocabulary = Vocabulary(usage.vocabulary.tokens, scores=logarithms)
    ids, bounds = method(vocabulary, None).segment(usage.counts.data, usage.counts.offsets)
    return token_frequencies(ids, bounds, usage.counts.counts, len(vocabulary))
