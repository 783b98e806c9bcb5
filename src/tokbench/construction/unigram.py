"""Unigram: from many substrings, drop again and again those whose loss would hurt the likelihood of the text least.

Kudo, "Subword Regularization" (2018), section 3.2, on bytes, with the procedure of the trainers of sentencepiece and
Hugging Face ``tokenizers``: seeds are repeated substrings; expectation-maximisation alternates with pruning; the
maximisation is that of a sparse prior (digamma; Liang and Klein, "Structured Bayesian Nonparametric Models with
Variational Inference", 2007); tokens expected less than half a time are dropped.

The rules of ``tokenizers`` are the defaults with ``whole_characters: false`` and ``pruning_loss: tokenizers``. Those of
sentencepiece are ``alphabet: character``, ``seed_counts: occurrences``, ``split_by_unicode_script: true``,
``split_by_whitespace: true`` and ``final_cut: score``, on pre-tokens that are words with the space before them.

Reference: :mod:`tokbench.reference.unigram`.
"""

from itertools import pairwise
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import check_alphabet, check_bytes
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
"""Parts in which pre-tokens are gone through for sums; fixed, so that these are the same for any number of threads."""

FINE_PARTS = 64
"""Parts for what is no sum of rounded numbers: a thread waits less for the last of more parts."""

MIN_EXPECTED = 0.5
"""Tokens expected less often than this are dropped."""

SLACK = 1.1
"""Pruning stops at this many times the size; the rest are cut without another round."""

UNSEEN_PENALTY = 10.0
"""Nats by which a byte without an estimate of its own is less likely than the least likely token."""

DECIMALS = 12
"""To these scores are rounded: ``tokenizers`` reads numbers of more than fifteen digits not always to the last bit,
and with it a tie may fall otherwise."""


class UnigramOptions(SeedOptions):
    shrinking_factor: float = Field(0.75, gt=0, lt=1)
    """Share of the tokens that a round of pruning keeps."""

    sub_iterations: int = Field(2, ge=1)
    """Steps of expectation-maximisation before each round of pruning."""

    pruning_loss: Literal["likelihood", "tokenizers"] = "likelihood"
    """What a token is worth: the likelihood that the text loses without it, as in sentencepiece; or what the trainer of
    ``tokenizers`` takes for that, which makes much of frequent tokens: each replaced occurrence adds as many tokens to
    the text as the vocabulary holds, and all bytes without an estimate are one unknown token."""

    final_cut: Literal["need", "score"] = "need"
    """What decides about the last tenth, which is cut without another round: the loss of the last round, as in
    ``tokenizers``, or the probability, as in sentencepiece."""


def runs(offsets: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """First and last of runs of items of about as many bytes each."""
    cuts = np.searchsorted(offsets, np.linspace(offsets[0], offsets[-1], parts + 1)[1:-1])
    return list(pairwise([0, *cuts.tolist(), len(offsets) - 1]))


def select(pieces: CandidateTokens, chosen: NDArray[np.int64], threads: int = 1) -> CandidateTokens:
    """Those that are always kept and the chosen others, in the order given."""
    chosen = np.concatenate([np.arange(pieces.kept), chosen])
    starts = pieces.offsets[chosen]
    data, offsets = gather(pieces.data, starts, pieces.offsets[chosen + 1] - starts, threads)
    return CandidateTokens(data, offsets, pieces.scores[chosen], pieces.kept)


def with_every_byte(scores: NDArray[np.float64], kept: int = 256) -> NDArray[np.float64]:
    """The scores with a finite one for what is kept and has none: :data:`UNSEEN_PENALTY` below the least."""
    least = np.min(scores, where=np.isfinite(scores), initial=0.0)
    result = scores.copy()
    result[:kept][np.isneginf(scores[:kept])] = least - UNSEEN_PENALTY
    return result


def expect(
    counts: PretokenCounts, trie: Trie, pieces: CandidateTokens, threads: int
) -> tuple[NDArray[np.float64], float]:
    """Expected occurrences of each token, float64 [tokens], and the log-likelihood of the text in nats."""
    scores = with_every_byte(pieces.scores, pieces.kept)
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
    """New scores from expected occurrences; tokens expected too seldom are dropped, and those dropped stay so."""

    def choose(first: int, last: int) -> tuple[NDArray[np.int64], int]:
        kept = np.isfinite(scores[first:last]) & (expected[first:last] >= MIN_EXPECTED)
        chosen = first + np.flatnonzero(kept)
        return chosen, whole_sum(expected[chosen])

    chosen, sums = zip(*over_ranges(choose, len(scores), threads), strict=True)
    result = np.full(len(scores), -np.inf)
    if not (whole := sum(sums)):
        return result
    least = digamma_of(whole / (1 << 1074))

    def fill(kept: NDArray[np.int64]) -> None:
        result[kept] = digamma_of(expected[kept]) - least

    parallel_for(fill, chosen, threads)
    return result


def by_loss(
    counts: PretokenCounts, trie: Trie, pieces: CandidateTokens, options: UnigramOptions, threads: int
) -> NDArray[np.int64]:
    """The tokens beyond the alphabet that are worth keeping, most needed first; ties in their present order."""
    scores = with_every_byte(pieces.scores, pieces.kept)

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
    needed = pieces.kept + np.flatnonzero(loss[pieces.kept :] > -np.inf)
    return needed[descending(loss[needed])]


@construction(
    "unigram", options=UnigramOptions, segmentation="likelihood", gives_initial=True, cites=("kudo2018", "liang2007")
)
def build(counts: PretokenCounts, size: int, options: UnigramOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Prune repeated substrings to the ``size`` tokens that a unigram model needs most, the 256 bytes included.

    Args:
        counts: pre-tokens; no token crosses them.
        size: tokens wanted. Fewer are returned when there are not as many repeated substrings worth keeping.
        options: seeds and pruning.
        seed: not used; nothing is random.
        threads: threads to use; the result does not depend on them.

    Returns:
        The bytes, then the other tokens by descending score, ties in byte order; with scores. Bytes without an
        estimate score :data:`UNSEEN_PENALTY` below the least likely token, so that any text can be segmented.

    Raises:
        TokbenchError: the unique pre-tokens come to 2 GiB or more, or the alphabet is larger than ``size``.
    """
    check_bytes(counts, "unigram")
    pieces = seeds(counts, options, threads)
    if options.alphabet == "character":
        check_alphabet(range(pieces.kept), size, "unigram")
    kept = pieces.kept
    enough = max(int(SLACK * size), kept)
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
        needed = by_loss(counts, trie, pieces, options, threads)[: target - int(estimated[:kept].sum())]
        pieces = select(pieces, needed, threads)
    # By now the order is that of need, which decides what the slack is cut to.
    chosen = kept + np.flatnonzero(estimated[kept:])
    if options.final_cut == "score":
        chosen = chosen[np.argsort(-pieces.scores[chosen], kind="stable")]
    pieces = select(pieces, chosen[: max(size - kept, 0)], threads)
    scores = np.round(with_every_byte(pieces.scores, kept), DECIMALS)
    order = argsort_bytes(pieces.data, pieces.offsets, threads)
    order = order[order >= len(BYTES)]
    order = order[descending(scores[order])]
    tokens = (*BYTES, *cut(pieces.data, pieces.offsets[order], pieces.offsets[order + 1]))
    return Vocabulary(tokens, scores=np.concatenate([scores[: len(BYTES)], scores[order]]))
