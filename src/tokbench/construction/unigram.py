"""Unigram: repeatedly prune the substrings whose removal hurts the likelihood of the text least.

Kudo, "Subword Regularization" (2018), section 3.2, on bytes, with the procedure of the trainers of sentencepiece and
Hugging Face ``tokenizers``. Seeds are repeated substrings. Expectation-maximisation alternates with pruning. The
maximisation uses a sparse prior (digamma; Liang and Klein, "Structured Bayesian Nonparametric Models with Variational
Inference", 2007). Tokens with an expected count below one half are dropped.

The rules of ``tokenizers`` are the defaults with ``whole_characters: false`` and ``pruning_loss: tokenizers``. Those of
sentencepiece are ``alphabet: character``, ``seed_counts: occurrences``, ``split_by_unicode_script: true``,
``split_by_whitespace: true`` and ``final_cut: score``, on pre-tokens that are words with the preceding space.

Reference: :mod:`tokbench.reference.unigram`.
"""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import check_alphabet, check_bytes
from tokbench.candidates.reserved import ReservedOptions, without_reserved
from tokbench.candidates.seeds import CandidateTokens, SeedOptions, seeds
from tokbench.construction import construction
from tokbench.kernels.elementary import digamma_of, exponentials_of
from tokbench.kernels.flat_arrays import argsort_bytes, gather
from tokbench.kernels.order import descending
from tokbench.kernels.slices import cut
from tokbench.kernels.sums import whole_sum
from tokbench.kernels.threads import over_ranges, parallel_for, parallel_for_with, parallel_map, parallel_sum
from tokbench.kernels.trie import Trie
from tokbench.kernels.unigram import count_best, losses
from tokbench.kernels.unigram import expect as add_expected
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

PARTS = 8
"""Number of parts of the pre-tokens for sums of floats. It is fixed, so that sums do not depend on the number of
threads."""

FINE_PARTS = 64
"""Number of parts for integer sums and for independent results. More parts shorten the wait for the last thread."""

MIN_EXPECTED = 0.5
"""Tokens with a smaller expected count are dropped."""

SLACK = 1.1
"""Pruning stops at this multiple of the size. The rest is cut without another round."""

UNSEEN_PENALTY = 10.0
"""Difference in nats between the least likely token and a byte without an estimate."""

DECIMALS = 12
"""Number of decimals of scores. ``tokenizers`` does not always read numbers of more than fifteen digits exactly, which
could change ties."""


class UnigramOptions(SeedOptions, ReservedOptions):
    shrinking_factor: float = Field(0.75, gt=0, lt=1)
    """Share of the tokens that remain after a round of pruning."""

    sub_iterations: int = Field(2, ge=1)
    """Steps of expectation-maximisation before each round of pruning."""

    pruning_loss: Literal["likelihood", "tokenizers"] = "likelihood"
    """Value of a token. ``likelihood`` (default): the likelihood that the text loses without it, as in sentencepiece.
    ``tokenizers``: the approximation of that library's trainer, which favours frequent tokens. There each replaced
    occurrence adds the size of the vocabulary to the number of tokens of the text, and all bytes without an estimate
    are one unknown token."""

    final_cut: Literal["need", "score"] = "need"
    """Criterion for the last tenth, which is cut without another round. ``need`` (default): the loss of the last round,
    as in ``tokenizers``. ``score``: the probability, as in sentencepiece."""


