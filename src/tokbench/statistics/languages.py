"""Comparison of tokenizers over languages, with intervals for other languages of the same kind."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from math import fsum, sqrt
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.kernels.exact import exact_sum
from tokbench.statistics.equal_size import LEFT_OUT, NONE, Undersized
from tokbench.statistics.estimate import Estimate, Mixed, random_intercept
from tokbench.statistics.judgements import BITS, judge, judgement_columns
from tokbench.statistics.pairs import WHICH, compared, unordered
from tokbench.statistics.verdicts import NOT_TESTED, ONE_TRAINING
from tokbench.statistics.wilcoxon import deviation
from tokbench.tabulation.columns import CANNOT, CORPUS, MODEL, ORDER, SIZE, SUITE, TRAINING_BYTES, A, B
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]
NGRAM_KEY = ("corpus", "training_bytes", "order", "size")
MODEL_KEY = ("corpus", "model", "suite", "size")
PLACE = ["language", "document", "bytes"]


def ngrams_over_languages(
    ngram_documents: pl.DataFrame, baselines_of_tokenizers: Mapping[str, str], fewer: Undersized = NONE
) -> pl.DataFrame:
    """Compare every two tokenizers by the token n-gram models of the highest order on the largest budget.

    Returns:
        The columns of :data:`NGRAM_LANGUAGES`; no row for a corpus with fewer than two languages.
    """
    last = [pl.col(name) == pl.col(name).max().over("corpus") for name in ("order", "training_bytes")]
    frame = ngram_documents.filter(last).with_columns(seed=pl.lit(0))
    rows = [row for row, _ in _compared(frame, NGRAM_KEY, baselines_of_tokenizers, fewer)]
    return pl.DataFrame(rows, schema=NGRAM_LANGUAGES.schema, orient="row")


def models_over_languages(
    bits_by_seed: pl.DataFrame, baselines: Mapping[str, str], fewer: Undersized = NONE
) -> pl.DataFrame:
    """Compare every two tokenizers by the language models of a corpus, suite and size, over languages and seeds.

    Returns:
        The columns of :data:`BITS_LANGUAGES`; no row for a corpus with fewer than two languages. With one seed there is
        a difference without interval. There is no test with fewer than three seeds, or if one of the two vocabularies
        is undersized.
    """
    rows = [(*row, seeds) for row, seeds in _compared(bits_by_seed, MODEL_KEY, baselines, fewer, trained=True)]
    return pl.DataFrame(rows, schema=BITS_LANGUAGES.schema, orient="row")


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

    def linearized(self, bits: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        """Return for each language an array with a value per document whose mean is the language's ratio.

        See :func:`tokbench.statistics.estimate.ratio_over_both` for the linearization.
        """
        found = []
        for part, size in self._parts(bits):
            ratio = exact_sum(part) / exact_sum(size)
            found.append(ratio + len(part) * (part - ratio * size) / exact_sum(size))
        return found

    def _parts(self, bits: NDArray[np.float64]) -> Iterator[tuple[NDArray[np.float64], NDArray[np.float64]]]:
        return zip(np.split(bits, self.starts), np.split(self.sizes, self.starts), strict=True)


def _compared(
    frame: pl.DataFrame,
    key: Sequence[str],
    baselines: Mapping[str, str],
    fewer: Undersized,
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
        lowest = min(bits, key=lambda one: (fsum(map(fsum, bits[one].values())) / len(bits[one]), one))
        pairs = sorted({(min(pair), max(pair)) for pair in unordered(compared(sorted(bits), lowest, baselines))})
        found = {pair: _estimated(text, bits[pair[0]], bits[pair[1]], trained) for pair in pairs}
        for pair, (fit, _, seeds) in found.items():
            if any((name, head[-1]) in fewer for name in pair):
                found[pair] = fit, LEFT_OUT, seeds
        tested = [pair for pair in pairs if not isinstance(found[pair][1], str)]
        judged = dict(zip(tested, judge([found[pair][1] for pair in tested]), strict=True))  # type: ignore[misc]
        for pair in pairs:
            fit, one, seeds = found[pair]
            row = astuple(judged[pair]) if pair in judged else (fit.mean, *[None] * 4, NOT_TESTED, None, None, one)
            yield (*head, *pair, *row, fit.between, fit.within, languages, len(filled)), seeds


def _bits(part: pl.DataFrame, wanted: pl.DataFrame) -> dict[str, dict[int | None, NDArray[np.float64]]]:
    """Return bits of the wanted documents, by variant and by each seed that has all of them."""
    bits: dict[str, dict[int | None, NDArray[np.float64]]] = {}
    for (variant, seed), one in part.group_by("variant", "seed", maintain_order=True):
        lined_up = wanted.join(one, on=PLACE, how="inner", maintain_order="left")
        if len(lined_up) == len(wanted):
            bits.setdefault(str(variant), {})[seed] = lined_up["bits"].to_numpy()
    return bits


def _estimated(
    text: _Text, a: Mapping[int | None, NDArray[np.float64]], b: Mapping[int | None, NDArray[np.float64]], trained: bool
) -> tuple[Mixed, Estimate | str, int]:
    """Fit the differences, means over common seeds.

    Returns:
        The fit; the estimate to test, or the reason why there is none; the number of common seeds.
    """
    seeds = [seed for seed in a if seed in b]
    apart = [a[seed] - b[seed] for seed in seeds] or [next(iter(a.values())) - next(iter(b.values()))]
    fit = random_intercept(text.linearized(np.mean(apart, axis=0)))
    degrees = float(len(text.starts))
    if not trained:
        return fit, Estimate(fit.mean, fit.error, degrees), len(seeds)
    if len(seeds) < 2:
        return fit, ONE_TRAINING if seeds else "no seed in common", len(seeds)
    spread = deviation([fsum(ratios) / len(ratios) for ratios in map(text.ratios, apart)]) or 0.0
    of_seeds, of_languages = spread**2 / len(seeds), fit.error**2
    whole = of_seeds + of_languages
    parts = of_seeds**2 / (len(seeds) - 1) + of_languages**2 / degrees
    freedom = whole * whole / parts if parts else degrees
    return fit, Estimate(fit.mean, sqrt(whole), freedom, len(seeds)), len(seeds)


_COMMON = (
    Column("between", pl.Float64, "standard deviation of the difference between languages", BITS,
           "between languages", 4),
    Column("within", pl.Float64, "standard deviation of a document's difference within a language", BITS),
    Column("languages", pl.Int64, "languages that the difference is over", "languages", "languages"),
    Column("documents", pl.Int64, "documents in these languages", "documents", "documents"),
)  # fmt: skip
_MODEL = (
    "a linear model with a random intercept by language, fitted by restricted maximum likelihood; t has one degree of "
    "freedom less than languages"
)
_SHOWN = ("a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "detectable", "between", "languages")
NGRAM_LANGUAGES = TidyTable(
    "ngram_languages",
    "two variants at a vocabulary size under the token n-gram models of the highest order and largest budget, over "
    f"languages; {WHICH}",
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
    takes=("ngram_documents", "baselines_of_tokenizers", "fewer"),
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
    f"two variants at a vocabulary size under a model and suite, over languages; {WHICH}",
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
    takes=("bits_by_seed", "baselines", "fewer"),
    prints=(
        Print(
            "statistics",
            "Bits per byte of a minus those of b over the languages of {corpus}, {model} at vocabulary size {size}: "
            f"{_MODEL}; the variance of the mean between seeds is added.",
            (*_SHOWN, "seeds"),
            by=MODEL_KEY,
            files=("downstream/{model}/{a}/{size}/{suite}.json", "downstream/{model}/{b}/{size}/{suite}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
    of_models=True,
)
