"""Comparison of tokenizers over languages, with intervals for other languages of the same kind.

A language is a unit: its difference is a ratio of sums over its documents, and languages have equal weight.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.statistics.comparisons.judgement_columns import BITS, judgement_columns
from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.comparisons.pair_selection import SELECTION, sorted_pairs
from tokbench.statistics.significance.estimate import Estimate, ratio
from tokbench.statistics.significance.judgements import judge
from tokbench.statistics.significance.wilcoxon import deviation
from tokbench.statistics.undersized import LEFT_OUT, NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CANNOT, CORPUS, MODEL, ORDER, SIZE, SUITE, TRAINING_BYTES, A, B
from tokbench.tabulation.table import Column, Print, TidyTable

Row = dict[str, Any]
NGRAM_KEY = ("corpus", "training_bytes", "order", "size")
MODEL_KEY = ("corpus", "model", "suite", "size")
PLACE = ["language", "document", "bytes"]
LANGUAGES = "languages"
_COMMON = (
    Column("between", pl.Float64, "standard deviation of the difference between languages", BITS,
           "between languages", 4),
    Column("languages", pl.Int64, "languages that the difference is over", "languages", "languages"),
    Column("documents", pl.Int64, "documents in these languages", "documents", "documents"),
)  # fmt: skip
_MODEL = "the unweighted mean over languages, which are the units of the interval"
_SHOWN = ("a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "detectable", "between", "languages")


def ngrams_over_languages(
    ngram_bits_by_document: pl.DataFrame,
    baselines_of_tokenizers: Mapping[str, str],
    undersized: Undersized = NO_UNDERSIZED,
) -> pl.DataFrame:
    """Compare every two tokenizers by the token n-gram models of the highest order on the largest budget.

    Returns:
        The columns of :data:`NGRAM_LANGUAGES`; no row for a corpus with fewer than two languages.
    """
    last = [pl.col(name) == pl.col(name).max().over("corpus") for name in ("order", "training_bytes")]
    frame = ngram_bits_by_document.filter(last).with_columns(seed=pl.lit(0))
    return NGRAM_LANGUAGES.frame(
        row for row, _ in _comparison_rows(frame, NGRAM_KEY, baselines_of_tokenizers, undersized)
    )


def models_over_languages(
    bits_by_document: pl.DataFrame, baselines: Mapping[str, str], undersized: Undersized = NO_UNDERSIZED
) -> pl.DataFrame:
    """Compare every two tokenizers by the language models of a corpus, suite and size, over languages and seeds.

    Returns:
        The columns of :data:`BITS_LANGUAGES`; no row for a corpus with fewer than two languages. With one seed there is
        a difference without interval. There is no test with fewer than three seeds or six languages, or if one of
        the two vocabularies is undersized.
    """
    rows = _comparison_rows(bits_by_document, MODEL_KEY, baselines, undersized, trained=True)
    return BITS_LANGUAGES.frame(row | {"seeds": seeds} for row, seeds in rows)


@dataclass(frozen=True)
class _Text:
    """Documents of a group, ordered by language.

    Attributes:
        sizes: float64 [documents], bytes.
        starts: int64, first document of each language except the first language.
    """

    sizes: NDArray[np.float64]
    starts: NDArray[np.int64]

    def ratios(self, bits: NDArray[np.float64]) -> list[float]:
        """Return bits / bytes of each language."""
        return [exact_sum(part) / exact_sum(size) for part, size in self._parts(bits)]

    def _parts(self, bits: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        return zip(np.split(bits, self.starts), np.split(self.sizes, self.starts), strict=True)


def _comparison_rows(
    frame: pl.DataFrame,
    key: Sequence[str],
    baselines: Mapping[str, str],
    undersized: Undersized,
    *,
    trained: bool = False,
) -> Iterator[tuple[Row, int]]:
    """Yield a row for each pair of each group with at least two languages, and the number of common seeds."""
    for head, part in frame.sort(*key, "variant").group_by(*key, maintain_order=True):
        variants = part["variant"].unique().sort().to_list()
        shared = part.group_by(PLACE).agg(pl.col("variant").n_unique()).filter(variant=len(variants)).sort(PLACE)
        filled = shared.filter((pl.col("bytes").sum().over("language") > 0) & (pl.col("language") != ""))
        languages = filled["language"].n_unique()
        if languages < 2:
            continue
        named = filled["language"]
        text = _Text(filled["bytes"].to_numpy().astype(np.float64), np.flatnonzero(named.ne_missing(named.shift()))[1:])
        bits = _bits(part, filled.select(PLACE))
        lowest = min(bits, key=lambda name: (fsum(map(fsum, bits[name].values())) / len(bits[name]), name))
        pairs = sorted_pairs(sorted(bits), lowest, baselines)
        results = {pair: _estimate(text, bits[pair[0]], bits[pair[1]], trained) for pair in pairs}
        smaller = [pair for pair in pairs if any((name, head[-1]) in undersized for name in pair)]
        estimates = [results[pair][0].exclude(LEFT_OUT) if pair in smaller else results[pair][0] for pair in pairs]
        for pair, judgement in zip(pairs, judge(estimates), strict=True):
            _, between, seeds = results[pair]
            row = dict(zip((*key, "a", "b"), (*head, *pair), strict=True)) | asdict(judgement)
            yield row | {"between": between, "languages": languages, "documents": len(filled)}, seeds


def _bits(part: pl.DataFrame, places: pl.DataFrame) -> dict[str, dict[int | None, NDArray[np.float64]]]:
    """Return bits of the wanted documents, by variant and by each seed that has all of them."""
    bits: dict[str, dict[int | None, NDArray[np.float64]]] = {}
    for (variant, seed), of_run in part.group_by("variant", "seed", maintain_order=True):
        lined_up = places.join(of_run, on=PLACE, how="inner", maintain_order="left")
        if len(lined_up) == len(places):
            bits.setdefault(str(variant), {})[seed] = lined_up["bits"].to_numpy()
    return bits


def _estimate(
    text: _Text, a: Mapping[int | None, NDArray[np.float64]], b: Mapping[int | None, NDArray[np.float64]], trained: bool
) -> tuple[Estimate, float, int]:
    """Return the mean difference over languages, which have equal weight.

    Returns:
        The estimate, over common seeds and languages; the standard deviation between languages; the number of common
        seeds. Without a common seed the difference is that of the first seeds, and is not tested.
    """
    seeds = [seed for seed in a if seed in b]
    differences = [a[seed] - b[seed] for seed in seeds] or [next(iter(a.values())) - next(iter(b.values()))]
    rows = np.array([text.ratios(difference) for difference in differences])
    estimate = ratio(rows, np.ones(rows.shape[1]), unit=LANGUAGES, trained=trained)
    assert estimate is not None
    between = deviation([fsum(of_language) / len(differences) for of_language in rows.T.tolist()]) or 0.0
    return estimate if seeds or not trained else estimate.exclude(NO_SEED), between, len(seeds)


NGRAM_LANGUAGES = TidyTable(
    "ngram_languages",
    "two variants at a vocabulary size under the token n-gram models of the highest order and largest budget, over "
    f"languages; {SELECTION}",
    (
        CORPUS,
        TRAINING_BYTES,
        ORDER,
        SIZE,
        A,
        B,
        *judgement_columns("over languages like these", "all pairs of the corpus and size"),
        *_COMMON,
    ),
    maker=ngrams_over_languages,
    takes=("ngram_bits_by_document", "baselines_of_tokenizers", "undersized"),
    prints=(
        Print(
            "statistics",
            "Bits per byte of a minus those of b over the languages of {corpus} at vocabulary size {size}, by token "
            f"n-gram models of order {{order}} trained on {{training_bytes}} bytes: {_MODEL}. {CANNOT}",
            _SHOWN,
            by=NGRAM_KEY,
            files=("ngram_bits/{a}/{size}.json", "ngram_bits/{b}/{size}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
)
BITS_LANGUAGES = TidyTable(
    "bits_languages",
    f"two variants at a vocabulary size under a model and suite, over languages; {SELECTION}",
    (
        CORPUS,
        MODEL,
        SUITE,
        SIZE,
        A,
        B,
        *judgement_columns("over languages like these, and seeds", "all pairs of the corpus, model, suite and size"),
        *_COMMON,
        Column("seeds", pl.Int64, "seeds that both were trained with", "seeds", "seeds"),
    ),
    maker=models_over_languages,
    takes=("bits_by_document", "baselines", "undersized"),
    prints=(
        Print(
            "statistics",
            "Bits per byte of a minus those of b over the languages of {corpus}, {model} at vocabulary size {size}: "
            f"{_MODEL}; it is over seeds, too.",
            (*_SHOWN, "seeds"),
            by=MODEL_KEY,
            files=("downstream/{model}/{a}/{size}/{suite}.json", "downstream/{model}/{b}/{size}/{suite}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)
