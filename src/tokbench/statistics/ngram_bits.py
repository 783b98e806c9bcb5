"""Tokenizers ranked by the bits of their token n-gram models, document by document.

All tokenizers encode the same documents. Those that lose some of a text have less to predict, and are not ranked, nor
are vocabularies that have fewer tokens than others of their size; how much two differ,
:mod:`tokbench.statistics.ngram_verdicts` tells.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.critical_difference import friedman, nemenyi
from tokbench.statistics.equal_size import FEWER, NONE, Fewer
from tokbench.tidy.columns import CORPUS, P_VALUE, REASON, SIZE, VARIANT
from tokbench.tidy.ngrams import CANNOT, ORDER, TRAINING_BYTES
from tokbench.tidy.table import Column, Print, TidyTable

Row = tuple[Any, ...]
KEY = ("corpus", "training_bytes", "order", "size")


def rank_ngram_bits(ngram_documents: pl.DataFrame, fewer: Fewer = NONE) -> pl.DataFrame:
    """Average rank of each variant over documents, and Nemenyi's critical difference.

    Args:
        ngram_documents: bits of every document by token n-gram models.
        fewer: variant and size of those that are not ranked, see :mod:`tokbench.statistics.equal_size`.

    Returns:
        One row per corpus, budget, order, size and variant: ``average_rank``, ``blocks`` (documents), ``friedman``
        with its ``p_value``, ``critical_difference``.
    """
    rows: list[Row] = []
    for group in _groups(ngram_documents, fewer):
        several = len(group.variants) > 1
        ranks, statistic, p_value = friedman(group.bits) if group.variants else ([], None, None)
        critical = nemenyi(len(group.variants), len(group.bits)) if several else None
        reason = None if several else "there is no other variant"
        rows += [
            (*group.key, variant, rank, len(group.bits), statistic, p_value, critical, reason)
            for rank, variant in sorted(zip(ranks, group.variants, strict=True))
        ]
        rows += [(*group.key, variant, None, len(group.bits), None, None, None, FEWER) for variant in group.smaller]
    return pl.DataFrame(rows, schema=NGRAM_RANKS.schema, orient="row")


@dataclass(frozen=True)
class _Group:
    """The variants of a corpus, order, budget and size.

    Attributes:
        key: see :data:`KEY`.
        variants: that are ranked, in alphabetical order.
        smaller: those that have fewer tokens than others, likewise.
        bits: float64 [documents, variants].
    """

    key: Row
    variants: list[str]
    smaller: list[str]
    bits: NDArray[np.float64]


def _groups(documents: pl.DataFrame, fewer: Fewer) -> Iterator[_Group]:
    """Documents that a variant lacks are left out of its group."""
    for key, part in documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        wide = part.pivot("variant", index=["document", "bytes"], values="bits").drop_nulls().sort("document")
        names = [name for name in wide.columns if name not in ("document", "bytes")]
        variants = [name for name in names if (name, key[-1]) not in fewer]
        smaller = [name for name in names if name not in variants]
        if wide["bytes"].sum():
            yield _Group(key, variants, smaller, wide.select(variants).to_numpy())


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
    takes=("ngram_documents", "fewer"),
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
