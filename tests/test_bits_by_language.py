"""Bits per byte over documents alone, and over languages, which are few however many documents they have."""

from math import exp, log, sqrt

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal
from scipy.stats import t as student

from tests.support.fake_results import documents_of
from tokbench.statistics.by_language import models_over_languages, ngrams_over_languages
from tokbench.statistics.mixed import random_intercept
from tokbench.statistics.ngram_verdicts import ONE_DOCUMENT as ONE
from tokbench.statistics.ngram_verdicts import judge_ngram_bits, ratio_over_documents
from tokbench.statistics.verdicts import NOT_TESTED, NOT_TOLD, ONE_TRAINING, TWO_TRAININGS
from tokbench.tabulation.ngram_bits import NGRAM_DOCUMENTS


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
    assert found.select("order", "training_bytes").rows() == [(2, 5), (1, 9), (2, 9)]
    row = found.row(2, named=True)
    assert (row["verdict"], row["documents"], row["excluded"]) == ("better", 80, None)
    assert row["low"] < -0.1 + 0.005
    assert row["difference"] == pytest.approx(-0.1, abs=0.01)
    equal = judge_ngram_bits(in_languages([0.0]), {}).row(2, named=True)
    assert (equal["verdict"], equal["excluded"] > equal["high"] > 0) == (NOT_TOLD, True)
    alone = judge_ngram_bits(in_languages([0.1], documents=1), {}).row(0, named=True)
    assert (alone["low"], alone["verdict"], alone["reason"]) == (None, None, ONE)
    assert alone["difference"] == pytest.approx(-0.1, abs=0.05)
    two = judge_ngram_bits(in_languages([0.1], documents=2), {}).row(0, named=True)
    assert (two["documents"], two["reason"], two["low"] < two["high"]) == (2, None, True)
    empty = in_languages([0.1], documents=1).with_columns(document=pl.lit(9, pl.Int64), bytes=pl.lit(0, pl.Int64))
    more = pl.concat([in_languages([0.1, 0.1]), empty.with_columns(bits=0.0)])
    assert judge_ngram_bits(more, {}).row(2) == found.row(2), "what holds no bytes counts for nothing"
    assert judge_ngram_bits(in_languages([0.1]).clear(), {}).is_empty()


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
    assert fit.within**2 == pytest.approx(table.var(1, ddof=1).mean(), rel=1e-6)
    assert fit.error == pytest.approx(table.mean(1).std(ddof=1) / sqrt(22), rel=1e-6)
    model = pytest.importorskip("statsmodels.regression.mixed_linear_model", reason="statsmodels is not installed")
    with pytest.warns(UserWarning, match="boundary"):
        theirs = model.MixedLM(table.ravel(), np.ones((22 * 30, 1)), np.repeat(np.arange(22), 30)).fit(reml=True)
    assert (fit.mean, fit.error) == pytest.approx((theirs.fe_params[0], theirs.bse_fe[0]), rel=1e-3)
    assert (fit.between**2, fit.within**2) == pytest.approx((theirs.cov_re[0, 0], theirs.scale), rel=1e-2)


def test_one_document_a_language_is_a_test_of_languages() -> None:
    fit = random_intercept([np.array([one]) for one in (0.1, 0.2, 0.4)])
    assert (fit.mean, fit.error) == (pytest.approx(0.7 / 3), pytest.approx(np.std([0.1, 0.2, 0.4], ddof=1) / sqrt(3)))


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
    assert (one["reason"], one["low"], one["verdict"], one["seeds"]) == (ONE_TRAINING, None, NOT_TESTED, 1)
    two = models_over_languages(frame.filter(pl.col("seed") < 2), {}).row(0, named=True)
    assert (two["reason"], two["holm"], two["verdict"]) == (TWO_TRAININGS, None, NOT_TESTED)
    assert two["low"] < two["difference"] < two["high"]
    assert models_over_languages(documents_of({"a": 1.95, "b": 2.0}), {}).is_empty()
