"""Weighted means of ratios over strata, such as the domains of a corpus, with stratified intervals.

The weighted mean is the sum over strata of weight x (sum of parts / sum of wholes). Its residuals are taken within each
stratum, so differences between strata do not widen its interval (Cochran 1977, section 6.10, the separate ratio
estimate). :func:`tokbench.statistics.significance.estimate.ratio` computes the interval over units and seeds.
"""

from collections.abc import Mapping, Sequence
from math import fsum, inf, sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.statistics.significance.estimate import DOCUMENTS, Estimate, ratio

ONE_UNIT = "a stratum has one unit, so its spread is not known"


def weighted_ratio(
    parts: NDArray[np.float64],
    wholes: NDArray[np.float64],
    strata: Sequence[str],
    weights: Mapping[str, float],
    *,
    unit: str = DOCUMENTS,
    trained: bool = False,
) -> Estimate | None:
    """Return the weighted mean over strata of sum of parts / sum of wholes.

    Each unit is replaced by its residual within its stratum, scaled for the stratum's degrees of freedom, plus its
    share of the mean. So the ratio of the sums is the mean, and the residuals are those of the strata.

    Args:
        parts: numerators, float64 [seeds, units] or [units].
        wholes: denominators, float64 [units]. Units without content (zero) are left out.
        strata: stratum of each unit.
        weights: weight of each stratum, not negative; they need not add up to one. A stratum of weight zero is left
            out.
        unit: name of the units (default: "documents").
        trained: True if the parts are of trained models (default: False).

    Returns:
        The estimate; None if a stratum with a weight has no content, or no stratum has a weight. With one unit in a
        stratum there is no interval.
    """
    rows, names = np.atleast_2d(parts), np.asarray(strata)
    used = {name: weight for name, weight in weights.items() if weight > 0}
    members = {name: np.flatnonzero((names == name) & (wholes > 0)) for name in used}
    if not used or not all(map(len, members.values())):
        return None
    whole = fsum(used.values())
    units = sum(map(len, members.values()))
    means = np.zeros(len(rows))
    residuals, shares = np.zeros(rows.shape), np.zeros(len(wholes))
    for name, weight in used.items():
        own = members[name]
        size = exact_sum(wholes[own])
        shares[own] = weight / whole * wholes[own] / size
        ratios = np.array([exact_sum(row[own]) / size for row in rows])
        means += weight / whole * ratios
        # The estimate corrects for one mean of all units; here each stratum has its own.
        correction = sqrt(len(own) / (len(own) - 1) * (units - 1) / units) if len(own) > 1 else 0.0
        of_units = rows[:, own] - ratios[:, np.newaxis] * wholes[own]
        residuals[:, own] = correction * weight / whole * of_units / size
    estimate = ratio(residuals + means[:, np.newaxis] * shares, shares, unit=unit, trained=trained)
    if estimate is not None and min(map(len, members.values())) < 2:
        trainings = estimate.trainings
        return Estimate(estimate.difference, inf, 1.0, trainings, units, unit, reason=ONE_UNIT)
    return estimate
