"""Cases of the simulation: a row and column of a table, and a function that draws once and returns the outcome.

A draw returns True if the interval contains the true value (tables of coverage) or if a difference is significant
(tables of errors and of power). Every interval and test is that of the product's own function.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from benchmarks.coverage.samples import DISTRIBUTIONS, SIZES, Floats, Rng, over_seeds, unit_sizes, unit_values
from tokbench.statistics.significance.estimate import Estimate, ratio, relative_difference
from tokbench.statistics.significance.verdicts import ALPHA

Kind = Literal["coverage", "error", "power"]
Draw = Callable[[Rng], bool]
RATE, SPREAD = 0.02, 0.1
"""True difference per byte of a unit, and its standard deviation over units."""
UNITS = (3, 6, 8, 12, 20, 50)
SOURCES = {
    "small": (0.05, 0.05),
    "all residual": (0.05, 5.0),
    "equal": (1.0, 1.0),
    "large": (10.0, 0.2),
    "large, residual": (10.0, 1.0),
}
"""Parts of the variance of a mean that are due to seeds, and to single units in single seeds, in multiples of the part
that is due to units."""


@dataclass(frozen=True)
class Case:
    """A cell of a table.

    Attributes:
        table: name of the table.
        row: labels of the row.
        column: label of the column.
        draw: function that draws once.
        times: number of draws.
    """

    table: str
    row: tuple[str, ...]
    column: str
    draw: Draw
    times: int


def contains(estimate: Estimate | None, truth: float) -> bool:
    """Return True if the 95 % interval of an estimate contains the true value; no interval does not."""
    low, high = (None, None) if estimate is None else estimate.ends()
    return low is not None and high is not None and low <= truth <= high


def significant(estimates: list[Estimate | None], pairs: int) -> bool:
    """Return True if Holm's procedure rejects at least one of ``pairs`` differences.

    Its first step compares the least p-value with 0.05 / pairs. A p-value is computed only where the 95 % interval
    excludes zero; others are above 0.05.
    """
    return any(
        (p_value := estimate.p_value) is not None and p_value * pairs <= ALPHA
        for estimate in estimates
        if estimate is not None and not contains(estimate, 0.0)
    )


def over_units(rng: Rng, distribution: str, kind: str, units: int) -> bool:
    """Draw a difference of bits per byte over units, without trained models."""
    sizes = unit_sizes(rng, kind, units)
    return contains(ratio(sizes * (RATE + SPREAD * unit_values(rng, distribution, (units,))), sizes), RATE)


def over_both(rng: Rng, distribution: str, kind: str, source: str, seeds: int, units: int) -> bool:
    """Draw a difference of bits per byte over seeds and units."""
    sizes = unit_sizes(rng, kind, units)
    values = over_seeds(rng, seeds, unit_values(rng, distribution, (units,)), sizes, *SOURCES[source])
    return contains(ratio(sizes * (RATE + SPREAD * values), sizes, trained=True), RATE)


def token_counts(rng: Rng, distribution: str, kind: str, effect: float, units: int) -> bool:
    """Draw the token counts of two tokenizers, the first of which needs ``effect`` more tokens."""
    sizes = 1000 * unit_sizes(rng, kind, units)
    a, b = (1 + 0.04 * unit_values(rng, name, (units,)) for name in (distribution, "normal"))
    left, right = np.maximum(1, np.round(sizes * (1 + effect) * a)), np.maximum(1, np.round(sizes * b))
    return contains(relative_difference(left, right), effect)


def family(rng: Rng, distribution: str, kind: str, source: str, seeds: int, units: int, tokenizers: int) -> bool:
    """Draw tokenizers that are equal, and test all pairs."""
    return significant(_pairs(rng, distribution, kind, source, seeds, units, np.zeros(tokenizers)), _count(tokenizers))


def detected(rng: Rng, source: str, seeds: int, units: int, tokenizers: int, difference: float) -> bool:
    """Draw tokenizers of which one is better, and test it against one other in the family of all pairs.

    Args:
        rng: random generator.
        source: parts of variance, of :data:`SOURCES`.
        seeds, units: numbers of each.
        tokenizers: number of tokenizers in the family.
        difference: true difference of the pair in its standard errors.
    """
    parts = 1 + sum(SOURCES[source]) if seeds else 1.0
    shift = difference * np.sqrt(2 * parts / units)
    estimates = _pairs(rng, "normal", "equal", source, seeds, units, np.array([0.0, shift]))
    return significant(estimates, _count(tokenizers))


def _count(tokenizers: int) -> int:
    return tokenizers * (tokenizers - 1) // 2


def _pairs(
    rng: Rng, distribution: str, kind: str, source: str, seeds: int, units: int, shifts: Floats
) -> list[Estimate | None]:
    """Return the estimates of all pairs of tokenizers; no seeds: no trained model."""
    sizes = unit_sizes(rng, kind, units)
    values = unit_values(rng, distribution, (len(shifts), units)) + shifts[:, np.newaxis]
    if seeds:
        values = over_seeds(rng, seeds, values, sizes, *SOURCES[source])
    return [
        ratio(sizes * (values[a] - values[b]), sizes, trained=bool(seeds))
        for a, b in combinations(range(len(shifts)), 2)
    ]


def core_cases(times: int) -> Iterator[Case]:
    """Yield the cases of differences over units, and over seeds and units.

    Args:
        times: number of draws of a cell; families of many pairs have half of it.
    """
    for distribution, name in DISTRIBUTIONS.items():
        for kind, of_sizes in SIZES.items():
            for units in UNITS:
                draw = partial(over_units, distribution=distribution, kind=kind, units=units)
                yield Case("units", (name, of_sizes), str(units), draw, 2 * times)
    for distribution in ("normal", "more skewed"):
        for kind, of_sizes in SIZES.items():
            for effect in (0.0, 0.3):
                row = (DISTRIBUTIONS[distribution], of_sizes, f"{effect:.0%}")
                for units in UNITS[1:]:
                    draw = partial(token_counts, distribution=distribution, kind=kind, effect=effect, units=units)
                    yield Case("token counts", row, str(units), draw, times)
    for distribution, kind in (("normal", "equal"), ("skewed", "unequal")):
        for seeds in (3, 5, 10):
            for source in SOURCES:
                row = (DISTRIBUTIONS[distribution], SIZES[kind], str(seeds), source)
                for units in (3, 6, 12, 20, 50):
                    draw = partial(
                        over_both, distribution=distribution, kind=kind, source=source, seeds=seeds, units=units
                    )
                    yield Case("seeds and units", row, str(units), draw, times)
    yield from _families(times // 2)
    yield from _power(times // 2)


def _families(times: int) -> Iterator[Case]:
    designs = ((0, "none"), (3, "equal"), (3, "large"), (5, "large"), (10, "large"))
    for distribution, kind, most in (("normal", "equal", 20), ("skewed", "unequal", 12)):
        for seeds, source in designs:
            row = (DISTRIBUTIONS[distribution], SIZES[kind], str(seeds or "–"), source)
            for tokenizers in (2, 5, 9):
                for units in (number for number in (6, 12, 20) if number <= most):
                    draw = partial(
                        family,
                        distribution=distribution,
                        kind=kind,
                        source=source,
                        seeds=seeds,
                        units=units,
                        tokenizers=tokenizers,
                    )
                    draws = times * {2: 8, 5: 2, 9: 1}[tokenizers]
                    yield Case("families", row, f"{_count(tokenizers)} × {units}", draw, draws)


def _power(times: int) -> Iterator[Case]:
    for seeds, source in ((0, "none"), (3, "equal"), (5, "equal"), (5, "large"), (10, "equal")):
        for difference in (4.0, 6.0):
            row = (str(seeds or "–"), source, f"{difference:g}")
            for tokenizers in (2, 9):
                for units in (6, 8, 12, 20):
                    draw = partial(
                        detected, source=source, seeds=seeds, units=units, tokenizers=tokenizers, difference=difference
                    )
                    yield Case("power", row, f"{_count(tokenizers)} × {units}", draw, times)
