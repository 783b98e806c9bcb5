"""A language model's scores of the tokens around the end of a vocabulary, and the estimates that are made of them."""

from collections.abc import Iterator
from math import fsum
from typing import Any

import polars as pl

from tokbench.statistics.effects.discontinuity import Jump, jump, placebo_cutoffs

KEY = ("corpus", "variant", "size", "model")
"""Columns that identify a model."""
CUTOFF, PLACEBO = "cut-off", "placebo"
"""Kinds of estimates."""
BANDS = 3
"""Number of frequency bands, with about equal numbers of tokens."""


class ScoredModel:
    """Scores of one model with one tokenizer, over its seeds.

    Attributes:
        reach: number of ranks on each side of the cut-off.
        bandwidth: number of ranks on each side through which lines are fitted.
        seeds: number of seeds.
        outcomes: for each seed, mean log-probability of an occurrence in bits, by rank; of tokens that every seed
            scored.
        occurrences: occurrences by rank.
        uniform: outcome by rank if all tokens were equally probable, as before training; empty if it is not known.
    """

    def __init__(self, part: pl.DataFrame, bandwidth: int | None) -> None:
        ranks = part["rank"]
        self.reach = max(-int(str(ranks.min())), int(str(ranks.max())) + 1)
        self.bandwidth = max(self.reach // 4, 1) if bandwidth is None else bandwidth
        self.occurrences = dict(part.select("rank", "occurrences").iter_rows())
        scored = part.filter(pl.col("scored") > 0)
        by_seed = [
            {rank: bits / count for rank, bits, count in rows.select("rank", "bits", "scored").iter_rows()}
            for _, rows in scored.group_by("seed", maintain_order=True)
        ]
        self.seeds = len(by_seed)
        shared = set.intersection(*map(set, by_seed)) if by_seed else set()
        self.outcomes = [{rank: outcomes[rank] for rank in sorted(shared)} for outcomes in by_seed]
        uniform = scored.select("rank", "uniform_bits", "scored").drop_nulls().iter_rows()
        self.uniform = {rank: bits / count for rank, bits, count in uniform if rank in shared}

    @property
    def means(self) -> dict[int, float]:
        """Outcome by rank, mean over seeds."""
        first = self.outcomes[0] if self.outcomes else {}
        return {rank: fsum(outcomes[rank] for outcomes in self.outcomes) / self.seeds for rank in first}

    def bands(self) -> list[tuple[int, int | None]]:
        """Return the fewest and most occurrences of each frequency band; None for no limit.

        The limits divide the tokens within a bandwidth of the cut-off into thirds. Equal counts are in the same band.
        Occurrences are those in the text as segmented by the longer vocabulary, which does not depend on the cut-off.
        """
        near = (rank for rank in self.means if -self.bandwidth <= rank < self.bandwidth)
        counts = sorted(self.occurrences[rank] for rank in near)
        if not counts:
            return []
        starts = sorted({counts[len(counts) * band // BANDS] for band in range(BANDS)} | {counts[0]})
        return list(zip(starts, [*(start - 1 for start in starts[1:]), None], strict=True))

    def fits(self) -> Iterator[tuple[str, int, int, str, set[int] | None]]:
        """Yield kind, cut-off, bandwidth, frequency band and its ranks (None for all) of every estimate."""
        for bandwidth in (self.bandwidth, max(self.bandwidth // 2, 1), min(2 * self.bandwidth, self.reach)):
            yield CUTOFF, 0, bandwidth, "", None
        for low, high in self.bands():
            ranks = {
                rank for rank, count in self.occurrences.items() if low <= count and (high is None or count <= high)
            }
            yield CUTOFF, 0, self.bandwidth, f"{low} or more" if high is None else f"{low} to {high}", ranks
        for cutoff in placebo_cutoffs(self.reach, self.bandwidth):
            yield PLACEBO, cutoff, self.bandwidth, "", None


def scored_models(token_scores: pl.DataFrame, bandwidth: int | None) -> Iterator[tuple[tuple[Any, ...], ScoredModel]]:
    """Yield each model with its values of the columns ``KEY``.

    Args:
        token_scores: scores of tokens with a column ``seed``.
        bandwidth: ranks on each side of a cut-off. Default: a quarter of the scored ranks on a side.
    """
    for key, part in token_scores.group_by(*KEY, maintain_order=True):
        yield key, ScoredModel(part, bandwidth)


def jump_of(outcomes: dict[int, float], cutoff: int, bandwidth: int, ranks: set[int] | None) -> Jump | None:
    """Return the jump of outcomes by rank at a cut-off, of some ranks (None for all); None for too few tokens."""
    points = [(rank, value) for rank, value in outcomes.items() if ranks is None or rank in ranks]
    return jump(points, cutoff, bandwidth)
