"""MinGram-PP: MinGram that prunes in rounds, in PathPiece's order.

Land, "MinGram: A Minimalist Unigram Tokenizer" (2026). Tokens go first whose absence adds the fewest tokens to the
text. A round removes a tenth of the learned tokens, without the 256 bytes.

Reference: :mod:`tokbench.reference.mingram`.
"""

from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.construction import construction
from tokbench.construction.mingram import Estimate, bpe_candidates, most_frequent, reestimated
from tokbench.construction.unigram import PARTS, runs
from tokbench.kernels.mingram import omission_costs
from tokbench.kernels.threads import parallel_sum
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import BYTES, Vocabulary


class MinGramPpOptions(Options):
    overshoot: float = Field(8.0, ge=1)
    """Merges of BPE for each learned token of the vocabulary. Default: 8."""

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
    estimate = bpe_candidates(counts, size, options.overshoot, options.max_token_bytes, threads)
    wanted, share = size - len(BYTES), Fraction(str(options.shrinking_factor))
    while True:
        for _ in range(options.sub_iterations):
            estimate = reestimated(counts, estimate, options.ties, threads)
        learned = estimate.learned
        if learned <= wanted:
            break
        stay = max(wanted, min(-(-learned * share.numerator // share.denominator), learned - 1))
        increases = _increases(counts, estimate, options.ties, threads)
        order = np.lexsort((-np.arange(learned), estimate.occurrences[len(BYTES) :], increases[len(BYTES) :]))
        places = np.sort(order[learned - stay :]) + len(BYTES)
        estimate = estimate.chosen(np.concatenate([np.arange(len(BYTES)), places]))
        if stay == wanted:
            break
    return most_frequent(estimate, size)


def _increases(counts: PretokenCounts, estimate: Estimate, ties: str, threads: int) -> NDArray[np.int64]:
    segmenter = estimate.segmenter(ties, threads)

    def add(edge: tuple[int, int], increases: NDArray[np.int64]) -> None:
        omission_costs(segmenter, counts.data, counts.offsets, counts.counts, *edge, increases)

    return parallel_sum(add, runs(counts.offsets, PARTS), (len(estimate.tokens),), threads)
