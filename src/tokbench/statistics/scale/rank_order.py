"""Kendall's tau between two orders of tokenizers, with bootstrap intervals over seeds and documents.

Reference: :mod:`tokbench.reference.scaling`.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 1000
"""Samples of the bootstrap."""


def kendall(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Kendall's tau-b of the rows of ``x`` and ``y`` (Kendall 1945), column by column.

    Args:
        x, y: float64 [items, columns].

    Returns:
        float64 [columns]; not a number where one of the two does not vary.
    """
    pairs = list(combinations(range(len(x)), 2))
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    signs_x, signs_y = np.sign(x[first] - x[second]), np.sign(y[first] - y[second])
    concordant = (signs_x * signs_y).sum(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(concordant / np.sqrt((signs_x**2).sum(0) * (signs_y**2).sum(0)))


def resampled_levels(
    bits: Sequence[NDArray[np.float64]], sizes: NDArray[np.float64], seed: int = 0
) -> NDArray[np.float64]:
    """Return resampled bits per byte of models, with seeds and documents drawn independently (Owen 2007).

    All models share the draws of a resample, so differences between them are paired.

    Args:
        bits: float64 [seeds, documents] for each model, with the same seeds and documents.
        sizes: float64 [documents], bytes of the documents.
        seed: seed of the draws (default: 0).

    Returns:
        float64 [models, RESAMPLES].
    """
    seeds, documents = bits[0].shape
    rng = np.random.default_rng(seed)
    of_seeds = rng.multinomial(seeds, [1 / seeds] * seeds, RESAMPLES).astype(np.float64)
    of_documents = rng.multinomial(documents, [1 / documents] * documents, RESAMPLES).astype(np.float64)
    sums, whole = np.zeros((len(bits), RESAMPLES)), np.zeros(RESAMPLES)
    all_bits = np.stack(bits)
    for document in range(documents):
        sums_of_document = np.zeros((len(bits), RESAMPLES))
        for number in range(seeds):
            sums_of_document += all_bits[:, number, document, np.newaxis] * of_seeds[:, number]
        sums += sums_of_document * of_documents[:, document]
        whole += sizes[document] * of_documents[:, document]
    return np.asarray(sums / (seeds * whole))


def tau_interval(taus: NDArray[np.float64]) -> tuple[float | None, float | None]:
    """Return the 95 % percentile interval of resampled coefficients; None if any is not a number."""
    if np.isnan(taus).any():
        return None, None
    low, high = np.quantile(taus, [0.025, 0.975]).tolist()
    return low, high
