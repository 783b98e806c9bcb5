"""Scoreboard: the most important measures of every tokenizer, ranked within each pre-tokenizer.

Every number has a difference from the baseline, with the interval and the verdict of one test. Differences are paired
over the documents, words, questions or seeds that were measured.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.equal_size import FEWER, Undersized, undersized_vocabularies
from tokbench.statistics.estimate import Estimate, interval, ratio_over_documents
from tokbench.statistics.ranks import (
    ALIKE,
    BASELINE,
    BEST,
    UNRANKED,
    UNTESTED,
    ComparisonFamily,
    Pretokenizers,
    Value,
    ranking_rows,
)
from tokbench.statistics.scoreboard_rows import METRIC, ONE_DOCUMENT, accuracies, alignment, model_bits, over_documents
from tokbench.statistics.verdicts import BETTER, NO_DIFFERENCE, WORSE
from tokbench.tabulation.columns import CORPUS, MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import PROBABILITY, Column, Print, TidyTable

TOKENS, GAP, NGRAM, BITS, ACCURACY, ALIGNMENT = (
    "tokens", "gap", "ngram_bits_per_byte", "bits_per_byte", "accuracy", "alignment",
)  # fmt: skip
UNCOUNTED = "tokens were not counted document by document"
LOSSY = "does not give back all of a text"
OWN_BOUND = "the bound is of this very text, not of others like it"
Documents = Mapping[str, NDArray[np.float64]]


def scoreboard(
    intrinsic: pl.DataFrame,
    imported: pl.DataFrame,
    tokens_by_document: pl.DataFrame,
    ngram_documents: pl.DataFrame,
    bits_by_seed: pl.DataFrame,
    ranks_by_size: pl.DataFrame,
    outcomes: pl.DataFrame,
    alignment_by_word: pl.DataFrame,
    baselines_of_all: Mapping[str, str],
    pretokenizers_of_all: Pretokenizers,
) -> pl.DataFrame:
    """Build the scoreboard: every measure of every tokenizer.

    Args:
        intrinsic: table of intrinsic metrics. Undersized vocabularies are not ranked.
        imported: table of external tokenizers; lossy ones are not ranked.
        tokens_by_document: token counts of documents, or of groups of them.
        ngram_documents: bits of documents by token n-gram models, without lossy tokenizers.
        bits_by_seed: bits of documents by language models, with a column ``seed``.
        ranks_by_size: average accuracies.
        outcomes: every answer, with a column ``seed`` if models have several.
        alignment_by_word: boundary counts of words of gold data.
        baselines_of_all: baseline by variant.
        pretokenizers_of_all: pre-tokenizer by variant; variants are ranked only within one.

    Returns:
        The columns of :data:`SCOREBOARD`.
    """
    lossy = set(imported.filter(pl.col("documents_changed").fill_null(1) > 0)["variant"])
    fewer = undersized_vocabularies(intrinsic)
    families = [
        *_tokens(intrinsic, tokens_by_document),
        *_ngram_bits(ngram_documents),
        *model_bits(BITS, bits_by_seed),
        *accuracies(ACCURACY, ranks_by_size, outcomes),
        *alignment(ALIGNMENT, _whole(intrinsic, METRIC), alignment_by_word),
    ]
    alike = (_of_equal_size(_without(family, lossy), fewer) for family in families)
    rows = [row for family in alike for row in ranking_rows(family, baselines_of_all, pretokenizers_of_all)]
    return pl.DataFrame(rows, schema=SCOREBOARD.schema, orient="row")


def _without(family: ComparisonFamily, lossy: set[str]) -> ComparisonFamily:
    """Return the family with lossy tokenizers unranked."""
    values = {
        name: one._replace(ranked=False, low=None, high=None, n=None, reason=one.reason or LOSSY)
        if name in lossy
        else one
        for name, one in family.values.items()
    }
    return replace(family, values=values)


def _of_equal_size(family: ComparisonFamily, fewer: Undersized) -> ComparisonFamily:
    """Return the family with undersized vocabularies unranked; missing tokens would bias the comparison."""
    size = family.head[1]
    values = {
        name: one._replace(ranked=False, reason=one.reason or FEWER) if (name, size) in fewer else one
        for name, one in family.values.items()
    }
    return replace(family, values=values)


def _whole(intrinsic: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return rows of one metric over full texts."""
    alone = pl.col("language").n_unique().over("corpus") == 1
    return intrinsic.filter((pl.col("language") == "") | alone).filter(metric=metric)


