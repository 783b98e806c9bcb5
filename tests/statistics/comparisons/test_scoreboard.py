"""The scoreboard, recomputed from its tables: the best, and significant differences from it."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray
from scipy.stats import t

from tests.support.fake_results import (
    APART,
    FAKE_RESULTS_DOCUMENTS,
    QUESTIONS,
    SIZES,
    VARIANTS,
    WORDS,
    drawn,
    drawn_apart,
    f1,
)
from tests.support.small_report import accuracy, altered, whole
from tokbench.report.answer import summary
from tokbench.statistics.accuracies.ranks import averages_by_size
from tokbench.statistics.comparisons.families import (
    HEAD,
    NO_BASELINE,
    ComparisonFamily,
    Value,
    judge_pairs,
    over_documents,
    ranking_rows,
)
from tokbench.statistics.comparisons.scoreboard import scoreboard, scoreboard_families
from tokbench.statistics.comparisons.scoreboard_rows import alignment
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.judgements import Judgement
from tokbench.tabulation.columns import QUESTION_MEASURES
from tokbench.tabulation.documents import ALIGNMENT_BY_WORD, DOCUMENT_BITS, TOKENS_BY_DOCUMENT
from tokbench.tabulation.external_tokenizers import IMPORTED
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.ngram_bits import NGRAM_DOCUMENTS
from tokbench.tabulation.table import schema as schema_of


def subset_interval(tops: NDArray[np.float64], bottoms: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the interval of a ratio of sums and its p-value against zero, over all subsets one by one."""
    ratios = sorted(
        sum(tops[list(some)]) / sum(bottoms[list(some)])
        for count in range(1, len(tops) + 1)
        for some in combinations(range(len(tops)), count)
    )
    cut = (len(ratios) + 1) // 40
    value = tops.sum() / bottoms.sum()
    beyond = sum(ratio >= -1e-12 if value < 0 else ratio <= 1e-12 for ratio in ratios)
    return ratios[cut - 1], ratios[-cut], min(1.0, 2 * (1 + beyond) / (len(ratios) + 1))


def jackknife(*sides: NDArray[np.float64]) -> float:
    """Standard error of an F1, or of the difference of two, by leaving out word after word of each resource."""
    squares = 0.0
    for place in range(2):
        words = np.flatnonzero(np.any([side[place].any(axis=1) for side in sides], axis=0))
        left = [[f1(np.delete(side[[place]], word, axis=1)) for word in words] for side in sides]
        squares += (len(words) - 1) * float(np.var(left[0] if len(left) == 1 else np.subtract(*left)))
    return float(np.sqrt(squares)) / 2


def corrected(p_values: dict[tuple[str, str], float]) -> dict[tuple[str, str], float]:
    """Holm's procedure, step by step."""
    adjusted, worst = {}, 0.0
    for place, pair in enumerate(sorted(p_values, key=p_values.__getitem__)):
        worst = max(worst, min(1.0, p_values[pair] * (len(p_values) - place)))
        adjusted[pair] = worst
    return adjusted