def runs(offsets: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Return the first and last item of runs with similar numbers of bytes."""
    cuts = np.searchsorted(offsets, np.linspace(offsets[0], offsets[-1], parts + 1)[1:-1])
    return list(pairwise([0, *cuts.tolist(), len(offsets) - 1]))


def select(pieces: CandidateTokens, places: NDArray[np.int64], threads: int = 1) -> CandidateTokens:
    """Return the permanent tokens and the chosen others, in the given order."""
    places = np.concatenate([np.arange(pieces.fixed), places])
    starts = pieces.offsets[places]
    data, offsets = gather(pieces.data, starts, pieces.offsets[places + 1] - starts, threads)
    return CandidateTokens(data, offsets, pieces.scores[places], pieces.fixed)


def with_every_byte(scores: NDArray[np.float64], alphabet_size: int = 256) -> NDArray[np.float64]:
    """Return scores that are finite for every permanent token.

    One without an estimate gets :data:`UNSEEN_PENALTY` below the smallest score.
    """
    least = np.min(scores, where=np.isfinite(scores), initial=0.0)
    result = scores.copy()
    result[:alphabet_size][np.isneginf(scores[:alphabet_size])] = least - UNSEEN_PENALTY
    return result


def expect(
    counts: PretokenCounts, trie: Trie, pieces: CandidateTokens, threads: int
) -> tuple[NDArray[np.float64], float]:
    """Return the expected occurrences of each token, float64 [tokens], and the log-likelihood of the text in nats."""
    scores = with_every_byte(pieces.scores, pieces.fixed)
    probabilities = np.empty(len(scores))

    def fill(first: int, last: int) -> None:
        probabilities[first:last] = exponentials_of(scores[first:last])

    def work(edge: tuple[int, int]) -> tuple[NDArray[np.float64], float]:
        expected = np.zeros(len(scores))
        return expected, add_expected(trie, probabilities, counts.data, counts.offsets, counts.counts, *edge, expected)

    over_ranges(fill, len(scores), threads)
    results = list(parallel_map(work, runs(counts.offsets, PARTS), threads))
    expected, *others = [expected for expected, _ in results]

    def add(first: int, last: int) -> None:
        for other in others:
            expected[first:last] += other[first:last]

    over_ranges(add, len(scores), threads)
    return expected, sum(likelihood for _, likelihood in results)


def maximise(scores: NDArray[np.float64], expected: NDArray[np.float64], threads: int = 1) -> NDArray[np.float64]:
    """Return new scores from expected occurrences. Tokens expected too rarely are dropped and remain so."""

    def choose(first: int, last: int) -> tuple[NDArray[np.int64], int]:
        is_used = np.isfinite(scores[first:last]) & (expected[first:last] >= MIN_EXPECTED)
        places = first + np.flatnonzero(is_used)
        return places, whole_sum(expected[places])

    chosen, sums = zip(*over_ranges(choose, len(scores), threads), strict=True)
    result = np.full(len(scores), -np.inf)
    if not (total := sum(sums)):
        return result
    least = digamma_of(total / (1 << 1074))

    def fill(kept: NDArray[np.int64]) -> None:
        result[kept] = digamma_of(expected[kept]) - least

    parallel_for(fill, chosen, threads)
    return result


def by_loss(
    counts: PretokenCounts, trie: Trie, pieces: CandidateTokens, options: UnigramOptions, threads: int
) -> NDArray[np.int64]:
    """Return the tokens beyond the alphabet that are worth keeping, by descending loss; ties keep their order."""
    scores = with_every_byte(pieces.scores, pieces.fixed)

    def best(edge: tuple[int, int], occurrences: NDArray[np.int64]) -> None:
        count_best(trie, scores, counts.data, counts.offsets, counts.counts, *edge, occurrences)

    occurrences = parallel_sum(best, runs(counts.offsets, FINE_PARTS), (len(scores),), threads)
    total, growth = int(occurrences.sum()), -1
    if options.pruning_loss == "tokenizers":
        unknown = np.isneginf(pieces.scores)
        growth = int(np.count_nonzero(~unknown))
        occurrences[unknown] = occurrences[unknown].sum()
    loss = np.empty(len(scores))

    def lose(edge: tuple[int, int]) -> None:
        losses(trie, scores, occurrences, pieces.data, pieces.offsets, *edge, total, growth, loss)

    parallel_for(lose, runs(pieces.offsets, FINE_PARTS), threads)
    needed = pieces.fixed + np.flatnonzero(loss[pieces.fixed :] > -np.inf)
    return needed[descending(loss[needed])]


@construction(
    "unigram", options=UnigramOptions, segmentation="likelihood", gives_initial=True, cites=("kudo2018", "liang2007")
)
def build(counts: PretokenCounts, size: int, options: UnigramOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Prune repeated substrings to the ``size`` tokens that a unigram model needs most, including the 256 bytes.

    Args:
        counts: pre-tokens. No token crosses their boundaries.
        size: number of tokens wanted. Fewer are returned if there are not enough repeated substrings worth keeping.
        options: seeds and pruning.
        seed: not used; nothing is random.
        threads: number of threads. The result does not depend on it.

    Returns:
        The bytes, then the other tokens by descending score, ties in byte order, with scores. Bytes without an estimate
        score :data:`UNSEEN_PENALTY` below the least likely token, so that any text can be segmented.

    Raises:
        TokbenchError: the unique pre-tokens have 2 GiB or more, or the alphabet is larger than ``size``.
    """
    check_bytes(counts, "unigram")
    counts = without_reserved(counts, options.reserved, "unigram")
    pieces = seeds(counts, options, threads)
    if options.alphabet == "character":
        check_alphabet(range(pieces.fixed), size, "unigram")
    alphabet_size = pieces.fixed
    enough = max(int(SLACK * size), alphabet_size)
    while True:
        trie = Trie(pieces.data, pieces.offsets, share=parallel_for_with(threads))
        for _ in range(options.sub_iterations):
            expected, _ = expect(counts, trie, pieces, threads)
            pieces = pieces._replace(scores=maximise(pieces.scores, expected, threads))
        estimated = np.isfinite(pieces.scores)
        left = int(estimated.sum())
        if left <= enough:
            break
        target = max(enough, int(options.shrinking_factor * left))
        needed = by_loss(counts, trie, pieces, options, threads)[: target - int(estimated[:alphabet_size].sum())]
        pieces = select(pieces, needed, threads)
    # After pruning, tokens are in order of loss, which decides the final cut.
    remaining = alphabet_size + np.flatnonzero(estimated[alphabet_size:])
    if options.final_cut == "score":
        remaining = remaining[np.argsort(-pieces.scores[remaining], kind="stable")]
    pieces = select(pieces, remaining[: max(size - alphabet_size, 0)], threads)
    scores = np.round(with_every_byte(pieces.scores, alphabet_size), DECIMALS)
    order = argsort_bytes(pieces.data, pieces.offsets, threads)
    order = order[order >= len(BYTES)]
    order = order[descending(scores[order])]
    tokens = (*BYTES, *cut(pieces.data, pieces.offsets[order], pieces.offsets[order + 1]))
    return Vocabulary(tokens, scores=np.concatenate([scores[: len(BYTES)], scores[order]]))
