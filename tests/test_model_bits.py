"""Bits per byte of language models: intervals over seeds, documents and languages, seeds needed, measures beside."""

from itertools import combinations
from math import comb, exp, log, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import binomtest, multivariate_normal, norm
from scipy.stats import t as student

from tests.conftest import Tokbench
from tokbench.statistics.by_language import models_over_languages, ngrams_over_languages
from tokbench.statistics.corrections import holm
from tokbench.statistics.estimate import Estimate
from tokbench.statistics.judgement import NOT_TOLD, judged
from tokbench.statistics.measures import NO_PAIR, claimed_end, clopper_pearson, measures_against_models
from tokbench.statistics.mixed import random_intercept
from tokbench.statistics.model_bits import BITS_COMPARISONS, ONE_DOCUMENT, ONE_SEED, compare_model_bits
from tokbench.statistics.ngram_verdicts import ONE_DOCUMENT as ONE
from tokbench.statistics.ngram_verdicts import judge_ngram_bits, ratio_over_documents
from tokbench.statistics.seed_plan import RULE, Pilot, pilots, plan_seeds, seen_by_seeds
from tokbench.statistics.student import detectable, power_of, quantile
from tokbench.statistics.two_sources import ratio_over_both
from tokbench.tabulation.document_bits import DOCUMENT_BITS
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.ngram_bits import NGRAM_BITS, NGRAM_DOCUMENTS


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
        held += abs(found.mean - 0.02) <= found.error * student.isf(0.025, found.degrees)
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


def test_documents_weigh_what_they_hold() -> None:
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
    found = judged(family)
    assert [one.verdict for one in found] == ["better", NOT_TOLD, "worse", NOT_TOLD]
    together = 0.005 * student.isf(0.025 / 4, 8)
    assert found[1].excluded == pytest.approx(0.001 + together)
    assert found[0].excluded is found[2].excluded is None
    assert (found[1].low, found[1].high) == pytest.approx((0.001 - 0.005 * 2.306, 0.001 + 0.005 * 2.306), abs=1e-5)
    assert found[3].p_value == 1
    assert judged([]) == []


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(0.01, 1), st.floats(1, 50)), min_size=1, max_size=8))
@settings(max_examples=30, deadline=None)
def test_what_is_not_told_apart_may_be_equal(family: list[tuple[float, float, float]]) -> None:
    """Zero lies in the interval that holds together with the others: what is excluded lies beyond both ends."""
    for one, (difference, _, _) in zip(judged([Estimate(*of) for of in family]), family, strict=True):
        assert one.low <= difference <= one.high
        if one.verdict == NOT_TOLD:
            assert one.excluded is not None
            assert one.excluded - abs(difference) >= abs(difference) - 1e-9
            assert one.excluded >= max(abs(one.low), abs(one.high)) - 1e-9
        else:
            assert one.low > 0 or one.high < 0


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="statsmodels is not installed")
    p_values = np.random.default_rng(2).uniform(0, 0.2, 40).round(2)
    assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])


# What so many seeds see


def test_power_is_that_of_simulated_tests() -> None:
    rng = np.random.default_rng(3)
    for seeds, difference in ((5, 1.5), (12, 0.9)):
        values = rng.normal(difference, 1, (20_000, seeds))
        statistics = values.mean(1) / values.std(1, ddof=1) * sqrt(seeds)
        seen = np.mean(np.abs(statistics) > student.isf(0.025, seeds - 1))
        assert power_of(difference * sqrt(seeds), seeds - 1) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize("degrees", [1, 4, 7.5, 1000])
def test_the_detectable_difference_is_seen_with_its_power(degrees: float) -> None:
    assert power_of(detectable(degrees), degrees) == pytest.approx(0.8, abs=1e-6)
    assert quantile(0.05, degrees) == pytest.approx(student.ppf(0.975, degrees))