@pytest.mark.parametrize("measure", ["tokens", "ngram_bits_per_byte", "bits_per_byte", "accuracy"])
@pytest.mark.parametrize("size", SIZES)
def test_scoreboard_equals_its_tables(measure: str, size: int) -> None:
    board, sizes, found = drawn()
    part = board.filter(measure=measure, size=size)
    rows = {row["variant"]: row for row in part.iter_rows(named=True)}
    names = [name for name in VARIANTS if name != "lossy"]
    end = max if measure == "accuracy" else min
    best = end(names, key=lambda name: rows[name]["value"])
    p_values, intervals = {}, {}
    for a, b in (pair[::-1] if pair[0] == best else pair for pair in combinations(names, 2)):
        one, other = found[a, size], found[b, size]
        if measure == "accuracy":
            continue
        if measure == "tokens":
            low, high, p_value = subset_interval(one["tokens"] - other["tokens"], other["tokens"])
        else:
            low, high, p_value = subset_interval((one["bits"] - other["bits"]) / (1 + (measure[0] == "n")), sizes)
        p_values[a, b], intervals[a, b] = p_value, (low, high)
    holm = corrected(p_values)
    for name in names:
        row = rows[name]
        assert row["best"] == best
        if name == best:
            assert (row["verdict"], row["behind"]) == ("best", 0)
            continue
        pair = (name, best)
        if measure != "accuracy":
            assert row["holm"] == pytest.approx(holm[pair], rel=1e-6)
            assert row["verdict"] == ("worse" if holm[pair] <= 0.05 else "no significant difference")
            assert (row["behind_low"], row["behind_high"]) == pytest.approx(intervals[pair], rel=1e-6)
        low, high = sorted((row["behind_low"], row["behind_high"]))
        assert low < row["behind"] < high
        if measure == "tokens":
            assert row["behind"] == pytest.approx(row["value"] / rows[best]["value"] - 1)
    if measure in ("bits_per_byte", "ngram_bits_per_byte"):
        bits = found["bpe", size]["bits"] / (1 + (measure[0] == "n"))
        assert (rows["bpe"]["low"], rows["bpe"]["high"]) == pytest.approx(subset_interval(bits, sizes)[:2])
    if measure in ("tokens", "accuracy"):
        assert (rows["lossy"]["verdict"], rows["lossy"]["best"], rows["lossy"]["low"]) == ("not ranked", None, None)


@pytest.mark.parametrize("size", SIZES)
def test_accuracies_are_compared_over_questions(size: int) -> None:
    """Each of two tasks of 40 questions has half of the weight; the error is that of stratified samples."""
    board, _, found = drawn()
    rows = {row["variant"]: row for row in board.filter(measure="accuracy", size=size).iter_rows(named=True)}
    for name in ("bpe", "unigram"):
        apart = found[name, size]["answers"] - found["sage", size]["answers"]
        error = np.sqrt((apart.var(axis=1, ddof=1) / QUESTIONS).sum()) / 2
        row = rows[name]
        assert row["best"] == "sage"
        assert row["behind"] == pytest.approx(apart.mean())
        assert (row["behind_high"] - row["behind_low"]) / 2 == pytest.approx(1.96 * error, rel=0.06)
        assert (row["n"], row["over"]) == (2 * QUESTIONS, "seeds and questions")


@pytest.mark.parametrize("size", SIZES)
def test_agreement_with_morphemes_is_compared_over_words(size: int) -> None:
    """Values and differences have nearly the intervals that leaving out word after word gives."""
    board, _, found = drawn()
    rows = {row["variant"]: row for row in board.filter(measure="alignment", size=size).iter_rows(named=True)}
    names = [name for name in VARIANTS if name != "lossy"]
    of = {name: found[name, size]["boundaries"] for name in VARIANTS}
    best = max(names, key=lambda name: f1(of[name]))
    assert rows[best]["verdict"] == "best"
    assert (rows["lossy"]["verdict"], rows["lossy"]["low"]) == ("not ranked", None)
    p_values = {}
    for a, b in (pair[::-1] if pair[0] == best else pair for pair in combinations(names, 2)):
        error, effective = jackknife(of[a], of[b]), 2 * WORDS * 0.7 * 0.8
        p_values[a, b] = 2 * t.sf(abs((f1(of[a]) - f1(of[b])) / error), effective)
    for name in names:
        row = rows[name]
        error = jackknife(of[name])
        assert row["over"] == "words"
        assert row["n"] == of[name].any(axis=2).sum()
        assert (row["high"] - row["low"]) / 2 == pytest.approx(2 * error, rel=0.06)
        assert (row["high"] + row["low"]) / 2 == pytest.approx(f1(of[name]))
        if name == best:
            continue
        assert row["behind"] == pytest.approx(f1(of[name]) - f1(of[best]))
        assert (row["behind_high"] - row["behind_low"]) / 2 == pytest.approx(
            2 * jackknife(of[name], of[best]), rel=0.06
        )
        assert row["verdict"] == ("worse" if corrected(p_values)[name, best] <= 0.05 else "no significant difference")
    assert {rows[name]["verdict"] for name in names} == {"best", "worse", "no significant difference"}