def _tokens(intrinsic: pl.DataFrame, documents: pl.DataFrame) -> Iterator[ComparisonFamily]:
    """Yield families for tokens of the evaluation split, and for the gap to the bound within each pre-tokenizer."""
    counted = _whole(intrinsic, "corpus_token_count").sort("corpus", "size", "variant")
    gaps = _whole(intrinsic, "gap")
    for (corpus, size), part in counted.group_by("corpus", "size", maintain_order=True):
        here = documents.filter(corpus=corpus, size=size)
        sizes, by_document = _by_document(here)
        values = {
            row["variant"]: _count(row, sizes, by_document.get(row["variant"])) for row in part.iter_rows(named=True)
        }
        head = (corpus, size, TOKENS, None, None, part["definition"][0])
        counted_in = {name: by_document[name] for name, one in values.items() if one.low is not None}
        over = ("documents" if here["documents"].max() == 1 else "groups of documents") if counted_in else ""
        untested = "" if counted_in else ONE_DOCUMENT if len(sizes) == 1 and by_document else UNCOUNTED
        yield ComparisonFamily(head, over, "lowest", values, partial(_more_tokens, counted_in), untested, relative=True)
        of_gap = gaps.filter(corpus=corpus, size=size)
        bound = {row["variant"]: Value(row["value"], reason=row["reason"]) for row in of_gap.iter_rows(named=True)}
        if bound:
            of = (corpus, size, GAP, None, None, of_gap["definition"][0])
            yield ComparisonFamily(of, "", "lowest", bound, untested=OWN_BOUND, same_pretokenizer=True)


def _by_document(documents: pl.DataFrame) -> tuple[NDArray[np.float64], Documents]:
    """Return bytes of the documents, and tokens of variants that have counts for every document."""
    part = documents.sort("variant", "document")
    if part.is_empty():
        return np.empty(0), {}
    wide = part.pivot("variant", index=["document", "bytes"], values="tokens").filter(pl.col("bytes") > 0)
    names = [name for name in wide.columns[2:] if not wide[name].null_count()]
    return _real(wide, "bytes"), {name: _real(wide, name) for name in names}


def _real(frame: pl.DataFrame, name: str) -> NDArray[np.float64]:
    return frame[name].to_numpy().astype(np.float64)


def _count(row: Mapping[str, Any], sizes: NDArray[np.float64], tokens: NDArray[np.float64] | None) -> Value:
    """Return the token count of a text with its interval over other documents of the same total size."""
    if row["value"] is None:
        return Value(None, reason=row["reason"])
    if tokens is None or len(sizes) < 2 or float(tokens.sum()) != row["value"]:
        return Value(row["value"])
    ends = interval(ratio_over_documents(tokens, sizes), float(sizes.sum()))
    return Value(row["value"], *ends, len(sizes))


def _more_tokens(by_document: Documents, a: str, b: str) -> Estimate | None:
    if a not in by_document or b not in by_document:
        return None
    return ratio_over_documents(by_document[a] - by_document[b], by_document[b])


def _ngram_bits(ngram_documents: pl.DataFrame) -> Iterator[ComparisonFamily]:
    """Yield families for bits per byte by the token n-gram models of the highest order and the largest budget."""
    last = [pl.col(name) == pl.col(name).max().over("corpus") for name in ("order", "training_bytes")]
    keys = ["corpus", "size", "order", "training_bytes"]
    for key, part in ngram_documents.filter(*last).sort(*keys, "variant").group_by(keys, maintain_order=True):
        corpus, size, order, budget = key
        wide = part.pivot("variant", index=["document", "bytes"], values="bits").drop_nulls().sort("document")
        wide = wide.filter(pl.col("bytes") > 0)
        sizes = _real(wide, "bytes")
        if not len(sizes):
            continue
        bits = {name: _real(wide, name) for name in wide.columns[2:]}
        definition = f"token n-gram models of order {order}, trained on {budget:,} bytes"
        head = (corpus, size, NGRAM, None, None, definition)
        yield over_documents(head, bits, sizes)


