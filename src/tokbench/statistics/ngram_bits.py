"""Comparison of tokenizers by the bits of their token n-gram models: ranks over documents, and verdicts on pairs.

All tokenizers encode the same documents. Tokenizers that lose text have less to predict and are not ranked, nor are
undersized vocabularies. Pairs are tested by Student's t over documents. A bootstrap is unreliable for few documents: if
all of seven agree in sign, its p-value is the least possible.
"""

from collections.abc import Iterator, Mapping
from dataclasses import astuple, dataclass
from math import fsum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.critical_difference import friedman, nemenyi
from tokbench.statistics.equal_size import FEWER, LEFT_OUT, NONE, Undersized
from tokbench.statistics.estimate import ratio_over_documents
from tokbench.statistics.judgements import judge, judgement_columns
from tokbench.statistics.pairs import WHICH, compared, unordered
from tokbench.statistics.verdicts import NOT_TESTED
from tokbench.tabulation.columns import CANNOT, CORPUS, ORDER, P_VALUE, REASON, SIZE, TRAINING_BYTES, VARIANT, A, B
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]
KEY = ("corpus", "training_bytes", "order", "size")


def rank_ngram_bits(ngram_documents: pl.DataFrame, fewer: Undersized = NONE) -> pl.DataFrame:
    """Return average ranks of variants over documents, and Nemenyi's critical difference.

    Args:
        ngram_documents: bits of every document by token n-gram models.
        fewer: variant and size of undersized vocabularies, which are not ranked; see
            :mod:`tokbench.statistics.equal_size` (default: none).

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
    """Variants of a corpus, order, budget and size.

    Attributes:
        key: values of :data:`KEY`.
        variants: ranked variants, in alphabetical order.
        smaller: variants with undersized vocabularies, in alphabetical order.
        bits: float64 [documents, variants].
    """

    key: Row
    variants: list[str]
    smaller: list[str]
    bits: NDArray[np.float64]


def _groups(documents: pl.DataFrame, fewer: Undersized) -> Iterator[_Group]:
    """Yield groups with the documents that all their variants have."""
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
        Column("average_rank", pl.Float64, "mean over documents of its rank by bits (1 is fewest); ties share their "
               "average rank", "", "average rank", 2),
        Column("blocks", pl.Int64, "documents that rank the variants", "documents", "documents"),
        Column("friedman", pl.Float64, "Friedman's chi-squared over all variants, corrected for ties"),
        P_VALUE,
        Column("critical_difference", pl.Float64,
               "Nemenyi's smallest difference of average ranks that is significant at level 0.05", "",
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
            "fewest bits to the left. A bar joins variants without a significant difference in Nemenyi's test at level "
            "0.05. "
            + CANNOT,
            by=("corpus", "training_bytes", "order", "size"),
            files=("ngram_bits/{variant}/{size}.json",),
            arranged=True,
            form="figure",
        ),
    ),
)  # fmt: skip


PLACE = ["document", "bytes"]
ONE_DOCUMENT = "one document: how much other documents would differ is not known"


def judge_ngram_bits(
    ngram_documents: pl.DataFrame, baselines_of_tokenizers: Mapping[str, str], fewer: Undersized = NONE
) -> pl.DataFrame:
    """Compare every two tokenizers of a corpus, size, order and budget, by Student's t over documents.

    Returns:
        The columns of :data:`NGRAM_VERDICTS`, one row per unordered pair. With one document, or if one vocabulary is
        undersized, there is a difference without interval.
    """
    rows: list[tuple[Any, ...]] = []
    for key, part in ngram_documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        wide = part.pivot("variant", index=PLACE, values="bits").drop_nulls().filter(pl.col("bytes") > 0).sort(PLACE)
        bits = {name: wide[name].to_numpy() for name in wide.columns if name not in PLACE}
        sizes = wide["bytes"].to_numpy().astype(np.float64)
        if not len(sizes):
            continue
        lowest = min(bits, key=lambda one: (fsum(bits[one].tolist()), one))
        pairs = sorted({(min(p), max(p)) for p in unordered(compared(list(bits), lowest, baselines_of_tokenizers))})
        smaller = [pair for pair in pairs if any((name, key[-1]) in fewer for name in pair)]
        tested = [pair for pair in pairs if pair not in smaller] if len(sizes) > 1 else []
        judgements = judge([ratio_over_documents(bits[a] - bits[b], sizes) for a, b in tested])
        verdicts = dict(zip(tested, judgements, strict=True))
        for a, b in pairs:
            if (a, b) in verdicts:
                rows.append((*key, a, b, *astuple(verdicts[a, b]), len(sizes)))
                continue
            difference = fsum((bits[a] - bits[b]).tolist()) / fsum(sizes.tolist())
            verdict, reason = (NOT_TESTED, LEFT_OUT) if (a, b) in smaller else (None, ONE_DOCUMENT)
            rows.append((*key, a, b, difference, *[None] * 4, verdict, None, None, reason, len(sizes)))
    return pl.DataFrame(rows, schema=NGRAM_VERDICTS.schema, orient="row")


NGRAM_VERDICTS = TidyTable(
    "ngram_verdicts",
    f"two variants at a vocabulary size under the token n-gram models of an order and a budget; {WHICH}",
    (
        CORPUS,
        TRAINING_BYTES,
        ORDER,
        SIZE,
        A,
        B,
        *judgement_columns("by Student's t over documents", "all pairs of the corpus, size, order and budget"),
        Column("documents", pl.Int64, "test documents", "documents", "documents"),
    ),
    maker=judge_ngram_bits,
    takes=("ngram_documents", "baselines_of_tokenizers", "fewer"),
    prints=(
        Print(
            "statistics",
            "Bits per byte of a minus those of b at vocabulary size {size}, by token n-gram models of order {order} "
            "trained on {training_bytes} bytes, on the evaluation split of {corpus}; by Student's t over its "
            "documents, which allows for there being few. " + CANNOT,
            ("a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "detectable", "documents"),
            by=KEY,
            files=("ngram_bits/{a}/{size}.json", "ngram_bits/{b}/{size}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
)
