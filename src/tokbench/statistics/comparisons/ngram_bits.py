"""Comparison of tokenizers by the bits of their token n-gram models: ranks over documents, and verdicts on pairs.

All tokenizers encode the same documents. Tokenizers that lose text have less to predict and are not ranked, nor are
undersized vocabularies. Pairs are tested over documents.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import fsum
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.cells import by_variant
from tokbench.statistics.comparisons.judgement_columns import judgement_columns
from tokbench.statistics.comparisons.model_bits import DOCUMENTS_EACH
from tokbench.statistics.comparisons.pair_selection import SELECTION, sorted_pairs
from tokbench.statistics.significance.eligibility import FEWER
from tokbench.statistics.significance.estimate import DOCUMENTS, ratio
from tokbench.statistics.significance.friedman import friedman, nemenyi
from tokbench.statistics.significance.judgements import Judgement, judge
from tokbench.statistics.undersized import LEFT_OUT, NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CANNOT, CORPUS, ORDER, P_VALUE, REASON, SIZE, TRAINING_BYTES, VARIANT, A, B
from tokbench.tabulation.table import Column, Print, TidyTable

Row = tuple[Any, ...]
KEY = ("corpus", "training_bytes", "order", "size")
PLACE = ("document", "bytes")


def rank_ngram_bits(ngram_documents: pl.DataFrame, undersized: Undersized = NO_UNDERSIZED) -> pl.DataFrame:
    """Return average ranks of variants over documents, and Nemenyi's critical difference.

    Args:
        ngram_documents: bits of every document by token n-gram models.
        undersized: variant and size of undersized vocabularies, which are not ranked; see
            :mod:`tokbench.statistics.undersized` (default: none).

    Returns:
        One row per corpus, budget, order, size and variant: ``average_rank``, ``blocks`` (documents), ``friedman``
        with its ``p_value``, ``critical_difference``.
    """
    rows: list[dict[str, Any]] = []
    for group in _groups(ngram_documents, undersized):
        has_rivals = len(group.variants) > 1
        ranks, statistic, p_value = friedman(group.bits) if group.variants else ([], None, None)
        critical = nemenyi(len(group.variants), len(group.bits)) if has_rivals else None
        reason = None if has_rivals else "there is no other variant"
        head = dict(zip(KEY, group.key, strict=True)) | {"blocks": len(group.bits)}
        tests = {"friedman": statistic, "p_value": p_value, "critical_difference": critical, "reason": reason}
        for rank, variant in sorted(zip(ranks, group.variants, strict=True)):
            rows.append(head | {"variant": variant, "average_rank": rank} | tests)
        rows += [head | {"variant": variant, "reason": FEWER} for variant in group.smaller]
    return NGRAM_RANKS.frame(rows)


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


def _groups(documents: pl.DataFrame, undersized: Undersized) -> Iterator[_Group]:
    """Yield groups with the documents that all their variants have."""
    for key, part in documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        shared, bits = by_variant(part, PLACE, "bits")
        variants = [name for name in bits if (name, key[-1]) not in undersized]
        smaller = [name for name in bits if name not in variants]
        if shared["bytes"].sum():
            chosen = [bits[name] for name in variants]
            yield _Group(key, variants, smaller, np.stack(chosen, 1) if chosen else np.empty((len(shared), 0)))


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
    takes=("ngram_documents", "undersized"),
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


def judge_ngram_bits(
    ngram_documents: pl.DataFrame,
    baselines_of_tokenizers: Mapping[str, str],
    undersized: Undersized = NO_UNDERSIZED,
    unit_names: Mapping[str, str] = DOCUMENTS_EACH,
) -> pl.DataFrame:
    """Compare every two tokenizers of a corpus, size, order and budget over documents.

    Returns:
        The columns of :data:`NGRAM_VERDICTS`, one row per unordered pair. With one document there is no interval.
        Nothing is tested with fewer than six documents, or if one vocabulary is undersized.
    """
    rows: list[dict[str, Any]] = []
    for key, part in ngram_documents.sort(*KEY, "variant").group_by(*KEY, maintain_order=True):
        shared, bits = by_variant(part.filter(pl.col("bytes") > 0), PLACE, "bits")
        sizes = shared["bytes"].to_numpy().astype(np.float64)
        if not len(sizes):
            continue
        lowest = min(bits, key=lambda name: (fsum(bits[name].tolist()), name))
        pairs = sorted_pairs(list(bits), lowest, baselines_of_tokenizers)
        unit = unit_names.get(str(key[0]), DOCUMENTS)
        judgements = judge_differences(bits, sizes, pairs, key[-1], undersized, unit)
        for (a, b), judgement in zip(pairs, judgements, strict=True):
            row = dict(zip(KEY, key, strict=True)) | {"a": a, "b": b, "documents": len(sizes)}
            rows.append(row | asdict(judgement))
    return NGRAM_VERDICTS.frame(rows)


def judge_differences(
    parts: Mapping[str, NDArray[np.float64]],
    wholes: NDArray[np.float64],
    pairs: Sequence[tuple[str, str]],
    size: int,
    undersized: Undersized,
    unit: str,
) -> list[Judgement]:
    """Judge the differences of pairs of tokenizers on the same documents.

    Args:
        parts: numerators of each variant, float64 [documents].
        wholes: denominators, float64 [documents], all above zero.
        pairs: pairs of variants, a and b.
        size: vocabulary size.
        undersized: variant and size of undersized vocabularies, which are not tested.
        unit: name of the documents, if they are other units.
    """
    estimates = []
    for a, b in pairs:
        estimate = ratio(parts[a] - parts[b], wholes, unit=unit)
        assert estimate is not None
        smaller = any((name, size) in undersized for name in (a, b))
        estimates.append(estimate.exclude(LEFT_OUT) if smaller else estimate)
    return judge(estimates)


NGRAM_VERDICTS = TidyTable(
    "ngram_verdicts",
    f"two variants at a vocabulary size under the token n-gram models of an order and a budget; {SELECTION}",
    (
        CORPUS,
        TRAINING_BYTES,
        ORDER,
        SIZE,
        A,
        B,
        *judgement_columns("over documents", "all pairs of the corpus, size, order and budget"),
        Column("documents", pl.Int64, "test documents", "documents", "documents"),
    ),
    maker=judge_ngram_bits,
    takes=("ngram_documents", "baselines_of_tokenizers", "undersized", "unit_names"),
    prints=(
        Print(
            "statistics",
            "Bits per byte of a minus those of b at vocabulary size {size}, by token n-gram models of order {order} "
            "trained on {training_bytes} bytes, on the evaluation split of {corpus}, over its "
            "documents. " + CANNOT,
            ("a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "detectable", "documents"),
            by=KEY,
            files=("ngram_bits/{a}/{size}.json", "ngram_bits/{b}/{size}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
)
