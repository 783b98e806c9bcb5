"""Scores by which tokens are chosen for their likelihood, where some are barred by minus infinity."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

UNKNOWN_PENALTY = 10.0
"""Nats below the lowest score at which a byte without a score is used, as unknown characters are in SentencePiece."""


def usable_scores(
    tokens: Sequence[bytes], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores, finite for barred tokens too, and which tokens may be used: all single bytes may.

    At least one score is finite.
    """
    finite = np.isfinite(scores)
    single = np.fromiter((len(token) == 1 for token in tokens), np.bool_, len(tokens))
    return np.where(finite, scores, scores[finite].min() - UNKNOWN_PENALTY), finite | single
