"""MinGram: the tokens of a larger BPE vocabulary that remain in use if the text is split into the fewest tokens.

Land, "MinGram: A Minimalist Unigram Tokenizer" (2026). BPE with more merges than needed provides the candidates. Steps
of expectation-maximisation split the text into the fewest tokens, ties by likelihood, estimate the probability of each
token, and drop unused ones. MinGram cuts once, to the most frequent tokens. MinGram-PP prunes in rounds; see
:mod:`tokbench.construction.mingram_pp`.

Reference: :mod:`tokbench.reference.mingram`.
"""

import logging
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.candidates.initial import check_size
from tokbench.construction import bpe, construction
from tokbench.construction.unigram import PARTS, runs
from tokbench.io.numbers import LARGEST_VOCABULARY
from tokbench.kernels.elementary import logs_of
from tokbench.kernels.merge import MergeSegmenter
from tokbench.kernels.mingram import MinGramSegmenter, add_occurrences
from tokbench.kernels.segmenter import PretokenSegmenter
from tokbench.kernels.threads import parallel_for_with, parallel_sum
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.pretokens import PretokenCounts
from tokbench.segmentation.merge import joined_bytes
from tokbench.vocabulary import BYTES, UNITS, Vocabulary

log = logging.getLogger(__name__)
UNSEEN = -100 * UNITS
"""Score of a byte that does not occur, in units."""


class MinGramOptions(Options):
    overshoot: float = Field(1.15, ge=1)
    """Merges of BPE for each learned token of the vocabulary. Default: 1.15, the paper's."""

    sub_iterations: int = Field(2, ge=0)
    """Steps of expectation-maximisation."""

    ties: Literal["leading", "trailing"] = "leading"
    """Choice among equally likely segmentations: the shorter last token (``leading``, default), or the longer one
    (``trailing``). See the segmentation ``likeliest_shortest_path``."""

    max_token_bytes: int | None = Field(None, ge=2)
    """Longest token, in bytes. Default: no limit."""


@dataclass(frozen=True, eq=False)
class Estimate:
    """Tokens with their occurrences: the 256 bytes, then others in the order in which BPE made them.

    Attributes:
        tokens: the bytes of each token.
        occurrences: int64 [tokens].
        total: occurrences of all tokens of the estimate, including those cut since.
    """

    tokens: tuple[bytes, ...]
    occurrences: NDArray[np.int64]
    total: int

    @property
    def learned_count(self) -> int:
        """Number of tokens in addition to the 256 bytes."""
        return len(self.tokens) - len(BYTES)

    def units(self) -> NDArray[np.int64]:
        """Return scores in units of 1/512 nat, int64 [tokens]."""
        scores = np.full(len(self.tokens), UNSEEN)
        seen = self.occurrences > 0
        scores[seen] = np.rint(UNITS * logs_of(self.occurrences[seen] / self.total)).astype(np.int64)
        return scores

    def select(self, places: NDArray[np.int64]) -> "Estimate":
        """Return the tokens at some places, in the order of these."""
        return Estimate(tuple(self.tokens[place] for place in places.tolist()), self.occurrences[places], self.total)

    def segmenter(self, ties: str, threads: int) -> MinGramSegmenter:
        data, offsets = Vocabulary(self.tokens).flat()
        trie = Trie(data, offsets, backwards=True, share=parallel_for_with(threads))
        return MinGramSegmenter(trie, -self.units(), ties == "leading")


@construction("mingram", options=MinGramOptions, segmentation="likeliest_shortest_path", cites=("land2026",))
def build(counts: PretokenCounts, size: int, options: MinGramOptions, *, seed: int = 0, threads: int = 1) -> Vocabulary:
    """Cut a BPE vocabulary of ``overshoot`` times the learned tokens to the most frequent ones.

    Args:
        counts: pre-tokens. No token crosses their boundaries.
        size: number of tokens wanted, including the 256 bytes. Fewer are returned if fewer remain in use.
        options: overshoot and steps of estimation.
        seed: not used; nothing is random.
        threads: number of threads. The result does not depend on it.

    Returns:
        The bytes, then the other tokens by descending frequency, ties in the order in which BPE made them. Scores are
        multiples of 1/512 nat; a byte that does not occur scores -100.

    Raises:
        TokbenchError: ``size`` is below 256, or the unique pre-tokens have 2 GiB or more.
    """
    candidates = bpe_candidates(counts, size, options.overshoot, options.max_token_bytes, "mingram")
    estimate = used_by_bpe(counts, candidates, threads)
    for _ in range(options.sub_iterations):
        estimate = reestimate(counts, estimate, options.ties, threads)
    return most_frequent(estimate, size)


def bpe_candidates(
    counts: PretokenCounts, size: int, overshoot: float, max_token_bytes: int | None, method: str
) -> Vocabulary:
    """Return the tokens of BPE with ``overshoot`` merges for each learned token of a vocabulary of ``size``.

    If the text has fewer merges, each pre-token becomes one token, and the first step of estimation drops all others. A
    warning, which names ``method``, then gives their number.

    Raises:
        TokbenchError: ``size`` is below 256, or the unique pre-tokens have 2 GiB or more.
    """
    check_size(size)
    merges = int(overshoot * (size - len(BYTES)))
    candidates = bpe.build(
        counts,
        min(len(BYTES) + merges, LARGEST_VOCABULARY),
        bpe.BpeOptions(max_token_bytes=max_token_bytes),
    )
    learnt = len(candidates) - len(BYTES)
    if learnt < merges:
        log.warning(
            f"{method}: the text has {learnt:,} of the {merges:,} merges of overshoot {overshoot:g}; use more text, a "
            "smaller overshoot or a smaller size"
        )
    return candidates


def used_by_bpe(counts: PretokenCounts, candidates: Vocabulary, threads: int) -> Estimate:
    """Return the tokens of BPE with their occurrences in its own segmentation, at least 1."""
    assert candidates.merges is not None
    merge = MergeSegmenter(candidates.merges, np.arange(len(BYTES), dtype=np.int32), joined_bytes(candidates))
    occurrences = _occurrences(counts, merge, len(candidates), threads)
    occurrences = np.maximum(occurrences, 1)
    return Estimate(candidates.tokens, occurrences, int(occurrences.sum()))


def reestimate(counts: PretokenCounts, estimate: Estimate, ties: str, threads: int) -> Estimate:
    """Return the tokens that the text uses, and the bytes, with their occurrences."""
    occurrences = _occurrences(counts, estimate.segmenter(ties, threads), len(estimate.tokens), threads)
    used = occurrences > 0
    used[: len(BYTES)] = True
    return Estimate(estimate.tokens, occurrences, int(occurrences.sum())).select(np.flatnonzero(used))


def _occurrences(counts: PretokenCounts, segmenter: PretokenSegmenter, tokens: int, threads: int) -> NDArray[np.int64]:
    def add(edge: tuple[int, int], occurrences: NDArray[np.int64]) -> None:
        add_occurrences(segmenter, counts.data, counts.offsets, counts.counts, *edge, occurrences)

    return parallel_sum(add, runs(counts.offsets, PARTS), (tokens,), threads)


def most_frequent(estimate: Estimate, size: int) -> Vocabulary:
    """Return the bytes and the most frequent other tokens; ties: the earlier merge."""
    learned = estimate.occurrences[len(BYTES) :]
    order = np.argsort(-learned, kind="stable")[: size - len(BYTES)] + len(BYTES)
    places = np.concatenate([np.arange(len(BYTES)), order])
    return Vocabulary(
        tuple(estimate.tokens[place] for place in places.tolist()), scores=estimate.units()[places] / UNITS
    )
