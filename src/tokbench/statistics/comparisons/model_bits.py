"""Tokenizers compared by the bits per byte of language models, paired by seed and document.

Two tokenizers at one size, under one model and budget, are trained from the same seeds and tested on the same
documents. Differences are computed by seed and document. The interval covers both sources: training the models again,
and testing on other documents.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from math import fsum, sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.comparisons.judgement_columns import BITS, judgement_columns
from tokbench.statistics.comparisons.pair_selection import SELECTION, sorted_pairs
from tokbench.statistics.significance.estimate import DOCUMENTS, Estimate, ratio, ratio_over_both
from tokbench.statistics.significance.judgements import Judgement, judge
from tokbench.statistics.significance.verdicts import NOT_TESTED, in_full
from tokbench.statistics.significance.wilcoxon import deviation
from tokbench.statistics.undersized import LEFT_OUT, NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CORPUS, MODEL, SIZE, SUITE, A, B
from tokbench.tabulation.table import Column, Print, TidyTable

Row = dict[str, Any]
Pair = tuple[str, str]
KEY = ("corpus", "model", "suite", "size")
NO_SEED = "no seed in common"
DOCUMENTS_EACH: Mapping[str, str] = {}
"""Names of units of no corpus: each document is a unit."""
_FILES = ("downstream/{model}/{a}/{size}/{suite}.json", "downstream/{model}/{b}/{size}/{suite}.json")


def compare_model_bits(
    bits_by_seed: pl.DataFrame,
    baselines: Mapping[str, str],
    undersized: Undersized = NO_UNDERSIZED,
    unit_names: Mapping[str, str] = DOCUMENTS_EACH,
) -> pl.DataFrame:
    """Compare every two tokenizers of a corpus, model, suite and size.

    Args:
        bits_by_seed: table of bits by document with a column ``seed``, which is null for models trained once. Models
            that differ only in the seed share a name.
        baselines: baseline by variant, used if there are many variants; see
            :func:`tokbench.statistics.comparisons.pair_selection.select_pairs`.
        undersized: variant and size of undersized vocabularies, which are not tested; see
            :mod:`tokbench.statistics.significance.eligibility` (default: none).
        unit_names: name of the units by corpus (default: documents).

    Returns:
        One row for each unordered pair, over common seeds and documents: the columns of :data:`BITS_COMPARISONS`. With
        one seed the interval is over documents only; with one document there is none.
    """
    rows: list[Row] = []
    for group in groups(bits_by_seed, unit_names):
        lowest = min(group.variants, key=lambda name: (group.level(name), name))
        pairs = sorted_pairs(group.variants, lowest, baselines)
        known = {pair: estimate for pair in pairs if (estimate := group.difference(*pair, undersized)) is not None}
        judgements = dict(zip(known, judge(list(known.values())), strict=True))
        rows += [group.row(pair, judgements.get(pair)) for pair in pairs]
    return BITS_COMPARISONS.frame(rows)


@dataclass(frozen=True)
class VariantGroup:
    """Variants of a corpus, model, suite and size.

    Attributes:
        key: values of :data:`KEY`.
        bits: float64 [documents] by variant and seed; a seed that lacks a document is left out.
        sizes: float64 [documents], bytes of the documents.
        unit: name of the documents, if they are other units (default: "documents").
    """

    key: tuple[Any, ...]
    bits: Mapping[str, Mapping[int | None, NDArray[np.float64]]]
    sizes: NDArray[np.float64]
    unit: str = DOCUMENTS

    @property
    def variants(self) -> list[str]:
        """Variants in alphabetical order."""
        return sorted(self.bits)

    def level(self, variant: str) -> float:
        """Return bits of all documents, a mean over seeds."""
        return fsum(fsum(of_seed.tolist()) for of_seed in self.bits[variant].values()) / len(self.bits[variant])

    def common_seeds(self, a: str, b: str) -> list[int | None]:
        """Return the seeds that both variants have."""
        return [seed for seed in self.bits[a] if seed in self.bits[b]]

    def pair_runs(self, a: str, b: str) -> NDArray[np.float64]:
        """Return the differences of the bits of common seeds, float64 [seeds, documents]."""
        seeds = self.common_seeds(a, b)
        return np.stack([self.bits[a][seed] - self.bits[b][seed] for seed in seeds])

    def difference(self, a: str, b: str, undersized: Undersized = NO_UNDERSIZED) -> Estimate | None:
        """Return the difference over common seeds and documents; None if there is no common seed.

        Args:
            a, b: the variants.
            undersized: variant and size of undersized vocabularies (default: none).
        """
        if not self.common_seeds(a, b):
            return None
        estimate = ratio(self.pair_runs(a, b), self.sizes, unit=self.unit, trained=True)
        smaller = any((name, self.key[-1]) in undersized for name in (a, b))
        return estimate if estimate is None or not smaller else estimate.exclude(LEFT_OUT)

    def row(self, pair: Pair, judgement: Judgement | None) -> Row:
        """Return a row of the table."""
        seeds = self.common_seeds(*pair)
        units = int((self.sizes > 0).sum())
        head = dict(zip((*KEY, "a", "b"), (*self.key, *pair), strict=True))
        row: Row = {**head, "seeds": len(seeds), "documents": units}
        if judgement is None:
            return row | {"verdict": NOT_TESTED, "reason": in_full(NO_SEED)}
        if len(seeds) > 1 and units > 1:
            filled = self.sizes > 0
            ratio_of_both = ratio_over_both(self.pair_runs(*pair)[:, filled], self.sizes[filled])
            row |= {"seed_deviation": ratio_of_both.seed_deviation, "document_error": ratio_of_both.document_error}
            row["run_deviation"] = self.run_deviation(pair, seeds)
        return row | asdict(judgement)

    def run_deviation(self, pair: Pair, seeds: list[int | None]) -> float:
        """Return the standard deviation of a tokenizer's bits per byte between seeds, pooled over the pair."""
        whole = fsum(self.sizes.tolist())
        deviations = [
            deviation([fsum(self.bits[variant][seed].tolist()) / whole for seed in seeds]) or 0.0 for variant in pair
        ]
        return sqrt(fsum(value * value for value in deviations) / 2)


