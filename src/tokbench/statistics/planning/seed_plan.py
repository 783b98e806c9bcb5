"""Number of seeds that a comparison needs, planned from a pilot before the runs.

Models trained from the same seeds are compared by paired differences; a pilot estimates their standard deviation. With
n seeds the difference has the variance seed_deviation^2 / n + document_error^2. The second part is due to the test
documents, and more seeds do not reduce it.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil, fsum, sqrt
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.statistics.comparisons.judgement_columns import BITS
from tokbench.statistics.inputs import read_pilot
from tokbench.statistics.significance.student import detectable, power_of
from tokbench.statistics.significance.verdicts import ALPHA, POWER
from tokbench.tabulation.columns import CORPUS, MODEL, REASON, SIZE, SUITE
from tokbench.tabulation.table import PROBABILITY, Column, Print, TidyTable

RULE = 15.7
"""2 (z of 0.975 + z of 0.8)^2: two independent samples need RULE (deviation / difference)^2 runs each."""
MOST = 1000
"""Largest number of seeds in the search."""
SHOWN = (2, 3, 4, 5, 6, 8, 10, 15, 20, 30)
"""Numbers of seeds in the table of detectable differences."""
KEY = ("corpus", "model", "suite", "size")
Row = dict[str, Any]


@dataclass(frozen=True)
class Pilot:
    """Estimates from a pilot for one corpus, model, suite and size.

    Attributes:
        key: values of :data:`KEY`.
        pairs, seeds, documents: numbers of each in the pilot.
        run_deviation: standard deviation of one tokenizer's bits per byte between seeds, pooled.
        seed_deviation: standard deviation of paired differences between seeds, pooled.
        highest: upper end of a 95 % interval of ``seed_deviation``.
        document_error: standard error of a difference over the pilot's documents, pooled.
    """

    key: tuple[Any, ...]
    pairs: int
    seeds: int
    documents: int
    run_deviation: float
    seed_deviation: float
    highest: float
    document_error: float

    def error(self, seeds: int, deviation: float | None = None) -> tuple[float, float]:
        """Return the standard error of a difference over some seeds, and its degrees of freedom (Satterthwaite
        1946)."""
        of_seeds = (self.seed_deviation if deviation is None else deviation) ** 2 / seeds
        of_documents = self.document_error**2
        whole = of_seeds + of_documents
        parts = of_seeds**2 / (seeds - 1) + of_documents**2 / (self.documents - 1)
        return sqrt(whole), whole * whole / parts if parts else seeds - 1.0

    def power(self, difference: float, seeds: int, deviation: float | None = None) -> float:
        """Return the probability that a two-sided t test at level 0.05 detects a true difference."""
        error, degrees = self.error(seeds, deviation)
        return power_of(difference / error, degrees) if error else 1.0

    def needed(self, difference: float, deviation: float | None = None) -> int | None:
        """Return the fewest seeds that detect it with probability 0.8; None if 1,000 do not."""
        return smallest_number(lambda seeds: self.power(difference, seeds, deviation) >= POWER, MOST)


def smallest_number(detects: Callable[[int], bool], limit: int) -> int | None:
    """Return the smallest number, 2 or more, that detects a difference; None if ``limit`` does not.

    Args:
        detects: function that is true from some number on.
        limit: largest number in the search.
    """
    if not detects(limit):
        return None
    low, high = 1, limit
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if detects(middle) else (middle, high)
    return high


def highest_deviation(deviation: float, degrees: int) -> float:
    """Return the upper end of a 95 % interval of a standard deviation with these degrees of freedom."""
    from tokbench.statistics.significance.distributions import chi2

    return deviation * sqrt(degrees / float(chi2.ppf(ALPHA / 2, degrees)))


def pilots(comparisons: pl.DataFrame) -> Iterator[Pilot | tuple[tuple[Any, ...], str]]:
    """Yield the estimates for each corpus, model, suite and size of a pilot, or the reason why there are none.

    The variance of paired differences, pooled over all pairs of k tokenizers, has (k - 1) (seeds - 1) degrees of
    freedom if all tokenizers have the same variance.
    """
    for key, part in comparisons.sort(*KEY).group_by(*KEY, maintain_order=True):
        known = part.drop_nulls("seed_deviation")
        if known.is_empty():
            yield key, next(iter(part["reason"].drop_nulls().to_list()), "no pair was tested")
            continue
        pooled = {
            name: sqrt(fsum(value * value for value in known[name].to_list()) / len(known))
            for name in ("run_deviation", "seed_deviation", "document_error")
        }
        seeds, documents = (int(known[name].min()) for name in ("seeds", "documents"))  # type: ignore[arg-type]
        variants = pl.concat([known["a"], known["b"]]).n_unique()
        degrees = (variants - 1) * (seeds - 1)
        highest = highest_deviation(pooled["seed_deviation"], degrees)
        yield Pilot(key, len(known), seeds, documents, highest=highest, **pooled)


def plan_seeds(pilot_comparisons: pl.DataFrame, detect: float) -> pl.DataFrame:
    """Return the numbers of seeds that are needed to detect a difference.

    Args:
        pilot_comparisons: table ``bits_comparisons`` of a pilot.
        detect: difference in bits per byte.

    Returns:
        The columns of :data:`SEED_PLAN`, a row per corpus, model, suite and size of the pilot.
    """
    rows: list[Row] = []
    for pilot in pilots(pilot_comparisons):
        if not isinstance(pilot, Pilot):
            rows.append(dict(zip(KEY, pilot[0], strict=True)) | {"detect": detect, "reason": pilot[1]})
            continue
        needed, at_most = pilot.needed(detect), pilot.needed(detect, pilot.highest)
        floor = pilot.document_error * detectable(pilot.documents - 1.0)
        reason = None
        if needed is None or at_most is None:
            reason = (
                f"more than {MOST:,} seeds"
                if floor < detect
                else "no number of seeds: documents alone hide it; test on more"
            )
        rule = ceil(RULE * (pilot.run_deviation / detect) ** 2)
        row = dict(zip(KEY, pilot.key, strict=True)) | {
            "detect": detect,
            "pairs": pilot.pairs,
            "pilot_seeds": pilot.seeds,
        }
        row |= {"run_deviation": pilot.run_deviation, "seed_deviation": pilot.seed_deviation, "highest": pilot.highest}
        row |= {"document_error": pilot.document_error, "floor": floor, "by_rule": max(2, rule)}
        rows.append(row | {"needed": needed, "needed_at_most": at_most, "reason": reason})
    return SEED_PLAN.frame(rows)


def detectable_by_seeds(pilot_comparisons: pl.DataFrame, detect: float) -> pl.DataFrame:
    """Return the differences that given numbers of seeds detect.

    Returns:
        The columns of :data:`SEEN_BY_SEEDS`, a row per corpus, model, suite and size of the pilot and number of seeds;
        no rows if the pilot has no estimates.
    """
    rows: list[Row] = []
    for pilot in pilots(pilot_comparisons):
        for seeds in SHOWN if isinstance(pilot, Pilot) else ():
            assert isinstance(pilot, Pilot)
            error, degrees = pilot.error(seeds)
            by_rule = sqrt(RULE / seeds) * pilot.run_deviation
            row = dict(zip(KEY, pilot.key, strict=True)) | {"seeds": seeds, "by_rule": by_rule}
            rows.append(row | {"detectable": error * detectable(degrees), "power": pilot.power(detect, seeds)})
    return SEEN_BY_SEEDS.frame(rows)


def plan_sentences(plan: pl.DataFrame) -> Iterator[str]:
    """Yield a sentence for each row of :func:`plan_seeds`."""
    for row in plan.iter_rows(named=True):
        place = f"{row['model']} on {row['corpus'] or 'an unnamed corpus'} at {row['size']}"
        if row["run_deviation"] is None:
            yield f"{place}: {row['reason']}"
            continue
        needed = row["reason"] if row["needed"] is None else f"{row['needed']} seeds"
        at_most = "" if row["needed_at_most"] in (None, row["needed"]) else f", {row['needed_at_most']} at most"
        yield (
            f"{place}: detecting {row['detect']:g} bits per byte needs {needed}{at_most} "
            f"({row['by_rule']} by the rule); standard deviation of a run {row['run_deviation']:.4f}, of the paired "
            f"difference {row['seed_deviation']:.4f} (at most {row['highest']:.4f}); smallest difference that any "
            f"number of seeds detects {row['floor']:.4f}"
        )


_HEAD = (CORPUS, MODEL, SUITE, SIZE)
_CAPTION = (
    "Stated before the runs, from a pilot: differences are paired by seed, and a two-sided t test at level 0.05, not "
    "corrected for the number of pairs, should detect them with probability 0.8."
)
SEED_PLAN = TidyTable(
    "seed_plan",
    "a corpus, model, suite and vocabulary size of a pilot",
    (
        *_HEAD,
        Column("detect", pl.Float64, "difference to detect", BITS, "to be seen", 4),
        Column("pairs", pl.Int64, "pairs of variants in the pilot", "pairs"),
        Column("pilot_seeds", pl.Int64, "seeds in the pilot", "seeds", "pilot's seeds"),
        Column("run_deviation", pl.Float64, "standard deviation of a tokenizer's bits per byte between seeds, "
               "pooled over pairs", BITS, "deviation of a run", 4),
        Column("seed_deviation", pl.Float64, "standard deviation of paired differences between seeds, pooled", BITS,
               "of the difference", 4),
        Column("highest", pl.Float64, "upper end of a 95 % interval of seed_deviation, for equal variances", BITS,
               "deviation at most", 4),
        Column("document_error", pl.Float64, "standard error of a difference over the pilot's documents, pooled", BITS,
               "error by documents", 4),
        Column("floor", pl.Float64, "difference that any number of seeds detects on these documents", BITS,
               "floor", 4),
        Column("by_rule", pl.Int64, "seeds by the rule n = 15.7 (deviation of a run / difference)^2, for unpaired runs "
               "and without variance from documents", "seeds", "seeds, by rule"),
        Column("needed", pl.Int64, "seeds by the power of the paired t test, including variance from documents",
               "seeds",
               "seeds needed"),
        Column("needed_at_most", pl.Int64, "the same, for a deviation at the upper end of its interval", "seeds",
               "seeds at most"),
        REASON,
    ),
    maker=plan_seeds,
    takes=("pilot_comparisons", "detect"),
    prints=(Print("statistics", f"Seeds needed to detect a difference of bits per byte. {_CAPTION}", arranged=True),),
)  # fmt: skip
SEEN_BY_SEEDS = TidyTable(
    "seen_by_seeds",
    "a number of seeds, for a corpus, model, suite and vocabulary size of a pilot",
    (
        *_HEAD,
        Column("seeds", pl.Int64, "number of seeds", "seeds"),
        Column("detectable", pl.Float64, "true difference that they detect, including variance from documents", BITS,
               "detectable", 4),
        Column("by_rule", pl.Float64, "difference by the rule n = 15.7 (deviation of a run / difference)^2", BITS,
               "by rule",
               4),
        Column("power", pl.Float64, "probability that they detect the requested difference", PROBABILITY,
               "probability"),
    ),
    maker=detectable_by_seeds,
    takes=("pilot_comparisons", "detect"),
    prints=(
        Print("statistics", f"Differences of bits per byte that a number of seeds detects. {_CAPTION}", arranged=True),
    ),
)  # fmt: skip


def seed_tables(pilot: Path, detect: float) -> dict[TidyTable, pl.DataFrame]:
    """Build the tables of seeds needed to detect a difference between models of one scale.

    Args:
        pilot: folder of the statistics of an experiment that trained models with two or more seeds.
        detect: difference in bits per byte.
    """
    comparisons = read_pilot(pilot)
    return {SEED_PLAN: plan_seeds(comparisons, detect), SEEN_BY_SEEDS: detectable_by_seeds(comparisons, detect)}
