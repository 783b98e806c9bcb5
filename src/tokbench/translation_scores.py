"""BLEU and chrF of any sample of sentences, from statistics of each: sums of whole numbers, resampled with no text."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
BLEU_ORDER, CHRF_ORDER, CHRF_BETA = 4, 6, 2
Counts = NDArray[np.int64]
Scores = NDArray[np.float64]
Score = Callable[[Counts], Scores]


def bleu(sums: Counts) -> Scores:
    """BLEU (Papineni et al. 2002) as sacrebleu has it by default, with exponential smoothing.

    Args:
        sums: int64 [..., 10]: tokens of the translations and of the references, n-grams in common and n-grams of the
            translations for n from 1 to 4.

    Returns:
        From 0 to 100, float64 [...].
    """
    ours, theirs = sums[..., 0].astype(float), sums[..., 1].astype(float)
    common, total = sums[..., 2:6], sums[..., 6:10]
    halvings = np.cumsum((common == 0) & (total > 0), axis=-1)
    smoothed = np.where(common == 0, 0.5**halvings, common)
    whole = (total > 0).all(-1) & (common > 0).any(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(smoothed / np.where(total > 0, total, 1)).mean(-1)
        brevity = np.where(ours < theirs, 1.0 - theirs / ours, 0.0)
    return np.where(whole, 100.0 * np.exp(logs + np.where(whole, brevity, 0.0)), 0.0)


def chrf(sums: Counts) -> Scores:
    """chrF2 (Popović 2015) as sacrebleu has it by default: over orders that both sides have, precision and recall are
    averaged first.

    Args:
        sums: int64 [..., 18]: for n from 1 to 6 the n-grams of characters of the translations, of the references, and
            those in common.

    Returns:
        From 0 to 100, float64 [...].
    """
    ours, theirs, common = (sums[..., place::3].astype(float) for place in range(3))
    both = (ours > 0) & (theirs > 0)
    orders = np.maximum(both.sum(-1), 1)
    precision = np.where(both, common / np.maximum(ours, 1), 0.0).sum(-1) / orders
    recall = np.where(both, common / np.maximum(theirs, 1), 0.0).sum(-1) / orders
    factor = CHRF_BETA**2
    below = factor * precision + recall
    return 100.0 * np.where(below > 0, (1 + factor) * precision * recall / np.where(below > 0, below, 1.0), 0.0)


def mean(sums: Any) -> Scores:
    """The mean of sentences' scores: sums [..., 2] of the scores and of how many there are."""
    return np.asarray(sums[..., 0] / sums[..., 1])


def resampled(statistics: Any, score: Score, *, resamples: int = RESAMPLES, seed: int = 0) -> Scores:
    """The score of samples of sentences, drawn with replacement (Koehn 2004).

    Two systems that translate the same sentences get the same draws, so that their scores are paired.

    Args:
        statistics: [sentences, numbers].
        score: of their sums.
        resamples: how many samples.
        seed: of the draws.

    Returns:
        float64 [resamples].
    """
    count = len(statistics)
    draws = np.random.default_rng(seed).integers(count, size=(resamples, count))
    return score(np.stack([np.bincount(drawn, minlength=count) @ statistics for drawn in draws]))