OWN = "in the measure's unit; for tokens, as a share of the best value"
SCOREBOARD = TidyTable(
    "scoreboard",
    "a tokenizer by one of the most important measures",
    (
        CORPUS,
        SIZE,
        Column("measure", pl.String, f"{TOKENS}, {GAP} (tokens above the proven minimum for any vocabulary of this "
               f"size, as a share), {NGRAM}, {BITS} (of a language model), {ACCURACY} (unweighted mean over tasks, as "
               f"a share) or {ALIGNMENT} (F1 of token boundaries against morpheme boundaries, on the words that the "
               "tokenizer can be scored on)"),
        MODEL,
        SUITE,
        Column("definition", pl.String, "exact definition of the measure"),
        VARIANT,
        Column("pretokenization", pl.String, "pre-tokenizer; empty if it is not known"),
        Column("value", pl.Float64, "measured value, in the measure's unit"),
        Column("low", pl.Float64, "lower end of a 95 % interval of the value"),
        Column("high", pl.Float64, "upper end of this interval"),
        Column("n", pl.Int64, "number of items drawn for the interval"),
        Column("over", pl.String, "kind of these items: documents, questions, words of gold data, or seeds and "
               "documents"),
        Column("seeds", pl.Int64, "seeds that the language model was trained with; an interval that is not over seeds "
               "does not cover training again"),
        Column("best", pl.String, "best variant of this size among the ranked ones with the same pre-tokenizer"),
        Column("behind", pl.Float64, f"value minus the best value, {OWN}"),
        Column("behind_low", pl.Float64, "lower end of a 95 % interval of this difference"),
        Column("behind_high", pl.Float64, "upper end of this interval"),
        Column("holm", pl.Float64, "two-sided p-value of this difference after Holm's correction over all pairs of the "
               "measure, size, corpus, model and suite", PROBABILITY),
        Column("verdict", pl.String, f"{BEST}; {ALIKE} from the best (no significant difference at level 0.05); "
               f"{WORSE}; {UNTESTED}, see "
               f"reason; or {UNRANKED}, see reason"),
        REASON,
        Column("baseline", pl.String, "baseline variant"),
        Column("baseline_pretokenization", pl.String, "pre-tokenizer of the baseline; if it differs, the difference "
               "is also one of pre-tokenizers"),
        Column("difference", pl.Float64, "value minus the baseline's, in the measure's unit; for tokens, as a share of "
               "the baseline's"),
        Column("difference_low", pl.Float64, "lower end of its 95 % interval, paired over the items measured, not "
               "corrected for multiple pairs"),
        Column("difference_high", pl.Float64, "upper end of this interval"),
        Column("difference_holm", pl.Float64, "two-sided p-value of the same test, corrected like holm", PROBABILITY),
        Column("difference_verdict", pl.String, f"{BETTER} or {WORSE} than the baseline at level 0.05 by the corrected "
               f"p-value; {NO_DIFFERENCE}; {UNTESTED}, see difference_reason; or {BASELINE}, for the baseline itself"),
        Column("difference_reason", pl.String, "reason why the difference was not tested"),
    ),
    maker=scoreboard,
    takes=(
        "intrinsic", "imported", "tokens_by_document", "ngram_documents", "bits_by_seed", "ranks_by_size", "outcomes",
        "alignment_by_word", "baselines_of_all", "pretokenizers_of_all",
    ),
    prints=(
        Print(
            "summary",
            "The most important measures of every tokenizer.",
            files=("intrinsic/{variant}/{size}.json",),
            arranged=True,
        ),
    ),
)  # fmt: skip
