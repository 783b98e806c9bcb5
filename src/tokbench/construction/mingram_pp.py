"""MinGram-PP: MinGram that prunes in rounds, in PathPiece's order.

Land, "MinGram: A Minimalist Unigram Tokenizer" (2026). Tokens go first whose absence adds the fewest tokens to the
text. A round removes a tenth of the learned tokens, without the 256 bytes.

Reference: :mod:`tokbench.reference.mingram`.
"""

import logging
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import check_size
from tokbench.construction import bpe, construction
from tokbench.construction.mingram import Estimate, bpe_candidates, most_frequent, reestimate, used_by_bpe
from tokbench.construction.unigram import PARTS, runs
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.kernels.mingram import omission_costs
from tokbench.kernels.threads import parallel_sum
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary

log = logging.getLogger(__name__)
OVERSHOOT = 8
"""The paper's."""


class MinGramPpOptions(Options):
    overshoot: float | None = Field(None, ge=1)
    """Merges of BPE for each learned token of the vocabulary. Default: 8, the paper's, or fewer if these are more than
    half of all merges of the text: that half, and at least 1."""

    sub_iterations: int = Field(2, ge=0)
    """Steps of expectation-maximisation before each round of pruning."""

    shrinking_factor: float = Field(0.9, gt=0, lt=1)
    """Share of the learned tokens that a round keeps, rounded up."""

    ties: Literal["leading", "trailing"] = "leading"
    """Choice among equally likely segmentations: the shorter last token (``leading``, default), or the longer one
    (``trailing``). See the segmentation ``likeliest_shortest_path``."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit."""


@construction(
    "mingram_pp", options=MinGramPpOptions, segmentation="likeliest_shortest_path", cites=("land2026", "schmidt2024")
)
def build(
    counts: PretokenCounts, size: int, options: MinGramPpOptions, *, seed: int = 0, threads: int = 1
) -> Vocabulary:
    """Prune a BPE vocabulary of ``overshoot`` times the learned tokens in rounds.

    Each round estimates probabilities and removes tokens in order of (increase, probability, later merge first). The
    increase is the number of tokens that the text gains without the token.

    Args:
        counts: pre-tokens. No token crosses their boundaries.
        size: number of tokens wanted, including the 256 bytes. Fewer are returned if fewer remain in use.
        options: overshoot, steps of estimation, and pruning.
        seed: not used; nothing is random.
        threads: number of threads. The result does not depend on it.

    Returns:
        The bytes, then the other tokens by descending frequency, ties in the order in which BPE made them. Scores are
        multiples of 1/512 nat; a byte that does not occur scores -100.

    Raises:
        TokbenchError: ``size`` is below 256, or the unique pre-tokens have 2 GiB or more.
    """
    estimate = used_by_bpe(counts, _candidates(counts, size, options), threads)
    limit, share = size - len(BYTES), Fraction(str(options.shrinking_factor))
    while True:
        for _ in range(options.sub_iterations):
            estimate = reestimate(counts, estimate, options.ties, threads)
        learned = estimate.learned_count
        if learned <= limit:
            break
        stay = max(limit, min(-(-learned * share.numerator // share.denominator), learned - 1))
        increases = _increases(counts, estimate, options.ties, threads)
        order = np.lexsort((-np.arange(learned), estimate.occurrences[len(BYTES) :], increases[len(BYTES) :]))
        places = np.sort(order[learned - stay :]) + len(BYTES)
        estimate = estimate.select(np.concatenate([np.arange(len(BYTES)), places]))
        if stay == limit:
            break
    return most_frequent(estimate, size)


def _candidates(counts: PretokenCounts, size: int, options: MinGramPpOptions) -> Vocabulary:
    """Return the tokens of BPE from which rounds of pruning choose.

    The paper's texts have many more merges than eight for each token. With all merges of a text, each pre-token is one
    token, and the first step of estimation drops all others.
    """
    if options.overshoot is not None:
        return bpe_candidates(counts, size, options.overshoot, options.max_token_bytes, "mingram_pp")
    check_size(size)
    limit = size - len(BYTES)
    most = min(size + (2 * OVERSHOOT - 1) * limit, LARGEST_VOCABULARY)
    candidates = bpe.build(counts, most, bpe.BpeOptions(max_token_bytes=options.max_token_bytes))
    assert candidates.merges is not None
    learnt = len(candidates.merges)
    merges = min(OVERSHOOT * limit, max(learnt // 2, min(limit, learnt)))
    if merges < OVERSHOOT * limit:
        log.warning(
            f"mingram_pp: the text has {learnt:,} merges, too few for an overshoot of {OVERSHOOT}; "
            f"{merges:,} are used, an overshoot of {merges / limit:.3g}"
        )
    return Vocabulary(candidates.tokens[: len(BYTES) + merges], merges=candidates.merges[:merges])


def _increases(counts: PretokenCounts, estimate: Estimate, ties: str, threads: int) -> NDArray[np.int64]:
    segmenter = estimate.segmenter(ties, threads)

    def add(edge: tuple[int, int], increases: NDArray[np.int64]) -> None:
        omission_costs(segmenter, counts.data, counts.offsets, counts.counts, *edge, increases)

    return parallel_sum(add, runs(counts.offsets, PARTS), (len(estimate.tokens),), threads)
