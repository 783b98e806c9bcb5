"""Scoreboard: the most important measures of every tokenizer, ranked within each pre-tokenizer and size.

An external tokenizer whose size no tokenizer of the experiment was built with is ranked among all external tokenizers,
each at its own size.

Every number has a difference from the baseline, with the interval and the verdict of one test. Differences are paired
over the documents, words, questions or seeds that were measured, see :mod:`tokbench.statistics.comparisons.families`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.cells import by_variant
from tokbench.statistics.comparisons.families import (
    ACCURACY,
    ALIGNMENT,
    ALIKE,
    BASELINE,
    BEST,
    BITS,
    GAP,
    NGRAM,
    TOKENS,
    UNRANKED,
    UNTESTED,
    ComparisonFamily,
    Documents,
    Pretokenizers,
    Value,
    over_documents,
    ranking_rows,
    token_counts,
    unrank_lossy,
)
from tokbench.statistics.comparisons.scoreboard_rows import METRIC, accuracies, alignment, model_bits
from tokbench.statistics.significance.eligibility import FEWER, Trainings
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, WORSE
from tokbench.statistics.undersized import Undersized, lossy_tokenizers, undersized_vocabularies
from tokbench.tabulation.columns import CORPUS, MODEL, REASON, SIZE, SUITE, VARIANT
from tokbench.tabulation.table import PROBABILITY, Column, Print, TidyTable

GROUPS = "groups of documents"
OWN_BOUND = "the bound is of this very text, not of others like it"
OWN_SIZES = 0
"""Size in the tables from which families of existing tokenizers are made."""
IDENTITY = ("corpus", "size", "measure", "model", "suite", "variant")
"""Columns that identify a row of the scoreboard."""


def scoreboard(
    families: Sequence[ComparisonFamily],
    baselines_of_all: Mapping[str, str],
    pretokenizers_of_all: Pretokenizers,
) -> pl.DataFrame:
    """Build the scoreboard: every measure of every tokenizer.

    Args:
        families: see :func:`scoreboard_families`.
        baselines_of_all: baseline by variant.
        pretokenizers_of_all: pre-tokenizer by variant; variants are ranked only within one.

    Returns:
        The columns of :data:`SCOREBOARD`. The row of a tokenizer in several families of a measure is that of the first.
    """
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for family in families:
        for row in ranking_rows(family, baselines_of_all, pretokenizers_of_all):
            rows.setdefault(tuple(row[name] for name in IDENTITY), row)
    return SCOREBOARD.frame(rows.values())


@dataclass(frozen=True)
class MeasuredTables:
    """Tables of all measures of tokenizers, see :func:`scoreboard_families`."""

    intrinsic: pl.DataFrame
    tokens_by_document: pl.DataFrame
    ngram_documents: pl.DataFrame
    bits_by_seed: pl.DataFrame
    ranks_by_size: pl.DataFrame
    answers_by_seed: pl.DataFrame
    alignment_by_word: pl.DataFrame
    trainings: Trainings

    def map(self, change: Callable[[pl.DataFrame], pl.DataFrame], trainings: Trainings) -> "MeasuredTables":
        """Return the tables after a change of each."""
        frames = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "trainings"}
        return MeasuredTables(**{name: change(frame) for name, frame in frames.items()}, trainings=trainings)

    def families(self, unit_names: Mapping[str, str]) -> list[ComparisonFamily]:
        """Return the families of all measures by size."""
        return [
            *_tokens(self.intrinsic, self.tokens_by_document, unit_names),
            *_ngram_bits(self.ngram_documents, unit_names),
            *model_bits(BITS, self.bits_by_seed, unit_names),
            *accuracies(ACCURACY, self.ranks_by_size, self.answers_by_seed, self.trainings),
            *alignment(ALIGNMENT, _full_text_rows(self.intrinsic, METRIC), self.alignment_by_word),
        ]


def scoreboard_families(
    intrinsic: pl.DataFrame,
    imported: pl.DataFrame,
    tokens_by_document: pl.DataFrame,
    ngram_documents: pl.DataFrame,
    bits_by_seed: pl.DataFrame,
    ranks_by_size: pl.DataFrame,
    answers_by_seed: pl.DataFrame,
    alignment_by_word: pl.DataFrame,
    trainings: Trainings,
    unit_names: Mapping[str, str],
) -> list[ComparisonFamily]:
    """Return the main measures of every tokenizer, ready to be compared.

    Args:
        intrinsic: table of intrinsic metrics. Undersized vocabularies are not ranked.
        imported: table of external tokenizers; lossy ones are not ranked.
        tokens_by_document: token counts of documents, or of groups of them.
        ngram_documents: bits of documents by token n-gram models, without lossy tokenizers.
        bits_by_seed: bits of documents by language models, with a column ``seed``.
        ranks_by_size: average accuracies.
        answers_by_seed: measures of every answer, with a column ``seed``.
        alignment_by_word: boundary counts of words of gold data.
        trainings: number of trainings of every model with accuracies.
        unit_names: name of the units by corpus; units of other corpora are documents.

    Returns:
        The families of each size, then those of external tokenizers at their own sizes.
    """
    lossy = lossy_tokenizers(imported)
    measured = MeasuredTables(
        intrinsic, tokens_by_document, ngram_documents, bits_by_seed, ranks_by_size, answers_by_seed,
        alignment_by_word, trainings,
    )  # fmt: skip
    own_sizes = dict(imported.select("variant", "size").drop_nulls().iter_rows())
    apart = different_size_tokenizers(own_sizes, intrinsic)
    by_size = measured.map(lambda frame: frame.filter(~_of_own_size(apart)), trainings)
    undersized = undersized_vocabularies(intrinsic)
    families = [
        replace(_unrank_undersized(unrank_lossy(family, lossy), undersized), other_sizes=apart)
        for family in by_size.families(unit_names)
    ]
    if own_sizes:
        of_existing = _own_size_families(measured, own_sizes, unit_names)
        families += [unrank_lossy(family, lossy) for family in of_existing]
    return families


def different_size_tokenizers(own_sizes: Mapping[str, int], intrinsic: pl.DataFrame) -> dict[str, int]:
    """Return the external tokenizers whose size no built tokenizer has; they are not compared at one size.

    Args:
        own_sizes: size of each external tokenizer.
        intrinsic: table of intrinsic metrics.
    """
    built = set(intrinsic.filter(~pl.col("variant").is_in(list(own_sizes)))["size"])
    return {variant: size for variant, size in own_sizes.items() if size not in built}


def _of_own_size(own_sizes: Mapping[str, int]) -> pl.Expr:
    """Return True for rows of the given variants at their own sizes."""
    own_size = pl.col("variant").replace_strict(own_sizes, default=None, return_dtype=pl.Int64)
    return (pl.col("size") == own_size).fill_null(False)


def _own_size_families(
    measured: MeasuredTables, own_sizes: Mapping[str, int], unit_names: Mapping[str, str]
) -> list[ComparisonFamily]:
    """Return the families of external tokenizers at their own sizes."""
    trainings: dict[tuple[str, str, int], int] = {}
    for (model, suite, size), seeds in measured.trainings.items():
        if size in own_sizes.values():
            trainings[model, suite, OWN_SIZES] = min(seeds, trainings.get((model, suite, OWN_SIZES), seeds))

    def at_own_size(frame: pl.DataFrame) -> pl.DataFrame:
        return frame.filter(_of_own_size(own_sizes)).with_columns(size=pl.lit(OWN_SIZES, frame.schema["size"]))

    families = measured.map(at_own_size, trainings).families(unit_names)
    return [replace(family, head=(family.head[0], None, *family.head[2:]), own_sizes=own_sizes) for family in families]


def _unrank_undersized(family: ComparisonFamily, undersized: Undersized) -> ComparisonFamily:
    """Return the family with undersized vocabularies unranked; missing tokens would bias the comparison."""
    size = family.head[1]
    values = {
        name: value._replace(ranked=False, reason=value.reason or FEWER) if (name, size) in undersized else value
        for name, value in family.values.items()
    }
    return replace(family, values=values)


def _full_text_rows(intrinsic: pl.DataFrame, metric: str) -> pl.DataFrame:
    """Return rows of one metric over full texts."""
    one_language = pl.col("language").n_unique().over("corpus") == 1
    return intrinsic.filter((pl.col("language") == "") | one_language).filter(metric=metric)


def _tokens(
    intrinsic: pl.DataFrame, documents: pl.DataFrame, unit_names: Mapping[str, str]
) -> Iterator[ComparisonFamily]:
    """Yield families for tokens of the evaluation split, and for the gap to the bound within each pre-tokenizer."""
    counted = _full_text_rows(intrinsic, "corpus_token_count").sort("corpus", "size", "variant")
    gaps = _full_text_rows(intrinsic, "gap")
    for (corpus, size), part in counted.group_by("corpus", "size", maintain_order=True):
        documents_of_text = documents.filter(corpus=corpus, size=size)
        sizes, by_document = tokens_of_documents(documents_of_text)
        totals = {row["variant"]: (row["value"], row["reason"]) for row in part.iter_rows(named=True)}
        unit = unit_names.get(str(corpus), unit_of_documents(documents_of_text))
        head = (corpus, size, TOKENS, None, None, part["definition"][0])
        yield token_counts(head, totals, by_document, sizes, unit)
        of_gap = gaps.filter(corpus=corpus, size=size)
        bound = {row["variant"]: Value(row["value"], reason=row["reason"]) for row in of_gap.iter_rows(named=True)}
        if bound:
            of = (corpus, size, GAP, None, None, of_gap["definition"][0])
            yield ComparisonFamily(of, "", "lowest", bound, untested=OWN_BOUND, same_pretokenizer=True)


def unit_of_documents(documents: pl.DataFrame) -> str:
    """Return the name of the units of token counts: documents, or groups of documents."""
    return "documents" if documents["documents"].max() in (None, 1) else GROUPS


def tokens_of_documents(documents: pl.DataFrame) -> tuple[NDArray[np.float64], Documents]:
    """Return bytes of the documents, and tokens of variants that have counts for every document."""
    filled = documents.filter(pl.col("bytes") > 0)
    if filled.is_empty():
        return np.empty(0), {}
    places = filled.select("document", "bytes").unique()
    counted = filled.group_by("variant").len().filter(pl.col("len") == len(places))["variant"].to_list()
    shared, tokens = by_variant(filled.filter(pl.col("variant").is_in(counted)), ("document", "bytes"), "tokens")
    return shared["bytes"].to_numpy().astype(np.float64), tokens


def _ngram_bits(ngram_documents: pl.DataFrame, unit_names: Mapping[str, str]) -> Iterator[ComparisonFamily]:
    """Yield families for bits per byte by the token n-gram models of the highest order and the largest budget."""
    last = [pl.col(name) == pl.col(name).max().over("corpus") for name in ("order", "training_bytes")]
    keys = ["corpus", "size", "order", "training_bytes"]
    for key, part in ngram_documents.filter(*last).sort(*keys, "variant").group_by(keys, maintain_order=True):
        corpus, size, order, budget = key
        shared, bits = by_variant(part.filter(pl.col("bytes") > 0), ("document", "bytes"), "bits")
        sizes = shared["bytes"].to_numpy().astype(np.float64)
        if not len(sizes):
            continue
        definition = f"token n-gram models of order {order}, trained on {budget:,} bytes"
        head = (corpus, size, NGRAM, None, None, definition)
        yield over_documents(head, bits, sizes, unit_names.get(str(corpus), "documents"))


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
        Column("difference_n", pl.Int64, "number of units that the interval of this difference is over"),
        Column("difference_unit", pl.String, "kind of these units"),
    ),
    maker=scoreboard,
    takes=("families", "baselines_of_all", "pretokenizers_of_all"),
    prints=(
        Print(
            "summary",
            "The most important measures of every tokenizer.",
            files=("intrinsic/{variant}/{size}.json",),
            arranged=True,
        ),
    ),
)  # fmt: skip