def test_gap_to_the_best_is_relative_in_relative_families() -> None:
    values = {"bpe": Value(150.0), "sage": Value(100.0), "none": Value(0.0)}
    shares = ComparisonFamily(("books", 300), "", "lowest", values, relative=True)
    assert (shares.gap("bpe", "sage"), shares.gap("bpe", "none")) == (0.5, None)
    assert replace(shares, relative=False).gap("bpe", "sage") == 50


def test_one_word_bears_no_interval() -> None:
    head = {"corpus": "gold", "size": 300, "reason": pl.lit(None, pl.String), "definition": "of words"}
    measured = pl.DataFrame({"variant": ["one", "three"], "value": [0.9, 0.5]}).with_columns(
        **{name: value if isinstance(value, pl.Expr) else pl.lit(value) for name, value in head.items()}
    )
    words = {"variant": ["one", *["three"] * 3], "word": [0, 0, 1, 2], "right": [9, 0, 1, 2]}
    same = {"size": 300, "corpus": "gold", "words": 1, "wrong": 1, "missed": 1}
    by_word = pl.DataFrame(words).with_columns(**{name: pl.lit(value) for name, value in same.items()})
    [family] = alignment("alignment", measured, by_word)
    assert family.values["one"] == Value(0.9)
    assert (family.values["three"].value, family.values["three"].n) == (0.5, 3)
    assert family.values["three"].low is not None
    assert family.differ("one", "three") is None


def test_bits_of_one_document_have_no_interval() -> None:
    family = over_documents((), {"bpe": np.array([30.0]), "sage": np.array([28.0])}, np.array([10.0]), "documents")
    assert family.values == {"bpe": Value(3.0, n=1), "sage": Value(2.8, n=1)}
    [judged] = judge_pairs(family, {}, {}).values()
    assert (judged.low, judged.verdict) == (None, "not tested")
    assert judged.reason == "not tested: 1 document; a verdict needs 6"


def test_gaps_are_ranked_within_a_pretokenizer_only() -> None:
    """Their bounds differ: the lowest of all is the best of its pre-tokenizer, and of no other."""
    board = drawn_apart().filter(measure="gap", size=SIZES[0])
    rows = {row["variant"]: row for row in board.iter_rows(named=True)}
    assert {name: row["best"] for name, row in rows.items()} == {
        "bpe": "bpe", "lossy": None, "sage": "sage", "unigram": "sage",
    }  # fmt: skip
    assert rows["sage"]["value"] < rows["unigram"]["value"] < rows["bpe"]["value"]
    assert rows["unigram"]["verdict"] == "not tested"
    told = [(row["difference"], row["difference_verdict"], row["difference_reason"]) for row in rows.values()]
    other = (None, "not tested", "different pre-tokenizers")
    assert told[2:] == [other, other]
    assert told[0] == (None, "baseline", None)


def test_the_best_is_chosen_among_those_of_one_pretokenizer() -> None:
    """Tokens, bits and accuracies, too; every pair has the same p as where all are of one."""
    board, apart = drawn()[0], drawn_apart()
    for (measure, size), part in apart.group_by("measure", "size"):
        rows = {row["variant"]: row for row in part.iter_rows(named=True) if row["verdict"] != "not ranked"}
        end = max if measure in ("accuracy", "alignment") else min
        for row in rows.values():
            same = [one for one in rows.values() if one["pretokenization"] == row["pretokenization"]]
            assert row["pretokenization"] == APART[row["variant"]]
            assert row["best"] == end(same, key=lambda one: one["value"])["variant"]
            assert (row["verdict"] == "best") == (row["variant"] == row["best"])
            together = board.filter(measure=measure, size=size, variant=row["variant"]).row(0, named=True)
            assert row["baseline_pretokenization"] == "gpt2"
            if measure != "gap" and row["variant"] != "bpe":
                assert row["difference_holm"] == pytest.approx(together["difference_holm"], rel=0.02)
                assert row["difference_verdict"] == together["difference_verdict"]


