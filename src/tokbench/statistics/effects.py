"""Effect sizes of paired differences: how large a difference is, whatever the number of pairs."""

from collections.abc import Sequence
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.statistics.wilcoxon import DECIMALS, doubled_ranks


def rank_biserial(differences: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Matched-pairs rank-biserial correlation (Kerby 2014, "The simple difference formula").

    Returns:
        (W+ - W-) / (W+ + W-), where W+ and W- are the sums of the ranks of the positive and of the negative
        differences, zeros dropped and ties sharing their average rank: 1 where every difference is positive, -1
        where every one is negative. None where every difference is zero.
    """
    rounded = np.round(np.asarray(differences, np.float64), DECIMALS)
    kept = rounded[rounded != 0.0]
    if not len(kept):
        return None
    ranks = doubled_ranks(np.abs(kept))
    return float(2 * ranks[kept > 0].sum() / ranks.sum() - 1)


def standardized_mean(differences: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Cohen's d of paired differences, d_z: their mean over their standard deviation (Cohen 1988, section 2.3.5).

    Returns:
        None for fewer than two differences, and where they do not vary.
    """
    spread = deviation(differences)
    if spread is None or spread < 10**-DECIMALS:
        return None
    return fsum(differences) / len(differences) / spread


def deviation(values: Sequence[float] | NDArray[np.float64]) -> float | None:
    """Sample standard deviation, with n - 1; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = fsum(values) / len(values)
    return sqrt(fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
