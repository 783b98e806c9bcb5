"""The mean of differences that were drawn twice over: seeds of the models, and documents that these were tested on.

Every seed is tested on the same documents, so that the two cross. A mean over both varies by either: trained again, the
models would differ, and other documents would tell otherwise. More seeds make the first smaller, and not the second.
"""

from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from tokbench.exact import total
from tokbench.statistics.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Spread:
    """A ratio of sums over seeds and documents, and by how much it would vary.

    Attributes:
        mean: the ratio of the sums.
        error: its standard error, both sources together.
        degrees: of freedom of Student's t, by Satterthwaite.
        seed_deviation: sample standard deviation of the seeds' ratios.
        document_error: the part of ``error`` that no further seed makes smaller.
        seeds: number of seeds.
    """

    mean: float
    error: float
    degrees: float
    seed_deviation: float
    document_error: float
    seeds: int

    @property
    def estimate(self) -> Estimate:
        """The ratio with its standard error, degrees of freedom and number of trainings."""
        return Estimate(self.mean, self.error, self.degrees, self.seeds)


def ratio_over_both(parts: NDArray[np.float64], wholes: NDArray[np.float64]) -> Spread:
    """Sum of parts over sum of wholes, with the standard error of seeds and documents as crossed random effects.

    Documents weigh what they hold: the ratio is taken as the mean of its linearization, R + J (part - R whole) / sum of
    wholes (Cochran 1977, section 6.4). Its mean squares between seeds, between documents and of the rest give the
    variance (MS seeds + MS documents - MS rest) / (seeds x documents), never less than of one source alone, and its
    degrees of freedom (Satterthwaite 1946), never fewer than of the source that has fewer. Documents of unequal size
    count for as many as equal ones would be, (sum of wholes)^2 / sum of their squares (Kish 1965).

    Args:
        parts: float64 [seeds, documents], two or more of both.
        wholes: float64 [documents], what each document holds; not all zero.
    """
    seeds, documents = parts.shape
    whole = total(wholes)
    mean = total(parts.ravel()) / (seeds * whole)
    values = mean + documents * (parts - mean * wholes) / whole
    by_seed = np.array([total(row) for row in values]) / documents
    by_document = np.array([total(column) for column in values.T]) / seeds
    of_seeds = documents * _squares(by_seed - mean) / (seeds - 1)
    of_documents = seeds * _squares(by_document - mean) / (documents - 1)
    rest = (values - by_seed[:, np.newaxis] - by_document + mean).ravel()
    of_rest = _squares(rest) / ((seeds - 1) * (documents - 1))
    whole_square = max(of_seeds + of_documents - of_rest, of_seeds, of_documents)
    equal = max(whole * whole / _squares(wholes), 2.0)
    variances = of_seeds**2 / (seeds - 1) + of_documents**2 / (equal - 1)
    variances += of_rest**2 / ((seeds - 1) * (equal - 1))
    fewest = min(seeds, equal) - 1.0
    return Spread(
        mean,
        sqrt(whole_square / (seeds * documents)),
        max(fewest, whole_square**2 / variances) if variances else fewest,
        sqrt(of_seeds / documents),
        sqrt(max(of_documents - of_rest, 0.0) / (seeds * documents)),
        seeds,
    )


def _squares(values: NDArray[np.float64]) -> float:
    return total(values * values)
