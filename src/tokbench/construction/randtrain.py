"""RandTrain: a weighted random sample of a large vocabulary, the baseline of top-down constructions.

"Tokenization Is More Than Compression", appendix F. Tokens are drawn without replacement, weighted by their counts,
with algorithm A-ES (Efraimidis, "Weighted Random Sampling over Data Streams", 2010): each token draws u, uniform
between 0 and 1, and the tokens with the greatest u^(1/p) are chosen.

Reference: ``matches`` in :mod:`tokbench.reference.segmentation`, for the weights of n-grams.
"""

import hashlib
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import PAPER_INITIAL_SIZE, check_size, fitting_tokens
from tokbench.construction import InitialName, construction, constructions
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.kernels.elementary import logs_of
from tokbench.kernels.matches import count_matches
from tokbench.kernels.threads import parallel_map
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

PARTS = 16


class RandTrainOptions(Options):
    initial: InitialName = "ngram"
    """Construction of the vocabulary to draw from, or a mapping with its ``method`` and options. The weight of an
    n-gram is its count in the text, including overlapping occurrences. The weight of other tokens is their count after
    segmentation by the initial vocabulary's default method."""
    initial_size: int = Field(PAPER_INITIAL_SIZE, ge=256, le=LARGEST_VOCABULARY)
    """Size of the vocabulary to draw from, before tokens that are too long are removed."""
    max_token_bytes: int = Field(16, ge=2)
    """Longest token, in bytes. Longer tokens of the initial vocabulary are removed."""


@construction(
    "randtrain", options=RandTrainOptions, segmentation="greedy", initial=True, cites=("schmidt2024", "efraimidis2010")
)
def build(
    counts: PretokenCounts,
    size: int,
    options: RandTrainOptions,
    *,
    seed: int = 0,
    threads: int = 1,
    initial: Vocabulary,
) -> Vocabulary:
    """Draw ``size`` tokens of ``initial``: always the 256 bytes, then the others in their initial order.

    The draw of a token depends only on the seed and its bytes. With one seed a smaller vocabulary is therefore part of
    a larger one. Tokens with a count of 0 come last, in their initial order.

    Raises:
        TokbenchError: ``size`` is below 256.
    """
    check_size(size)
    tokens = fitting_tokens(initial, options.max_token_bytes)[len(BYTES) :]
    weight_of = dict(zip(initial.tokens, weights(counts, initial, options.initial, threads).tolist(), strict=True))
    keys = sampling_keys(tokens, np.array([weight_of[token] for token in tokens], np.float64), seed)
    sample = np.sort(np.argsort(-keys, kind="stable")[: size - len(BYTES)])
    return Vocabulary(BYTES + tuple(tokens[index] for index in sample.tolist()))


def sampling_keys(tokens: tuple[bytes, ...], weights: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    """Return ln(u) / weight of each token, float64 [tokens]; minus infinity for a weight of 0.

    u is (h + 1/2) / 2^64, where h is the keyed BLAKE2b hash of the token's bytes. Normalising the weights would not
    change the order.
    """
    key = hashlib.blake2b(str(seed).encode(), digest_size=32).digest()
    hashes = b"".join(hashlib.blake2b(token, digest_size=8, key=key).digest() for token in tokens)
    uniform = (np.frombuffer(hashes, "<u8").astype(np.float64) + 0.5) / 2.0**64
    with np.errstate(divide="ignore"):
        return np.where(weights > 0, logs_of(np.minimum(uniform, 1 - 2.0**-53)) / weights, -np.inf)


def weights(counts: PretokenCounts, initial: Vocabulary, method: str, threads: int) -> NDArray[np.int64]:
    """Count each token of the initial vocabulary in the text, int64 [tokens]; see :class:`RandTrainOptions`."""
    if method == "ngram":
        trie = Trie(*initial.flat())
        cuts = np.searchsorted(counts.offsets, np.linspace(0, counts.offsets[-1], PARTS + 1)).tolist()

        def part(edge: tuple[int, int]) -> NDArray[np.int64]:
            return count_matches(trie, counts.data, counts.offsets, counts.counts, *edge, len(initial))

        return np.sum(list(parallel_map(part, pairwise(cuts), threads)), axis=0)
    cut = constructions[method].own_segmentation(getattr(method, "options", None))
    ids, bounds = cut.function(initial, cut.options()).segment(counts.data, counts.offsets)
    total = np.zeros(len(initial), np.int64)
    np.add.at(total, ids, np.repeat(counts.counts, np.diff(bounds)))
    return total
