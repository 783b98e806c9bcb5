"""The paired bootstrap (Efron 1979; for two systems on one test set, Koehn 2004)."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exact import compensated_dot

RESAMPLES = 1000
CONFIDENCE = 0.95
_KEPT = 1000
"""Largest number of groups for which draws are cached."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Interval and p-value of a mean of paired differences, from resampling.

    Attributes:
        low, high: percentile interval of the mean.
        p_value: one-sided, (1 + resamples whose mean is not above zero) / (1 + resamples). The sample itself counts as
            a resample, so it is never zero (Davison and Hinkley 1997, section 4.2).
    """

    low: float
    high: float
    p_value: float


def paired_bootstrap(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Bootstrap | None:
    """Resample paired differences with replacement.

    Args:
        differences: first minus second, one per pair.
        groups: label of each difference; differences with one label are drawn together (default: None, each is drawn
            separately). Cells of one task are correlated, and drawing tasks estimates the result on other tasks.
        resamples: number of resamples (default: 1000).
        confidence: confidence level (default: 0.95).
        seed: seed of the draws (default: 0); equal seeds give equal numbers.

    Returns:
        Interval and p-value; None for fewer than two groups.
    """
    means = resampled_means(differences, groups, resamples=resamples, seed=seed)
    return None if means is None else summarized(means, confidence)


def resampled_means(
    differences: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> NDArray[np.float64] | None:
    """Return the means that :func:`paired_bootstrap` summarizes, float64 [resamples]; None for fewer than two groups.

    The draws depend only on the number of groups, so differences of opposite sign give means of opposite sign.
    """
    values = np.asarray(differences, np.float64)
    _, places = np.unique(np.arange(len(values)) if groups is None else _numbered(groups), return_inverse=True)
    count = int(places.max(initial=-1)) + 1
    if count < 2:
        return None
    sums = np.bincount(places, values, count)
    sizes = np.bincount(places, minlength=count)
    drawn = (_kept_draws if count <= _KEPT else _draws)(count, resamples, seed)
    return np.asarray(sums[drawn].sum(1) / sizes[drawn].sum(1))


def stratified_sums(
    strata: Sequence[NDArray[np.float64]], *, resamples: int = RESAMPLES, seed: int = 0
) -> NDArray[np.float64]:
    """Return sums of values that are drawn with replacement within each stratum.

    A sample has the size of its stratum. Equal values are drawn together by a multinomial draw of their counts,
    which has the same distribution and needs little memory for tasks with many questions.

    Args:
        strata: float64 values of each stratum.
        resamples: number of resamples (default: 1000).
        seed: seed of the draws (default: 0); equal seeds give equal numbers.

    Returns:
        Sums, float64 [resamples].
    """
    rng = np.random.default_rng(seed)
    sums = np.zeros(resamples)
    for values in strata:
        distinct, counts = np.unique(values, return_counts=True)
        sums += compensated_dot(rng.multinomial(len(values), counts / len(values), resamples), distinct)
    return sums


def summarized(means: NDArray[np.float64], confidence: float = CONFIDENCE) -> Bootstrap:
    """Return interval and p-value of resampled means or sums."""
    return summarized_rows(means[np.newaxis], confidence)[0]


def summarized_rows(means: NDArray[np.float64], confidence: float = CONFIDENCE) -> list[Bootstrap]:
    """Return interval and p-value for each row of float64 [rows, resamples]."""
    tail = (1 - confidence) / 2
    ends = np.quantile(means, [tail, 1 - tail], axis=1).T.tolist()
    above = (1 + (means <= 0).sum(1)) / (1 + means.shape[1])
    return [Bootstrap(low, high, p_value) for (low, high), p_value in zip(ends, above.tolist(), strict=True)]


def _draws(count: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(count, size=(resamples, count))


_kept_draws = lru_cache(maxsize=8)(_draws)


def _numbered(groups: Sequence[Hashable]) -> list[int]:
    """Return a number for each label, in order of appearance."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return [numbers[group] for group in groups]
