"""Bits per byte of language models: intervals over seeds and documents, families of pairs, verdicts.

Bits per byte over documents alone, and over languages as units.
"""

from itertools import combinations
from math import sqrt

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import t as student

from tests.support.fake_results import LEVELS, documents_of
from tokbench.statistics.comparisons.languages import models_over_languages, ngrams_over_languages
from tokbench.statistics.comparisons.model_bits import BITS_COMPARISONS, compare_model_bits
from tokbench.statistics.comparisons.ngram_bits import judge_ngram_bits, rank_ngram_bits
from tokbench.statistics.planning.seed_plan import detectable_by_seeds, plan_seeds
from tokbench.statistics.significance.eligibility import ONE_TRAINING, TWO_TRAININGS
from tokbench.statistics.significance.estimate import Estimate, ratio, ratio_over_both
from tokbench.statistics.significance.judgements import judge
from tokbench.statistics.significance.student import power_of
from tokbench.statistics.significance.verdicts import NO_DIFFERENCE, NOT_TESTED
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.tabulation.documents import DOCUMENT_BITS
from tokbench.tabulation.ngram_bits import NGRAM_DOCUMENTS


def drawn(rng: np.random.Generator, seeds: int, documents: int, spread: tuple[float, float, float]) -> np.ndarray:
    """Differences about .02 with so much between seeds, between documents, and in the rest."""
    of_seeds, of_documents, rest = spread
    return (
        0.02
        + rng.normal(0, of_seeds, (seeds, 1))
        + rng.normal(0, of_documents, documents)
        + rng.normal(0, rest, (seeds, documents))
    )


@pytest.mark.parametrize(
    ("shape", "spread"),
    [((5, 8), (0.01, 0.01, 0.01)), ((5, 200), (0.005, 0.02, 0.05)), ((3, 40), (0.01, 0.0, 0.005))],
)
def test_an_interval_has_seeds_and_documents_in_it(shape: tuple[int, int], spread: tuple[float, float, float]) -> None:
    """It holds the truth as often as it says; one of documents alone does not."""
    rng = np.random.default_rng(0)
    sizes = rng.uniform(300, 700, shape[1])
    held = by_documents = 0
    for _ in range(300):
        parts = drawn(rng, *shape, spread) * sizes
        found = ratio_over_both(parts, sizes)
        low, high = found.estimate.ends()
        held += low <= 0.02 <= high
        values = (parts / sizes).mean(0)
        by_documents += abs(values.mean() - 0.02) <= values.std(ddof=1) / sqrt(shape[1]) * student.isf(
            0.025, shape[1] - 1
        )
    assert 0.91 <= held / 300 <= 0.99
    assert by_documents < held - 30


@given(st.integers(2, 5), st.integers(2, 6), st.integers(0, 2**32))
@settings(max_examples=30, deadline=None)
def test_mean_squares_of_equal_documents(seeds: int, documents: int, seed: int) -> None:
    """The parts of a two-way analysis of variance, taken apart by projection."""
    parts = np.random.default_rng(seed).normal(0, 1, (seeds, documents))
    found = ratio_over_both(parts, np.ones(documents))
    rows, columns = parts.mean(1, keepdims=True), parts.mean(0, keepdims=True)
    squares = [
        documents * ((rows - parts.mean()) ** 2).sum() / (seeds - 1),
        seeds * ((columns - parts.mean()) ** 2).sum() / (documents - 1),
        ((parts - rows - columns + parts.mean()) ** 2).sum() / ((seeds - 1) * (documents - 1)),
    ]
    assert found.mean == pytest.approx(parts.mean())
    expected = max(squares[0] + squares[1] - squares[2], *squares[:2]) / (seeds * documents)
    assert found.error == pytest.approx(sqrt(expected))
    assert found.seed_deviation == pytest.approx(parts.mean(1).std(ddof=1))
    assert found.degrees >= min(seeds, documents) - 1


def test_documents_are_weighted_by_bytes() -> None:
    """Two halves of a document are the document, whatever the other ones."""
    rng = np.random.default_rng(1)
    sizes = np.array([100.0, 900.0, 400.0])
    parts = rng.normal(0, 1, (4, 3)) + 0.1 * sizes
    assert ratio_over_both(parts, sizes).mean == pytest.approx(parts.sum() / (4 * sizes.sum()))
    same = ratio_over_both(np.tile(0.5 * sizes, (4, 1)), sizes)
    assert (same.mean, same.error) == (0.5, pytest.approx(0, abs=1e-12))


