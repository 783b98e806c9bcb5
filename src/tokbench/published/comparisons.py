"""The statistics of a run, taken of the papers' accuracies: the same functions, the same tables, the same figures."""

from dataclasses import dataclass
from functools import cache

import polars as pl

from tokbench.published import tidy_facts
from tokbench.statistics.critical_difference import critical_differences
from tokbench.statistics.intervals import average_intervals
from tokbench.statistics.pairs import compare_pairs, power_table
from tokbench.statistics.ranks import averages, averages_by_size


@dataclass(frozen=True)
class Compared:
    """One set of models that can be compared, and what the statistics say of it.

    Attributes:
        name: stem of its files.
        of: what captions call it.
        accuracy, ranks, by_size, pairs, power, average_ranks, intervals: tables, as :mod:`tokbench.statistics` gives
            them; no intervals where the numbers of questions are not known.
    """

    name: str
    of: str
    accuracy: pl.DataFrame
    ranks: pl.DataFrame
    by_size: pl.DataFrame
    pairs: pl.DataFrame
    power: pl.DataFrame
    average_ranks: pl.DataFrame
    intervals: pl.DataFrame | None

    @property
    def order(self) -> list[str]:
        """Variants by rank, equal averages by name; without those that lack a cell."""
        known = self.ranks.filter(pl.col("average").is_not_null())
        return known.sort("rank", "variant")["variant"].to_list()


@cache
def compared() -> tuple[Compared, ...]:
    """The 18 variants, all variants at 40,960, the 1.3B models, and GreedTok's models."""
    small = tidy_facts.accuracy("pathpiece").filter(model=tidy_facts.MODEL, size=40960)
    large = tidy_facts.accuracy("pathpiece").filter(model="1.3B")
    greedtok = tidy_facts.accuracy("greedtok")
    return (
        _compared("350M", "18 variants at three vocabulary sizes, 350M models, ten tasks", tidy_facts.main_runs()),
        _compared("350M-40960", "26 variants at 40,960, those of appendix F too, 350M models, ten tasks", small),
        _compared("1.3B", "1.3B models at 40,960, ten tasks", large),
        _compared("greedtok-1B", "GreedTok's 1B models at 65,536, eleven tasks", greedtok),
    )


def _compared(name: str, of: str, accuracy: pl.DataFrame) -> Compared:
    pairs = compare_pairs(accuracy)
    known = accuracy["n"].null_count() == 0
    return Compared(
        name,
        of,
        accuracy,
        averages(accuracy),
        averages_by_size(accuracy),
        pairs,
        power_table(pairs),
        critical_differences(accuracy),
        average_intervals(accuracy) if known else None,
    )