def test_verdicts_on_the_baseline_never_contradict_their_intervals() -> None:
    """Significant differences have intervals without zero, and the others contain it."""
    seen = set()
    for board in (drawn()[0], drawn_apart(), whole().frames["scoreboard"]):
        for row in board.iter_rows(named=True):
            verdict, low = row["difference_verdict"], row["difference_low"]
            seen.add(verdict)
            assert (row["difference_reason"] is not None) == (verdict == "not tested")
            assert (low is None) == (row["difference_high"] is None)
            if low is None or verdict == "not tested":
                assert verdict != "better"
                assert verdict != "worse"
                continue
            assert low <= row["difference"] <= row["difference_high"]
            excludes_zero = not low <= 0 <= row["difference_high"]
            assert excludes_zero >= (verdict != "no significant difference")
            assert (row["difference_holm"] <= 0.05) == (verdict != "no significant difference")
            highest = row["measure"] in ("accuracy", "alignment")
            if verdict != "no significant difference":
                assert (verdict == "better") == ((row["difference"] > 0) == highest)
    assert seen == {"better", "worse", "no significant difference", "not tested", "baseline"}


@pytest.mark.parametrize("size", SIZES)
def test_intervals_of_differences_are_paired_over_documents(size: int) -> None:
    """Far narrower than those of two counts, as documents are hard or easy for all tokenizers."""
    board, _, found = drawn()
    rows = {row["variant"]: row for row in board.filter(measure="tokens", size=size).iter_rows(named=True)}
    ours = found["bpe", size]["tokens"]
    for name in ("sage", "unigram"):
        row, theirs = rows[name], found[name, size]["tokens"]
        assert row["difference"] == pytest.approx(theirs.sum() / ours.sum() - 1)
        assert (row["difference_low"], row["difference_high"]) == pytest.approx(
            subset_interval(theirs - ours, ours)[:2]
        )
        assert 3 * (row["difference_high"] - row["difference_low"]) < (row["high"] - row["low"]) / row["value"]


def test_the_difference_of_the_best_is_that_of_the_same_test() -> None:
    """Seen from the other side, a relative interval is the reciprocal one and excludes zero as that does."""
    one = Judgement(0.25, -0.1, 0.6, 0.1, 0.2, "no significant difference", 0.6, 0.1)
    assert one.reverse().low == -0.6
    back = one.reverse(relative=True)
    assert (back.difference, back.low, back.high, back.holm) == pytest.approx((-0.2, -0.375, 1 / 9, 0.2))
    values = {name: Value(value) for name, value in (("bpe", 120.0), ("sage", 100.0))}
    estimate = Estimate(0.2, 0.05, 30.0, relative=True)
    family = ComparisonFamily(HEAD, "", "lowest", values, lambda a, b: estimate, relative=True)
    bpe, sage = ranking_rows(family, {"sage": "bpe", "bpe": "bpe"}, {})
    low, high = estimate.ends()
    behind = [bpe[name] for name in ("behind", "behind_low", "behind_high")]
    assert behind == pytest.approx([0.2, low, high])
    difference = [sage[name] for name in ("difference", "difference_low", "difference_high")]
    assert difference == pytest.approx([1 / 1.2 - 1, 1 / (1 + high) - 1, 1 / (1 + low) - 1])


def test_rows_without_a_baseline_have_a_reason() -> None:
    values = {"bpe": Value(120.0, reason="lossy", ranked=False), "sage": Value(100.0), "own": Value(90.0)}
    family = ComparisonFamily(HEAD, "", "lowest", values)
    baselines = {"bpe": "bpe", "sage": "bpe", "own": "gone"}
    reasons = {row["variant"]: row.get("difference_reason") for row in ranking_rows(family, baselines, {})}
    assert reasons == {
        "bpe": None,
        "sage": "nothing to compare with the baseline bpe: lossy",
        "own": "nothing to compare with the baseline gone: it was not measured here",
    }
    assert {row["difference_reason"] for row in ranking_rows(family, {}, {})} == {NO_BASELINE}


def board_of_counts(documents: pl.DataFrame, intrinsic: pl.DataFrame) -> pl.DataFrame:
    """The scoreboard of tokens of documents and of intrinsic metrics alone."""
    nothing = [
        pl.DataFrame(schema=schema)
        for schema in (
            NGRAM_DOCUMENTS.schema,
            {**DOCUMENT_BITS.schema, "seed": pl.Int64},
            averages_by_size(accuracy().clear()).schema,
            {**schema_of(QUESTION_MEASURES), "seed": pl.Int64},
            ALIGNMENT_BY_WORD.schema,
        )
    ]
    imported = pl.DataFrame(schema=IMPORTED.schema)
    return scoreboard(scoreboard_families(intrinsic, imported, documents, *nothing, {}, {}), {}, {})