def test_numbers_of_seeds_are_those_of_the_books() -> None:
    """Half a standard deviation takes 34 pairs (Cohen 1988), and by the rule 63 of each of two samples."""
    pilot = Pilot(("en", "m", "s", 1), 1, 5, 10, 1 / sqrt(2), 1.0, 2.0, 0.0)
    assert pilot.needed(0.5) == 34
    assert pilot.needed(1.0) == 10
    assert pilot.needed(0.5, 2.0) == 128
    assert pytest.approx(2 * (norm.isf(0.025) + norm.isf(0.2)) ** 2, abs=0.01) == RULE
    assert pilot.seen(0.5, 34) >= 0.8 > pilot.seen(0.5, 33)


def test_no_seed_helps_against_few_documents() -> None:
    pilot = Pilot(("en", "m", "s", 1), 1, 5, 10, 0.01, 0.01, 0.02, 0.01)
    assert pilot.needed(0.02) is None
    assert pilot.needed(0.05) is not None
    error, degrees = pilot.error(1000)
    assert error == pytest.approx(0.01, rel=0.01)
    assert degrees == pytest.approx(9, rel=0.01)


# Tables


def documents_of(
    levels: dict[str, float], *, seeds: int = 4, documents: int = 12, noise: float = 0.004, languages: int = 1
) -> pl.DataFrame:
    """Bits of documents in so many languages; of a variant whose level is a tuple, those of each language."""
    rng = np.random.default_rng(4)
    rows = []
    own = rng.normal(0, 0.1, documents)
    for seed in range(seeds):
        for variant, level in levels.items():
            run = rng.normal(0, noise)
            for document in range(documents):
                size = 500 + 20 * document
                bits = size * (level + own[document] + run + rng.normal(0, noise))
                language = f"l{document % languages}"
                rows.append(("m (4 seeds)", variant, 1024, "words", "books", document, language, size, bits, seed))
    return pl.DataFrame(rows, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")


LEVELS = {"a": 1.9, "b": 2.0, "c": 2.001}


def test_pairs_are_told_apart_or_it_is_told_how_far_they_may_be() -> None:
    found = {(row["a"], row["b"]): row for row in compare_model_bits(documents_of(LEVELS), {}).rows(named=True)}
    assert list(found) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found["a", "b"]["verdict"] == "better"
    assert found["a", "b"]["difference"] == pytest.approx(-0.1, abs=0.02)
    equal = found["b", "c"]
    assert equal["verdict"] == NOT_TOLD
    assert max(abs(equal["low"]), abs(equal["high"])) < equal["excluded"] < 0.1
    assert {row["seeds"] for row in found.values()} == {4}
    assert all(row["seed_deviation"] > 0 < row["run_deviation"] for row in found.values())


def test_pairing_takes_out_what_seeds_and_documents_share() -> None:
    """The deviation of a paired difference is not that of runs, which share what a seed brings."""
    rng = np.random.default_rng(5)
    rows = []
    for seed in range(6):
        shared = rng.normal(0, 0.1)
        for variant in "ab":
            for document in range(5):
                bits = 100 * (2 + shared + rng.normal(0, 0.001))
                rows.append(("m", variant, 1024, "words", "books", document, "", 100, bits, seed))
    frame = pl.DataFrame(rows, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")
    row = compare_model_bits(frame, {}).row(0, named=True)
    assert row["run_deviation"] > 20 * row["seed_deviation"]


@pytest.mark.parametrize(
    ("kept", "reason"),
    [(pl.col("seed") == 0, ONE_SEED), (pl.col("document") == 3, ONE_DOCUMENT),
     ((pl.col("variant") == "a") == (pl.col("seed") < 2), "no seed in common")],
)  # fmt: skip
def test_what_cannot_be_known_has_a_reason_and_no_number(kept: pl.Expr, reason: str) -> None:
    frame = compare_model_bits(documents_of({"a": 1.9, "b": 2.0}).filter(kept), {})
    row = frame.row(0, named=True)
    assert row["reason"] == reason
    said = ("low", "high", "p_value", "holm", "verdict", "excluded", "detectable", "run_deviation", "seed_deviation")
    assert [row[name] for name in said] == [None] * len(said)
    plan = plan_seeds(frame, 0.01).row(0, named=True)
    assert plan["needed"] is plan["floor"] is None
    assert plan["reason"] == reason
    assert seen_by_seeds(frame, 0.01).is_empty()


def test_a_single_variant_has_no_row() -> None:
    assert compare_model_bits(documents_of({"a": 1.9}), {}).is_empty()
    assert compare_model_bits(documents_of(LEVELS).clear(), {}).is_empty()


def test_corpora_are_apart() -> None:
    """Their documents are others."""
    both = [documents_of(LEVELS), documents_of(LEVELS).with_columns(corpus=pl.lit("other"))]
    assert compare_model_bits(pl.concat(both), {})["corpus"].to_list() == ["books"] * 3 + ["other"] * 3


def test_the_pilot_tells_its_deviations() -> None:
    comparisons = compare_model_bits(documents_of(LEVELS, seeds=6), {})
    (pilot,) = pilots(comparisons)
    assert isinstance(pilot, Pilot)
    assert pilot.seed_deviation == pytest.approx(sqrt((comparisons["seed_deviation"] ** 2).mean()))
    assert pilot.run_deviation < pilot.seed_deviation < pilot.highest
    plan = plan_seeds(comparisons, 0.01).row(0, named=True)
    assert plan["by_rule"] == max(2, np.ceil(RULE * (pilot.run_deviation / 0.01) ** 2))
    assert pilot.seen(0.01, plan["needed"]) >= 0.8
    assert plan["needed"] <= plan["needed_at_most"]
    seen = seen_by_seeds(comparisons, 0.01)
    assert seen["detectable"].is_sorted(descending=True)
    assert seen.filter(seeds=5)["by_rule"][0] == pytest.approx(sqrt(15.7 / 5) * pilot.run_deviation)


def test_the_command_tells_the_seeds_that_are_needed(tmp_path: Path, tokbench: Tokbench) -> None:
    comparisons = compare_model_bits(documents_of(LEVELS), {})
    comparisons.write_parquet(tmp_path / "bits_comparisons.parquet")
    done = tokbench("power", tmp_path, "--detect", "0.01", "-o", tmp_path / "power")
    assert done.status == 0
    needed = plan_seeds(comparisons, 0.01)["needed"][0]
    assert f"m (4 seeds) on books at 1024: to see 0.01 bits per byte takes {needed} seeds" in done.stdout.decode()
    assert pl.read_parquet(tmp_path / "power" / "seed_plan.parquet")["needed"][0] == needed
    (tmp_path / "bits_comparisons.parquet").unlink()
    lacking = tokbench("power", tmp_path)
    assert "name the folder statistics of a run with models" in lacking.message


# Documents alone


def test_few_documents_are_paid_for() -> None:
    """Of seven the interval holds the truth as often as it says; that of the bootstrap holds it less."""
    rng = np.random.default_rng(9)
    held = drawn_again = 0
    for _ in range(300):
        sizes = rng.uniform(300, 700, 7)
        values = 0.02 + rng.normal(0, 0.01, 7)
        found = ratio_over_documents(values * sizes, sizes)
        held += abs(found.difference - 0.02) <= found.error * student.isf(0.025, found.degrees)
        places = rng.integers(7, size=(400, 7))
        low, high = np.quantile((values * sizes)[places].sum(1) / sizes[places].sum(1), [0.025, 0.975])
        drawn_again += low <= 0.02 <= high
    assert 0.92 <= held / 300 <= 0.98
    assert drawn_again / 300 < 0.92


def test_verdicts_of_token_ngrams() -> None:
    found = judge_ngram_bits(in_languages([0.1, 0.1]), {})
    assert found.select("order", "training_bytes").rows() == [(2, 5), (1, 9), (2, 9)]
    row = found.row(2, named=True)
    assert (row["verdict"], row["documents"], row["excluded"]) == ("better", 80, None)
    assert row["low"] < -0.1 + 0.005
    assert row["difference"] == pytest.approx(-0.1, abs=0.01)
    equal = judge_ngram_bits(in_languages([0.0]), {}).row(2, named=True)
    assert (equal["verdict"], equal["excluded"] > equal["high"] > 0) == (NOT_TOLD, True)
    alone = judge_ngram_bits(in_languages([0.1], documents=1), {}).row(0, named=True)
    assert (alone["low"], alone["verdict"], alone["reason"]) == (None, None, ONE)
    assert judge_ngram_bits(in_languages([0.1]).clear(), {}).is_empty()


# Languages


def likelihood(values: list[np.ndarray], between: float, within: float) -> float:
    """The restricted likelihood, by whole matrices."""
    y = np.concatenate(values)
    groups = np.repeat(np.arange(len(values)), list(map(len, values)))
    covariance = between**2 * (groups[:, None] == groups) + within**2 * np.eye(len(y))
    inverse = np.linalg.inv(covariance)
    mean = inverse.sum(0) @ y / inverse.sum()
    return float(multivariate_normal(np.full(len(y), mean), covariance).logpdf(y) - log(inverse.sum()) / 2)


@pytest.mark.parametrize("spread", [0.0, 0.02, 0.3])
def test_the_mixed_model_has_the_greatest_restricted_likelihood(spread: float) -> None:
    rng = np.random.default_rng(6)
    values = [rng.normal(0.05 + rng.normal(0, spread), 0.1, count) for count in (3, 8, 1, 12, 5)]
    fit = random_intercept(values)
    best = likelihood(values, fit.between, fit.within)
    for factor in (0.9, 1.1):
        assert likelihood(values, fit.between * factor + 1e-9, fit.within) <= best + 1e-9
        assert likelihood(values, fit.between, fit.within * factor) <= best
    profile = minimize_scalar(
        lambda x: -likelihood(values, exp(x), fit.within), bounds=(-12, 1), method="bounded", options={"xatol": 1e-8}
    )
    assert best >= -profile.fun - 1e-9


def test_equal_languages_give_the_analysis_of_variance() -> None:
    """And with it the answer of statsmodels, where that finds one: of 22 x 270 values it says that it does not."""
    rng = np.random.default_rng(7)
    table = 0.01 + rng.normal(0, 0.02, (22, 1)) + rng.normal(0, 0.1, (22, 30))
    fit = random_intercept(list(table))
    assert fit.mean == pytest.approx(table.mean())
    assert fit.error == pytest.approx(table.mean(1).std(ddof=1) / sqrt(22), rel=1e-6)
    model = pytest.importorskip("statsmodels.regression.mixed_linear_model", reason="statsmodels is not installed")
    with pytest.warns(UserWarning, match="boundary"):
        theirs = model.MixedLM(table.ravel(), np.ones((22 * 30, 1)), np.repeat(np.arange(22), 30)).fit(reml=True)
    assert (fit.mean, fit.error) == pytest.approx((theirs.fe_params[0], theirs.bse_fe[0]), rel=1e-3)
    assert (fit.between**2, fit.within**2) == pytest.approx((theirs.cov_re[0, 0], theirs.scale), rel=1e-2)


def test_one_document_a_language_is_a_test_of_languages() -> None:
    fit = random_intercept([np.array([one]) for one in (0.1, 0.2, 0.4)])
    assert (fit.mean, fit.error) == (pytest.approx(0.7 / 3), pytest.approx(np.std([0.1, 0.2, 0.4], ddof=1) / sqrt(3)))


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
                    rows.append((variant, 512, "news", order, budget, place, f"l{language}", 100, bits, 0))
    return pl.DataFrame(rows, schema=NGRAM_DOCUMENTS.schema, orient="row")


def test_languages_that_disagree_tell_nothing_whatever_their_documents() -> None:
    row = ngrams_over_languages(in_languages([0.1, -0.08, 0.06, -0.05]), {}).row(0, named=True)
    assert row["verdict"] == NOT_TOLD
    assert row["between"] == pytest.approx(np.std([0.1, -0.08, 0.06, -0.05], ddof=1), rel=0.1)
    assert (row["order"], row["training_bytes"], row["languages"], row["documents"]) == (2, 9, 4, 160)
    agreed = ngrams_over_languages(in_languages([0.1, 0.08, 0.09, 0.11]), {}).row(0, named=True)
    assert agreed["verdict"] == "better"
    assert agreed["low"] < -0.095 < agreed["high"] < 0
    assert ngrams_over_languages(in_languages([0.1]), {}).is_empty()


def test_seeds_widen_what_is_said_over_languages() -> None:
    frame = documents_of({"a": 1.95, "b": 2.0}, languages=4)
    row = models_over_languages(frame, {}).row(0, named=True)
    one = models_over_languages(frame.filter(seed=0), {}).row(0, named=True)
    assert (row["seeds"], row["languages"], row["verdict"]) == (4, 4, "better")
    assert (one["reason"], one["low"], one["verdict"], one["seeds"]) == (ONE_SEED, None, None, 1)
    assert models_over_languages(documents_of({"a": 1.95, "b": 2.0}), {}).is_empty()


# Measures beside models


def test_exact_intervals_of_shares() -> None:
    for hits, of in ((0, 7), (7, 7), (3, 11), (60, 61)):
        theirs = binomtest(hits, of).proportion_ci(method="exact")
        assert clopper_pearson(hits, of) == pytest.approx((theirs.low, theirs.high))
        least = sum(comb(of, k) * theirs.high**k * (1 - theirs.high) ** (of - k) for k in range(hits + 1))
        assert least == pytest.approx(0.025 if hits < of else 1)


def measured(values: dict[str, float], metric: str) -> pl.DataFrame:
    rows = [(variant, 1024, "books", "", metric, "d", value, 1, None) for variant, value in values.items()]
    return pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row")


def test_measures_that_order_pairs_as_models_do() -> None:
    levels = {"a": 1.7, "b": 1.8, "c": 1.9, "d": 2.0}
    comparisons = compare_model_bits(documents_of(levels, noise=0.001), {})
    assert NOT_TOLD not in comparisons["verdict"]
    intrinsic = pl.concat(
        [
            measured({"a": 10, "b": 20, "c": 30, "d": 40}, "corpus_token_count"),
            measured({"a": 0.1, "b": 0.2, "c": 0.2, "d": 0.05}, "renyi_efficiency_2.5"),
            measured({"a": 1, "b": 2, "c": 3, "d": 4}, "relative_corpus_token_count"),
            measured({"a": 1, "b": 2, "c": 3, "d": 4}, "token_length"),
        ]
    )
    bits = pl.DataFrame(
        [(variant, 1024, "books", "", 2, 9, value, 1, 1, 1, 1, 1, 1, 0) for variant, value in (("a", 3.0), ("d", 2.0))],
        schema=NGRAM_BITS.schema,
        orient="row",
    )
    found = {row["metric"]: row for row in measures_against_models(comparisons, intrinsic, bits).rows(named=True)}
    assert {name: (row["agreed"], row["pairs"], row["tied"]) for name, row in found.items()} == {
        "corpus_token_count": (6, 6, 0),
        "renyi_efficiency_2.5": (3, 6, 1),
        "ngram_bits_per_byte": (0, 1, 0),
    }
    assert found["corpus_token_count"]["low"] == pytest.approx(0.025 ** (1 / 6))
    assert claimed_end("token_length") is None


def test_no_pair_told_apart_gives_a_reason() -> None:
    comparisons = compare_model_bits(documents_of({"b": 2.0, "c": 2.0}), {})
    assert comparisons["verdict"].to_list() == [NOT_TOLD]
    intrinsic = measured({"b": 10, "c": 20}, "corpus_token_count")
    row = measures_against_models(comparisons, intrinsic, pl.DataFrame(schema=NGRAM_BITS.schema)).row(0, named=True)
    assert (row["pairs"], row["share"], row["low"], row["reason"]) == (0, None, None, NO_PAIR)


def test_every_pair_stands_once() -> None:
    comparisons = compare_model_bits(documents_of(LEVELS | {"d": 1.7}), {})
    assert list(comparisons.schema) == list(BITS_COMPARISONS.schema)
    assert set(comparisons.select("a", "b").rows()) == set(combinations("abcd", 2))