def test_a_family_is_judged_together() -> None:
    family = [
        Estimate(-0.03, 0.005, 8.0),
        Estimate(0.001, 0.005, 8.0),
        Estimate(0.02, 0.006, 30.0),
        Estimate(0.0, 0.0, 4.0),
    ]
    found = judge(family)
    assert [one.verdict for one in found] == ["better", NO_DIFFERENCE, "worse", NO_DIFFERENCE]
    together = 0.005 * student.isf(0.025 / 4, 8)
    assert found[1].excluded == pytest.approx(0.001 + together)
    assert found[0].excluded is found[2].excluded is None
    assert (found[1].low, found[1].high) == pytest.approx((0.001 - 0.005 * 2.306, 0.001 + 0.005 * 2.306), abs=1e-5)
    assert found[3].p_value == 1
    assert [power_of(one.detectable / 0.005, 8) for one in found[:2]] == pytest.approx([0.8, 0.8], abs=1e-6)
    assert judge([]) == []


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1), st.floats(1, 50)), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_intervals_without_significant_difference_contain_zero(family: list[tuple[float, float, float]]) -> None:
    """Zero lies in the interval that holds together with the others: what is excluded lies beyond both ends."""
    for one, (difference, _, _) in zip(judge([Estimate(*of) for of in family]), family, strict=True):
        assert one.low <= difference <= one.high
        if one.verdict == NO_DIFFERENCE:
            assert one.excluded is not None
            assert one.excluded - abs(difference) >= abs(difference) - 1e-9
            assert one.excluded >= max(abs(one.low), abs(one.high)) - 1e-9
        else:
            assert one.low > 0 or one.high < 0


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    p_values = np.random.default_rng(2).uniform(0, 0.2, 40).round(2)
    assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


def test_pairs_differ_significantly_or_have_an_excluded_difference() -> None:
    found = {(row["a"], row["b"]): row for row in compare_model_bits(documents_of(LEVELS), {}).rows(named=True)}
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found["a", "b"]["verdict"] == "better"
    assert found["a", "b"]["difference"] == pytest.approx(-0.1, abs=0.02)
    equal = found["b", "c"]
    assert equal["verdict"] == NO_DIFFERENCE
    assert max(abs(equal["low"]), abs(equal["high"])) < equal["excluded"] < 0.1
    assert {row["seeds"] for row in found.values()} == {4}
    assert all(row["seed_deviation"] > 0 < row["run_deviation"] for row in found.values())