@pytest.mark.parametrize("number", [0, 1])
def test_tokens_that_are_not_tested_say_why(number: int) -> None:
    counted = [(variant, 300, "books", 7, 1, 100, tokens) for variant, tokens in (("a", 40), ("b", 30))]
    documents = pl.DataFrame(counted if number else [], schema=TOKENS_BY_DOCUMENT.schema, orient="row")
    measured = [(*row[:3], "", "corpus_token_count", "", float(row[6]), 1, None) for row in counted]
    intrinsic = pl.DataFrame(measured, schema=INTRINSIC.schema, orient="row")
    reasons = set(board_of_counts(documents, intrinsic)["reason"].drop_nulls())
    why = "1 document; a verdict needs 6" if number else "tokens were not counted document by document"
    assert reasons == {f"not tested: {why}"}


def test_undersized_vocabularies_are_not_ranked() -> None:
    """At 300 none has: all ran out of text at once. At 400 the shorter one would be the best by tokens."""
    rng = np.random.default_rng(3)
    held = {("full", 300): 290, ("short", 300): 290, ("full", 400): 400, ("short", 400): 390, ("other", 400): 400}
    counted = [
        (variant, size, "books", number, 1, 1000, int(rng.integers(100, 120) - 60 * (variant == "short")))
        for variant, size in held
        for number in range(FAKE_RESULTS_DOCUMENTS)
    ]
    documents = pl.DataFrame(counted, schema=TOKENS_BY_DOCUMENT.schema, orient="row")
    totals = documents.group_by("variant", "size").agg(pl.col("tokens").sum()).rows()
    measured = [
        *((*key, "books", "", "vocabulary_size", "", float(tokens), 1, None) for key, tokens in held.items()),
        *((*key, "books", "", "corpus_token_count", "", float(tokens), 1, None) for *key, tokens in totals),
    ]
    intrinsic = pl.DataFrame(measured, schema=INTRINSIC.schema, orient="row")
    board = board_of_counts(documents, intrinsic)
    rows = {(row["variant"], row["size"]): row for row in board.iter_rows(named=True)}
    assert rows["short", 300]["verdict"] == "best"
    assert rows["full", 300]["verdict"] == "worse"
    short = rows["short", 400]
    assert (short["verdict"], short["best"], short["behind"]) == ("not ranked", None, None)
    assert short["reason"] == "has fewer tokens than others of its size"
    assert short["low"] < short["value"] < short["high"]
    assert {rows[name, 400]["best"] for name in ("full", "other")} <= {"full", "other"}
    sentences = summary(altered(whole(), intrinsic=intrinsic, scoreboard=board, models=[]))
    assert short["value"] < rows[rows["full", 400]["best"], 400]["value"]
    assert sentences[0].startswith(f"At a vocabulary of 400, {rows['full', 400]['best']}, of those ranked, needs ")
    assert sentences[-1] == "Built with fewer tokens than others of their size, so not ranked: short (390 of 400)."


def test_a_baseline_with_one_training_gives_no_difference() -> None:
    """Others with two trainings are ranked among themselves; the reason is the baseline's training."""
    board = drawn_apart(dict.fromkeys(VARIANTS, 2) | {"bpe": 1}).filter(measure="bits_per_byte", size=SIZES[0])
    rows = {row["variant"]: row for row in board.iter_rows(named=True)}
    assert {name: row["seeds"] for name, row in rows.items()} == {"bpe": 1, "sage": 2, "unigram": 2}
    assert (rows["bpe"]["verdict"], rows["bpe"]["reason"]) == ("not tested", ONE_TRAINING)
    for name in ("sage", "unigram"):
        row = rows[name]
        assert row["best"] in ("sage", "unigram")
        assert (row["difference"], row["difference_verdict"]) == (None, "not tested")
        assert row["difference_reason"] == ONE_TRAINING
    assert {rows[name]["verdict"] for name in ("sage", "unigram")} == {"best", "not tested"}
