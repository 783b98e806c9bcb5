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
"""Things to draw up to which the draws are kept for the next that has as many."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """What resampling says of a mean of paired differences.

    Attributes:
        low, high: percentile interval of the mean.
        p_value: one-sided, (1 + resamples whose mean is not above zero) / (1 + resamples): the sample itself counts as
            one, so that it is never zero (Davison and Hinkley 1997, section 4.2).
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
        differences: first minus second, a pair each.
        groups: what is drawn as one, a label for each difference: cells of one task are alike, and to draw tasks
            whole asks what other tasks would have given. Without groups each difference is drawn by itself.
        resamples: how many times.
        confidence: of the interval.
        seed: of the draws; the same seed gives the same numbers.

    Returns:
        None for fewer than two things to draw.
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
    """The means that :func:`paired_bootstrap` summarizes, float64 [resamples]; None for fewer than two things to draw.

    Those of the opposite differences are the same with the opposite sign: the draws rest on the number of things alone.
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
    """Sums of values that are drawn with replacement within each stratum, as many as it has.

    Values that are equal are drawn together, by how often each comes (a multinomial draw), which is the same and
    takes no room for the many questions of a task.

    Args:
        strata: float64 values of each.
        resamples: how many times.
        seed: of the draws; the same seed gives the same numbers.

    Returns:
        float64 [resamples].
    """
    rng = np.random.default_rng(seed)
    sums = np.zeros(resamples)
    for values in strata:
        distinct, counts = np.unique(values, return_counts=True)
        sums += compensated_dot(rng.multinomial(len(values), counts / len(values), resamples), distinct)
    return sums


def summarized(means: NDArray[np.float64], confidence: float = CONFIDENCE) -> Bootstrap:
    """What resampled means, or sums, say."""
    return summarized_rows(means[np.newaxis], confidence)[0]


def summarized_rows(means: NDArray[np.float64], confidence: float = CONFIDENCE) -> list[Bootstrap]:
    """The same of each row of float64 [rows, resamples]."""
    tail = (1 - confidence) / 2
    ends = np.quantile(means, [tail, 1 - tail], axis=1).T.tolist()
    above = (1 + (means <= 0).sum(1)) / (1 + means.shape[1])
    return [Bootstrap(low, high, p_value) for (low, high), p_value in zip(ends, above.tolist(), strict=True)]


def _draws(count: int, resamples: int, seed: int) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(count, size=(resamples, count))


_kept_draws = lru_cache(maxsize=8)(_draws)


def _numbered(groups: Sequence[Hashable]) -> list[int]:
    """A number for each label, in order of appearance."""
    numbers = {group: number for number, group in enumerate(dict.fromkeys(groups))}
    return [numbers[group] for group in groups]