def test_pairing_removes_common_variation_of_seeds_and_documents() -> None:
    """The deviation of a paired difference is not that of runs, which share what a seed brings."""
    rng = np.random.default_rng(5)
    rows = []
    for seed in range(6):
        shared = rng.normal(0, 0.1)
        for variant in "ab":
            for document in range(5):
                bits = 100 * (2 + shared + rng.normal(0, 0.001))
                rows.append(("m", variant, 1024, "words", "books", document, "", 100, bits, 0, seed))
    frame = pl.DataFrame(rows, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")
    row = compare_model_bits(frame, {}).row(0, named=True)
    assert row["run_deviation"] > 20 * row["seed_deviation"]


@pytest.mark.parametrize(
    ("kept", "reason"),
    [(pl.col("document") == 3, "not tested: 1 document; a verdict needs 6"),
     ((pl.col("variant") == "a") == (pl.col("seed") < 2), "not tested: no seed in common")],
)  # fmt: skip
def test_unknown_errors_have_a_reason_and_no_interval(kept: pl.Expr, reason: str) -> None:
    frame = compare_model_bits(documents_of({"a": 1.9, "b": 2.0}).filter(kept), {})
    row = frame.row(0, named=True)
    assert row["reason"] == reason
    assert row["verdict"] == NOT_TESTED
    said = ("low", "high", "p_value", "holm", "excluded", "detectable", "run_deviation", "seed_deviation")
    assert [row[name] for name in said] == [None] * len(said)
    plan = plan_seeds(frame, 0.01).row(0, named=True)
    assert plan["needed"] is plan["floor"] is None
    assert plan["reason"] == reason
    assert detectable_by_seeds(frame, 0.01).is_empty()


@pytest.mark.parametrize("seeds", [1, 2, 3, 4])
def test_a_verdict_needs_three_trainings(seeds: int) -> None:
    rows = compare_model_bits(documents_of(LEVELS).filter(pl.col("seed") < seeds), {}).rows(named=True)
    reason = {1: ONE_TRAINING, 2: TWO_TRAININGS}.get(seeds)
    assert {row["reason"] for row in rows} == {reason}
    assert {row["seeds"] for row in rows} == {seeds}
    for row in rows:
        assert (row["verdict"] == NOT_TESTED) == (row["holm"] is None) == (row["p_value"] is None) == (seeds < 3)
        assert row["low"] < row["difference"] < row["high"]
        assert (row["seed_deviation"] is None) == (seeds < 2)


def test_pairs_with_few_trainings_do_not_count_in_the_correction() -> None:
    """Of two pairs one has two seeds in common: the other is corrected for itself only."""
    tested, two = Estimate(-1.0, 0.4, 20, 3), Estimate(-1.0, 0.4, 20, 2)
    alone, among, left = judge([tested]), judge([tested, two]), judge([two])
    assert among == [*alone, *left]
    assert (left[0].verdict, left[0].p_value, left[0].reason) == (NOT_TESTED, None, TWO_TRAININGS)
    assert left[0].low < left[0].difference < left[0].high
    assert judge([Estimate(-1.0, 0.4, 20)])[0].verdict == "better", "no model was trained"


def test_a_family_that_is_too_large_for_its_units_is_not_tested() -> None:
    """Of six documents the least p is 1/32: too large for two tests with any numbers."""
    [one] = compare_model_bits(documents_of({"a": 1.0, "b": 2.0}, documents=6), {}).rows(named=True)
    assert (one["verdict"], one["p_value"]) == ("better", pytest.approx(1 / 32))
    rows = compare_model_bits(documents_of({"a": 1.0, "b": 2.0, "c": 3.0}, documents=6), {}).rows(named=True)
    assert {row["reason"] for row in rows} == {"not tested: 6 documents; verdicts on 3 pairs need 7"}
    seven = compare_model_bits(documents_of({"a": 1.0, "b": 2.0, "c": 3.0}, documents=7), {})
    assert set(seven["verdict"]) == {"better"}


@pytest.mark.parametrize("name", ["bytes", "document", "bits", "variant"])
def test_a_variant_may_have_the_name_of_a_column(name: str) -> None:
    frame = in_languages([0.1, 0.1]).with_columns(variant=pl.col("variant").replace({"a": name}))
    assert {*judge_ngram_bits(frame, {})["a"], *judge_ngram_bits(frame, {})["b"]} == {name, "b"}
    assert set(rank_ngram_bits(frame)["variant"]) == {name, "b"}


def test_a_single_variant_has_no_row() -> None:
    assert compare_model_bits(documents_of({"a": 1.9}), {}).is_empty()
    assert compare_model_bits(documents_of(LEVELS).clear(), {}).is_empty()


def test_corpora_are_apart() -> None:
    """Their documents are others."""
    both = [documents_of(LEVELS), documents_of(LEVELS).with_columns(corpus=pl.lit("other"))]
    assert compare_model_bits(pl.concat(both), {})["corpus"].to_list() == ["books"] * 3 + ["other"] * 3


def test_every_pair_has_one_row() -> None:
    comparisons = compare_model_bits(documents_of(LEVELS | {"d": 1.7}), {})
    assert list(comparisons.schema) == list(BITS_COMPARISONS.schema)
    assert set(comparisons.select("a", "b").rows()) == set(combinations("abcd", 2))


def test_the_interval_over_seven_documents_covers() -> None:
    """The percentile bootstrap does not."""
    rng = np.random.default_rng(9)
    held = drawn_again = 0
    for _ in range(300):
        sizes = rng.uniform(300, 700, 7)
        values = 0.02 + rng.normal(0, 0.01, 7)
        found = ratio(values * sizes, sizes)
        assert found is not None
        low, high = found.ends()
        held += low <= 0.02 <= high
        places = rng.integers(7, size=(400, 7))
        low, high = np.quantile((values * sizes)[places].sum(1) / sizes[places].sum(1), [0.025, 0.975])
        drawn_again += low <= 0.02 <= high
    assert 0.92 <= held / 300 <= 0.98
    assert drawn_again / 300 < 0.92


def in_languages(own: list[float], *, documents: int = 40) -> pl.DataFrame:
    """n-gram bits where b needs more than a by so much in each language."""
    rng = np.random.default_rng(8)
    rows = []
    for language, more in enumerate(own):
        for document in range(documents):
            common = rng.normal(2, 0.2)
            for variant, level in (("a", 0.0), ("b", more)):
                for order, budget in ((1, 9), (2, 9), (2, 5)):
                    bits = 100 * (common + level + rng.normal(0, 0.01) + 5 * (budget == 5) + order)
                    place = documents * language + document
                    rows.append((variant, 512, "news", order, budget, place, f"l{language}", 100, bits, None, 0))
    return pl.DataFrame(rows, schema=NGRAM_DOCUMENTS.schema, orient="row")


def test_verdicts_of_token_ngrams() -> None:
    found = judge_ngram_bits(in_languages([0.1, 0.1]), {})
    smaller = judge_ngram_bits(in_languages([0.1, 0.1]), {}, {("a", found["size"][0])})
    of_a = pl.col("a") == "a"
    assert smaller.filter(of_a)["low"].to_list() == found.filter(of_a)["low"].to_list()
    assert smaller.filter(of_a)["difference"].to_list() == pytest.approx(found.filter(of_a)["difference"].to_list())
    assert set(smaller.filter(of_a)["verdict"]) == {"not tested"}
    assert smaller.filter(~of_a)["low"].equals(found.filter(~of_a)["low"])
    assert found.select("order", "training_bytes").rows() == [(2, 5), (1, 9), (2, 9)]
    row = found.row(2, named=True)
    assert (row["verdict"], row["documents"], row["excluded"]) == ("better", 80, None)
    assert row["low"] < -0.1 + 0.005
    assert row["difference"] == pytest.approx(-0.1, abs=0.01)
    equal = judge_ngram_bits(in_languages([0.0]), {}).row(2, named=True)
    assert (equal["verdict"], equal["excluded"] > equal["high"] > 0) == (NO_DIFFERENCE, True)
    alone = judge_ngram_bits(in_languages([0.1], documents=1), {}).row(0, named=True)
    assert (alone["low"], alone["verdict"]) == (None, NOT_TESTED)
    assert alone["reason"] == "not tested: 1 document; a verdict needs 6"
    assert alone["difference"] == pytest.approx(-0.1, abs=0.05)
    two = judge_ngram_bits(in_languages([0.1], documents=2), {}).row(0, named=True)
    assert (two["documents"], two["low"] < two["high"]) == (2, True)
    assert two["reason"] == "not tested: 2 documents; a verdict needs 6"
    empty = in_languages([0.1], documents=1).with_columns(document=pl.lit(9, pl.Int64), bytes=pl.lit(0, pl.Int64))
    more = pl.concat([in_languages([0.1, 0.1]), empty.with_columns(bits=0.0)])
    assert judge_ngram_bits(more, {}).row(2) == found.row(2), "what holds no bytes counts for nothing"
    assert judge_ngram_bits(in_languages([0.1]).clear(), {}).is_empty()


def test_disagreeing_languages_are_not_significant_for_any_number_of_documents() -> None:
    own = [0.1, -0.08, 0.06, -0.05, 0.07, -0.06]
    row = ngrams_over_languages(in_languages(own), {}).row(0, named=True)
    assert row["verdict"] == NO_DIFFERENCE
    assert row["difference"] == pytest.approx(-np.mean(own), abs=0.01)
    assert row["between"] == pytest.approx(np.std(own, ddof=1), rel=0.1)
    assert (row["order"], row["training_bytes"], row["languages"], row["documents"]) == (2, 9, 6, 240)
    assert (row["n"], row["unit"]) == (6, "languages")
    left = ngrams_over_languages(in_languages(own), {}, {(row["a"], row["size"])}).row(0, named=True)
    same = ("difference", "low", "high")
    assert [left[name] for name in same] == [row[name] for name in same]
    assert left["verdict"] == NOT_TESTED
    assert left["reason"].startswith("not tested: one of the two has fewer tokens")
    agreed = ngrams_over_languages(in_languages([0.1, 0.08, 0.09, 0.11, 0.1, 0.09]), {}).row(0, named=True)
    assert agreed["verdict"] == "better"
    assert agreed["low"] < -0.095 < agreed["high"] < 0
    assert ngrams_over_languages(in_languages([0.1]), {}).is_empty()


def test_seeds_widen_intervals_over_languages() -> None:
    frame = documents_of({"a": 1.95, "b": 2.0}, languages=6)
    row = models_over_languages(frame, {}).row(0, named=True)
    one = models_over_languages(frame.filter(seed=0), {}).row(0, named=True)
    assert (row["seeds"], row["languages"], row["verdict"]) == (4, 6, "better")
    assert (one["reason"], one["verdict"], one["seeds"]) == (ONE_TRAINING, NOT_TESTED, 1)
    assert one["low"] < one["difference"] < one["high"]
    two = models_over_languages(frame.filter(pl.col("seed") < 2), {}).row(0, named=True)
    assert (two["reason"], two["holm"], two["verdict"]) == (TWO_TRAININGS, None, NOT_TESTED)
    assert two["low"] < two["difference"] < two["high"]
    assert models_over_languages(documents_of({"a": 1.95, "b": 2.0}), {}).is_empty()
