"""Tokenizers compared by the bits of their token n-gram models, document by document.

Two tokenizers encode the same documents, so that their bits are paired. Documents are drawn with replacement, the same
draws for all pairs, and the statistic is the difference of bits over the bytes of those drawn: long documents weigh
more, as they do in bits per byte. With few documents an interval says how much these vary, and no more. Tokenizers that
lose some of a text have less to predict, and are not compared.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum, log2
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.corrections import holm
from tokbench.statistics.critical_difference import friedman, nemenyi
from tokbench.statistics.pairing import WHICH, compared
from tokbench.statistics.power import ALPHA
from tokbench.tidy.columns import CORPUS, P_VALUE, REASON, SIZE, VARIANT, A, B
from tokbench.tidy.ngrams import CANNOT, ORDER, TRAINING_BYTES
from tokbench.tidy.table import PROBABILITY, Column, Print, TidyTable

RESAMPLES = 10_000
AT_A_TIME = 1 << 22
"""Draws of documents that are held at a time."""
Row = tuple[Any, ...]
KEY = ("corpus", "training_bytes", "order", "size")


def compare_ngram_bits(ngram_documents: pl.DataFrame, baselines_of_tokenizers: Mapping[str, str]) -> pl.DataFrame:
    """Every two tokenizers of a corpus and size, by the models of each order and budget.

    Args:
        ngram_documents: the tidy table of bits by document.
        baselines_of_tokenizers: each variant's, for pairs where variants are many; see
            :func:`tokbench.statistics.pairing.compared`.

    Returns:
        A row for each pair, each two variants once: ``difference`` in bits per byte, a minus b, with its interval,
        ``p_value`` by the bootstrap (two-sided, 1 / 10,001 at least), ``holm`` among all pairs of that corpus, size,
        order and budget, and ``lower``: the one that is told to need less, here and by the model of this order on
        every other budget.
    """
    rows: list[Row] = []
    for group in _groups(ngram_documents):
        pairs = compared(group.variants, min(group.totals, key=group.totals.__getitem__), baselines_of_tokenizers)
        rows += _tested(group, sorted({(min(pair), max(pair)) for pair in pairs}))
    frame = pl.DataFrame(rows, schema=NGRAM_COMPARISONS.schema, orient="row")
    fewer = pl.when(pl.col("difference") < 0).then(pl.col("a")).otherwise(pl.col("b"))
    here = pl.when(pl.col("holm") <= ALPHA).then(fewer).otherwise(pl.lit(""))
    everywhere = here.n_unique().over("corpus", "order", "size", "a", "b") == 1
    told = pl.when(everywhere).then(here).otherwise(pl.lit(""))
    return frame.with_columns(told.alias("lower")).sort(*KEY, "a", "b")


def rank_ngram_bits(ngram_documents: pl.DataFrame) -> pl.DataFrame:
    """Average rank of each variant over documents, and Nemenyi's critical difference.

    Returns:
        One row per corpus, budget, order, size and variant: ``average_rank``, ``blocks`` (documents), ``friedman``
        with its ``p_value``, ``critical_difference``.
    """
    rows: list[Row] = []
    for group in _groups(ngram_documents):
        ranks, statistic, p_value = friedman(group.bits)
        several = len(group.variants) > 1
        critical = nemenyi(len(group.variants), len(group.bits)) if several else None
        reason = None if several else "there is no other variant"
        rows += [
            (*group.key, variant, rank, len(group.bits), statistic, p_value, critical, reason)
            for rank, variant in sorted(zip(ranks, group.variants, strict=True))
        ]
    return pl.DataFrame(rows, schema=NGRAM_RANKS.schema, orient="row")


@dataclass(frozen=True)
class _Group:
    """The variants of a corpus, order, budget and size.

    Attributes:
        key: see :data:`KEY`.
        variants: in alphabetical order.
        bits: float64 [documents, variants].
        sizes: int64 [documents], their bytes.
    """

    key: Row
    variants: list[str]
    bits: NDArray[np.float64]
    sizes: NDArray[np.int64]

    @property
    def totals(self) -> dict[str, float]:
        """Bits of all documents, by variant."""
        return {one: fsum(column) for one, column in zip(self.variants, self.bits.T.tolist(), strict=True)}


def given_back(ngram_documents: pl.DataFrame) -> pl.DataFrame:
    """The documents of the tokenizers that give back all of every text: others spell other documents than these."""
    return ngram_documents.filter(pl.col("bytes_lost").sum().over(*KEY, "variant") == 0)


def _groups(documents: pl.DataFrame) -> Iterator[_Group]:
    """Documents that a variant lacks are left out of its group."""
    for key, part in documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        wide = part.pivot("variant", index=["document", "bytes"], values="bits").drop_nulls().sort("document")
        variants = [name for name in wide.columns if name not in ("document", "bytes")]
        if wide["bytes"].sum():
            yield _Group(key, variants, wide.select(variants).to_numpy(), wide["bytes"].to_numpy())


def _resampled(bits: NDArray[np.float64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Bits per byte of documents drawn with replacement, float64 [resamples, variants]; the draws are those of all.

    Bits become whole numbers of a small unit, whose sums are exact in doubles: no library's order of additions shows.
    """
    rng = np.random.default_rng(0)
    count = len(sizes)
    unit = 2.0 ** min(20, 52 - ceil(log2(count * max(1.0, float(bits.max())))))
    whole = np.column_stack([np.rint(bits * unit), sizes])
    step = max(1, AT_A_TIME // count)
    found = []
    for first in range(0, RESAMPLES, step):
        number = min(step, RESAMPLES - first)
        places = rng.integers(count, size=(number, count)) + count * np.arange(number)[:, np.newaxis]
        times = np.bincount(places.ravel(), minlength=number * count).reshape(number, count)
        found.append(times.astype(np.float64) @ whole)
    drawn = np.concatenate(found)
    return np.asarray(drawn[:, :-1] / (unit * np.maximum(drawn[:, -1:], 1)))


def _tested(group: _Group, pairs: Sequence[tuple[str, str]]) -> list[Row]:
    """A row for each pair."""
    totals, documents = group.totals, len(group.sizes)
    total = int(group.sizes.sum())
    drawn = _resampled(group.bits, group.sizes) if documents > 1 and pairs else None
    place = {variant: number for number, variant in enumerate(group.variants)}
    found: list[tuple[float | None, ...]] = []
    for a, b in pairs:
        difference = (totals[a] - totals[b]) / total
        if drawn is None:
            found.append((difference, None, None, None))
            continue
        means = drawn[:, place[a]] - drawn[:, place[b]]
        low, high = np.quantile(means, [0.025, 0.975]).tolist()
        side = min(int((means <= 0).sum()), int((means >= 0).sum())) / RESAMPLES
        found.append((difference, low, high, min(1.0, max(2 * side, 1 / (1 + RESAMPLES)))))
    corrected = [None] * len(pairs) if drawn is None else holm([float(row[3] or 0) for row in found]).tolist()
    reason = "a test needs two documents" if drawn is None else None
    return [
        (*group.key, *pair, *row, adjusted, "", documents, reason)
        for pair, row, adjusted in zip(pairs, found, corrected, strict=True)
    ]


_BITS = "bits per byte"
NGRAM_COMPARISONS = TidyTable(
    "ngram_comparisons",
    f"two variants at a vocabulary size under the token n-gram models of an order and a budget; {WHICH}",
    (
        CORPUS,
        TRAINING_BYTES,
        ORDER,
        SIZE,
        A,
        B,
        Column("difference", pl.Float64, "of a minus that of b", _BITS, "a − b (bits per byte)", 4),
        Column("low", pl.Float64, "lower end of a 95 % interval of it, by the paired bootstrap over documents", _BITS,
               "low", 4),
        Column("high", pl.Float64, "upper end", _BITS, "high", 4),
        Column("p_value", pl.Float64, "two-sided p by the same resamples", PROBABILITY, "p"),
        Column("holm", pl.Float64, "p adjusted by Holm's procedure among all pairs of the corpus, size, order and "
               "budget", PROBABILITY, "p, Holm"),
        Column("lower", pl.String, "the one that needs fewer bits, where Holm's p tells so at level 0.05 on every "
               "budget of the order; empty where it does not", "", "told apart: lower"),
        Column("documents", pl.Int64, "test documents drawn from", "documents"),
        REASON,
    ),
    maker=compare_ngram_bits,
    takes=("ngram_documents", "baselines_of_tokenizers"),
)  # fmt: skip
NGRAM_RANKS = TidyTable(
    "ngram_ranks",
    "a variant at a vocabulary size under the token n-gram models of an order and a budget",
    (
        CORPUS,
        TRAINING_BYTES,
        ORDER,
        SIZE,
        VARIANT,
        Column("average_rank", pl.Float64, "mean over documents of its rank by bits, 1 the fewest; ties share theirs",
               "", "average rank", 2),
        Column("blocks", pl.Int64, "documents that rank the variants", "documents", "documents"),
        Column("friedman", pl.Float64, "Friedman's chi-squared over all variants, corrected for ties"),
        P_VALUE,
        Column("critical_difference", pl.Float64,
               "Nemenyi's: the least difference of average ranks that tells two variants apart at level 0.05", "",
               "critical difference", 2),
        REASON,
    ),
    maker=rank_ngram_bits,
    takes=("ngram_documents",),
    prints=(
        Print(
            "statistics",
            "Average rank of the variants at vocabulary size {size} over the documents of the evaluation split of "
            "{corpus}, by their bits under token n-gram models of order {order} trained on {training_bytes} bytes; the "
            "fewest bits to the left. A bar joins variants that Nemenyi's test at level 0.05 does not tell apart. "
            + CANNOT,
            by=("corpus", "training_bytes", "order", "size"),
            files=("ngram_bits/{variant}/{size}.json",),
            arranged=True,
            form="figure",
        ),
    ),
)  # fmt: skip
