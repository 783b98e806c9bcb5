"""How often intervals of few documents hold the truth: the percentile bootstrap's and Student's t.

    python benchmarks/few_documents.py [DOCUMENTS [SIMULATIONS]]

A simulation draws the difference of two tokenizers on each of seven documents of equal size, independently and about a
true difference of zero, and asks whether the 95 % interval of their mean holds zero: that of Tokbench's bootstrap over
documents (percentiles of 1,000 resamples), and that of Student's t, which its tables have. Differences are normal, or
exponential less their mean, which are skewed. The table has the share of 20,000 simulations, in percent; twice its
standard error is .6 at most. The seed is zero.
"""

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from tokbench.statistics.bootstrap import paired_bootstrap
from tokbench.statistics.estimate import interval, ratio_over_documents

Draw = Callable[[np.random.Generator, tuple[int, int]], NDArray[np.float64]]
DRAWN: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape) - 1.0,
}


def coverage(differences: NDArray[np.float64]) -> tuple[float, float]:
    """Shares of simulations whose interval holds zero: the bootstrap's, and Student's t.

    Args:
        differences: float64 [simulations, documents], two documents or more.
    """
    simulations, documents = differences.shape
    equal = np.ones(documents)
    hits = np.zeros(2, dtype=np.int64)
    for drawn in differences:
        resampled = paired_bootstrap(drawn.tolist())
        low, high = interval(ratio_over_documents(drawn, equal))
        hits += (resampled is not None and resampled.low <= 0 <= resampled.high, low <= 0 <= high)
    bootstrap, student = hits / simulations
    return float(bootstrap), float(student)


def main(documents: int = 7, simulations: int = 20_000) -> None:
    """Print the table."""
    print(f"{documents} documents, {simulations:,} simulations")
    print("\n| differences | bootstrap | Student's t |\n|---|--:|--:|")
    for name, draw in DRAWN.items():
        bootstrap, student = coverage(draw(np.random.default_rng(0), (simulations, documents)))
        print(f"| {name} | {100 * bootstrap:.1f} | {100 * student:.1f} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