def groups(documents: pl.DataFrame, unit_names: Mapping[str, str] = DOCUMENTS_EACH) -> Iterator[VariantGroup]:
    """Yield groups with the documents that all their variants have, and the seeds that have all of these.

    Args:
        documents: bits of every document, or unit, by seed.
        unit_names: name of the units by corpus (default: documents).
    """
    for key, part in documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        variants = part["variant"].n_unique()
        place = ["document", "language", "bytes"]
        shared = part.group_by(place).agg(pl.col("variant").n_unique()).filter(variant=variants).sort(place)
        if not shared["bytes"].sum():
            continue
        bits: dict[str, dict[int | None, NDArray[np.float64]]] = {}
        places = shared.select(place)
        for (variant, seed), of_run in part.group_by("variant", "seed", maintain_order=True):
            lined_up = places.join(of_run, on=place, how="inner", maintain_order="left")
            if len(lined_up) == len(places):
                bits.setdefault(str(variant), {})[seed] = lined_up["bits"].to_numpy()
        if bits:
            unit = unit_names.get(str(key[0]), DOCUMENTS)
            yield VariantGroup(key, bits, shared["bytes"].to_numpy().astype(np.float64), unit)


BITS_COMPARISONS = TidyTable(
    "bits_comparisons",
    f"two variants at a vocabulary size under a model and suite; {SELECTION}",
    (
        CORPUS,
        MODEL,
        SUITE,
        SIZE,
        A,
        B,
        *judgement_columns("seeds and documents as crossed random effects",
                           "all pairs of the corpus, model, suite and size"),
        Column("seeds", pl.Int64, "seeds that both models were trained with", "seeds"),
        Column("documents", pl.Int64, "documents that both models were tested on", "documents"),
        Column("run_deviation", pl.Float64, "standard deviation of a tokenizer's bits per byte between seeds, "
               "pooled over the two", BITS, "deviation of a run", 4),
        Column("seed_deviation", pl.Float64, "standard deviation of the paired difference between seeds", BITS,
               "of the difference", 4),
        Column("document_error", pl.Float64, "part of the difference's standard error that is due to the documents; "
               "more seeds do not reduce it", BITS, "error by documents", 4),
    ),
    maker=compare_model_bits,
    takes=("bits_by_seed", "baselines", "undersized", "unit_names"),
    prints=(
        Print(
            "statistics",
            "Bits per byte of a minus those of b, {model} on the evaluation split of {corpus} at vocabulary size "
            "{size}, paired by seed and document; the 95 % interval allows for both. Fewer bits are better. Where "
            "Holm's procedure finds no significant difference, the table shows which differences are excluded. A test "
            "needs three seeds and six documents.",
            (
                "a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "detectable", "seeds",
                "documents", "seed_deviation", "document_error",
            ),
            by=("corpus", "model", "suite", "size"),
            files=_FILES,
            folds_above=20,
            arranged=True,
        ),
    ),
    of_models=True,
)  # fmt: skip
