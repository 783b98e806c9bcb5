"""Lines of models, power laws, orders and costs: against NumPy and SciPy, known laws, and simulated models."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau

from tests.support.scale_models import RATES, SMALL, budgets, groups, power, recipe
from tests.support.small_report import altered, scale_frames, whole
from tokbench.models.memory import lm_parameters
from tokbench.models.pretraining.budget import flops_per_token
from tokbench.models.pretraining.options import PRESETS
from tokbench.reference import scaling as reference
from tokbench.report.exhibits import Drawing, Heading, Table
from tokbench.report.figures.style import inline
from tokbench.report.sections.scales import over_scale
from tokbench.statistics.comparisons.model_bits import BITS_COMPARISONS, NO_SEED, compare_model_bits
from tokbench.statistics.scale.equal_bits import (
    COST_AT_EQUAL_BITS,
    FLAT,
    MODEL_COSTS,
    RISES,
    cost_at_equal_bits,
    model_costs,
)
from tokbench.statistics.scale.equal_flops import (
    EQUAL_ARITHMETIC,
    EQUAL_ARITHMETIC_ORDER,
    equal_arithmetic,
    equal_arithmetic_order,
    neighbours,
)
from tokbench.statistics.scale.power_law import (
    ONE_DOCUMENT,
    Weighted,
    curvature_weights,
    line_weights,
    slope_weights,
    sum_of_logs,
)
from tokbench.statistics.scale.rank_order import kendall, resampled_levels
from tokbench.statistics.scale.scale_lines import costs_of, lines_of, scale_groups, without_seeds
from tokbench.statistics.scale.scaling import (
    SCALE_COMPARISONS,
    SCALE_FITS,
    SCALE_ORDERS,
    SLOWER,
    STEEPER,
    STRAIGHT,
    TWO_VALUES,
    compare_scales,
    fit_scales,
    scale_orders,
)
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.verdicts import NO_DIFFERENCE, NOT_TESTED
from tokbench.statistics.undersized import LEFT_OUT
from tokbench.tabulation.training import CONVERGENCE, TRAINED_ON


def named(models: Mapping[str, Mapping[str, Any]]) -> list[tuple[str, list[str], str, tuple[str, ...]]]:
    return [(one.varies, list(one.models), one.equal, one.differs) for one in lines_of(without_seeds(models))]


def test_a_grid_of_sizes_and_budgets_has_a_line_along_each_side() -> None:
    grid = {
        f"w{width}_t{text}": recipe(d_model=width, text_bytes=text)
        for width in (128, 64)
        for text in (200_000, 100_000)
    }
    assert named(grid) == [
        ("budget", ["w128_t100000", "w128_t200000"], "model", ("text_bytes",)),
        ("budget", ["w64_t100000", "w64_t200000"], "model", ("text_bytes",)),
        ("size", ["w64_t200000", "w128_t200000"], "text", ("d_model",)),
        ("size", ["w64_t100000", "w128_t100000"], "text", ("d_model",)),
    ]


def test_models_that_differ_in_several_ways_are_on_no_line() -> None:
    small = recipe()
    assert named({"a": small, "b": recipe(d_model=128, text_bytes=200_000)}) == []
    assert named({"a": small, "b": recipe(text_bytes=200_000, max_seq_len=512)}) == []
    assert named({"a": small, "b": recipe(text_bytes=200_000, batch=16)}) == []
    assert named({"a": small, "b": recipe(text_bytes=None, flops=1e13)}) == [], "equal text and equal arithmetic"
    assert named({"a": small, "b": recipe(seed=2)}) == [], "seeds are no scale"
    assert named({"a": small, "b": recipe(n_heads=2)}) == [], "as many weights"


def test_tuned_options_are_named_and_technical_ones_are_not() -> None:
    both = {"a": recipe(), "b": recipe(d_model=128, learning_rate=0.005, microbatch=4, device="cuda", seed=3)}
    assert named(both) == [("size", ["a", "b"], "text", ("d_model", "learning_rate"))]


def test_a_sweep_of_learning_rates_is_no_scale() -> None:
    sweep = {
        f"{text}_{rate}": recipe(text_bytes=text, learning_rate=rate) for text in (1000, 2000) for rate in (0.01, 0.02)
    }
    assert [models for _, models, _, _ in named(sweep)] == [["1000_0.01", "2000_0.01"], ["1000_0.02", "2000_0.02"]]


def test_budgets_say_which_quantity_is_equal() -> None:
    for key, value, equal in (("batches", 10, "tokens"), ("flops", 1e12, "arithmetic"), ("epochs", 0.5, "text")):
        only = {"text_bytes": None, key: value}
        assert named({"a": recipe(**only), "b": recipe(**only, d_model=128)})[0][2] == equal


@pytest.mark.parametrize("name", sorted(PRESETS))
@pytest.mark.parametrize("vocabulary", [1000, 65_536])
def test_costs_are_those_of_the_training(name: str, vocabulary: int) -> None:
    options = PRESETS[name]
    costs = costs_of(options.recipe(), vocabulary, 0.25)
    assert costs["parameters"] == lm_parameters(options, vocabulary)
    embeddings = options.vocabulary_rows(vocabulary) * options.d_model
    assert costs["parameters_without_embeddings"] == costs["parameters"] - embeddings
    assert costs["forward_flops_per_byte"] == pytest.approx(flops_per_token(options, vocabulary) / 3 * 0.25, rel=1e-15)


def test_the_cache_has_keys_and_values_of_every_layer() -> None:
    """By hand: 2 x layers x width of the keys x bytes of a number, per token."""
    assert costs_of(recipe(), 1000, 0.5)["cache_bytes_per_byte"] == 2 * 2 * 64 * 4 * 0.5
    greedtok = PRESETS["greedtok_1b"].recipe()
    assert costs_of(greedtok, 65_536, 1.0)["cache_bytes_per_byte"] == 2 * 40 * 512 * 2, "4 of 12 heads, bf16"
    assert set(costs_of(recipe(), 1000, None)) == {"parameters", "parameters_without_embeddings"}


DISTINCT = st.lists(st.integers(1, 400), min_size=3, max_size=6, unique=True)


@settings(max_examples=40, deadline=None)
@given(DISTINCT, st.randoms(use_true_random=False), st.floats(-3, 30))
def test_weights_are_those_of_least_squares(places: list[int], random: Any, at: float) -> None:
    x = [place / 10 for place in places]
    y = [random.uniform(-2, 2) for _ in x]
    slope, level = np.polyfit(x, y, 1)
    assert float(np.dot(slope_weights(x), y)) == pytest.approx(slope, rel=1e-6, abs=1e-6)
    assert float(np.dot(line_weights(x, at), y)) == pytest.approx(slope * at + level, rel=1e-6, abs=1e-5)
    middle = np.array(x) - np.mean(x)
    design = np.stack([middle**2, middle, np.ones(len(x))], axis=1)
    best = np.linalg.lstsq(design, np.array(y), rcond=None)[0]
    fitted = np.dot(curvature_weights(x), y)
    assert float(fitted) == pytest.approx(best[0], rel=1e-4, abs=1e-5)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 6), st.integers(0, 10_000))
def test_tau_is_that_of_scipy(items: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, 4, (2, items, 3)).astype(float)
    for column, tau in enumerate(kendall(x, y)):
        assert tau == pytest.approx(float(kendalltau(x[:, column], y[:, column]).statistic), nan_ok=True)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(1, 10**12), min_size=2, max_size=6, unique=True),
    st.lists(st.floats(0.5, 8), min_size=6, max_size=6),
)
def test_laws_are_those_of_the_reference(quantities: list[int], bits: list[float]) -> None:
    points = [(float(x), y) for x, y in zip(sorted(quantities), bits, strict=False)]
    x, y = [log(one) for one, _ in points], [log(one) for _, one in points]
    if min(b - a for a, b in pairwise(x)) < 0.01:
        return
    exponent, coefficient, curvature = reference.power_law(points)
    assert -float(np.dot(slope_weights(x), y)) == pytest.approx(exponent, rel=1e-6, abs=1e-6)
    assert exp(float(np.dot(line_weights(x, 0.0), y))) == pytest.approx(coefficient, rel=1e-4)
    if curvature is not None:
        assert float(np.dot(curvature_weights(x), y)) == pytest.approx(curvature, rel=1e-4, abs=1e-4)


def test_a_table_has_the_law_of_the_reference() -> None:
    found, bits = groups(budgets(100_000, 200_000, 400_000), {"a": power(20, 0.16)}, noise=0.05)
    [row] = fit_scales(found).filter(axis="text_bytes").rows(named=True)
    levels = bits.group_by("model", maintain_order=True).agg(pl.col("bits").sum() / pl.col("bytes").sum())["bits"]
    exponent, coefficient, curvature = reference.power_law(list(zip([1e5, 2e5, 4e5], levels, strict=True)))
    assert row["exponent"] == pytest.approx(exponent)
    assert row["coefficient"] == pytest.approx(coefficient)
    assert row["curvature"] == pytest.approx(curvature)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=7))
def test_tau_is_that_of_the_reference(items: list[tuple[int, int]]) -> None:
    x, y = (np.array([[item[place]] for item in items], float) for place in (0, 1))
    tau = reference.kendall(x[:, 0].tolist(), y[:, 0].tolist())
    assert kendall(x, y)[0] == pytest.approx(float("nan") if tau is None else tau, nan_ok=True)


def test_an_exact_law_is_found_without_error() -> None:
    found, _ = groups(budgets(100_000, 200_000, 400_000), {"a": power(20, 0.16), "b": power(22, 0.17)})
    fits = fit_scales(found)
    assert fits["axis"].to_list() == ["text_bytes"] * 2 + ["flops"] * 2
    text = fits.filter(axis="text_bytes").rows(named=True)
    assert [row["exponent"] for row in text] == pytest.approx([0.16, 0.17], abs=1e-12)
    # Documents differ by common factors, whose weighted mean is in the coefficient.
    assert text[1]["coefficient"] / text[0]["coefficient"] == pytest.approx(1.1)
    assert [row["exponent"] for row in fits.filter(axis="flops").rows(named=True)] == pytest.approx([0.16, 0.17])
    for row in text:
        assert (row["low"], row["high"]) == pytest.approx((row["exponent"],) * 2, abs=1e-9)
        assert row["curvature"] == pytest.approx(0, abs=1e-12)
        assert row["residual"] == pytest.approx(0, abs=1e-12)
        assert (row["lowest"], row["highest"], row["scales"], row["seeds"]) == (100_000, 400_000, 3, 3)


def test_an_irreducible_loss_bends_the_line() -> None:
    laws = {"a": power(20, 0.16), "b": lambda x: 1.5 + 3e4 * x**-0.9}
    found, _ = groups(budgets(50_000, 100_000, 200_000, 400_000), laws, noise=0.002)
    law = dict(fit_scales(found).filter(axis="text_bytes").select("variant", "law").rows())
    assert law == {"a": STRAIGHT, "b": SLOWER}


def test_two_scales_have_a_slope_and_no_check() -> None:
    found, _ = groups(budgets(100_000, 200_000), {"a": power(20, 0.16)}, noise=0.01)
    row = fit_scales(found).row(0, named=True)
    assert row["law"] == TWO_VALUES
    assert row["low"] < row["exponent"] < row["high"]
    assert row["residual"] is row["curvature"] is row["curvature_low"] is None


def test_one_training_gives_an_interval_over_documents_and_no_verdict() -> None:
    models = budgets(100_000, 200_000, 400_000, seeds=[7])
    found, by_seed = groups(models, {"a": power(20, 0.1), "b": power(30, 0.3)}, noise=0.001)
    fits, compared = fit_scales(found), compare_scales(found)
    assert set(fits["law"]) == set(compared["verdict"]) == {NOT_TESTED}
    assert set(fits["reason"]) == set(compared["reason"]) == {ONE_TRAINING}
    assert fits["low"].null_count() == compared["low"].null_count() == 0
    assert compared["p_value"].null_count() == len(compared)
    [order] = scale_orders(found, compare_model_bits(by_seed, {})).rows(named=True)
    assert order["reversed"] is order["significant_at_smallest"] is None
    assert order["reason"] == ONE_TRAINING


def test_exponents_are_compared_in_pairs() -> None:
    """Noise that two tokenizers share does not count: documents here vary by 10 %, and the difference does not."""
    laws = {"a": power(20, 0.16), "b": power(22, 0.2), "c": power(20, 0.16)}
    found, _ = groups(budgets(100_000, 200_000, 400_000), laws, noise=0.002)
    pairs = {(row["a"], row["b"]): row for row in compare_scales(found).filter(axis="text_bytes").rows(named=True)}
    assert pairs["a", "b"]["difference"] == pytest.approx(-0.04, abs=0.01)
    assert pairs["b", "c"]["verdict"] == STEEPER
    assert pairs["a", "c"]["verdict"] == NO_DIFFERENCE
    low, high = pairs["a", "b"]["low"], pairs["a", "b"]["high"]
    assert low < -0.04 < high < 0
    left = compare_scales(found, {("b", 1024)})
    assert {(a, b) for a, b in left.select("a", "b").rows()} == {("a", "c")}


def test_intervals_include_the_truth_as_often_as_they_say() -> None:
    """Exponents, their differences and ratios at equal bits, of simulated models from three seeds."""
    laws = {"a": power(20, 0.16), "b": power(19, 0.16)}
    truth = (19 / 20) ** (1 / 0.16)
    inside = {"exponent": 0, "difference": 0, "ratio": 0}
    rounds = known = 120
    for seed in range(rounds):
        found, _ = groups(budgets(100_000, 200_000, 400_000), laws, noise=0.01, seed=seed, documents=6)
        fit = fit_scales(found).row(0, named=True)
        inside["exponent"] += fit["low"] <= 0.16 <= fit["high"]
        pair = compare_scales(found).row(0, named=True)
        inside["difference"] += pair["low"] <= 0 <= pair["high"]
        row = cost_at_equal_bits(found, {"b": "a"}).filter(axis="text_bytes").row(1, named=True)
        if row["ratio"] is None:
            known -= 1
        else:
            inside["ratio"] += row["low"] <= truth <= row["high"]
    assert inside["exponent"] / rounds > 0.88
    assert inside["difference"] / rounds > 0.88
    assert known > 0.9 * rounds
    assert inside["ratio"] / known > 0.88


def test_seeds_that_differ_give_no_interval() -> None:
    models = budgets(100_000, seeds=[1, 2, 3]) | budgets(200_000, seeds=[4, 5, 6])
    found, _ = groups(models, {"a": power(20, 0.16), "b": power(22, 0.17)})
    row = fit_scales(found).row(0, named=True)
    assert row["exponent"] == pytest.approx(0.16)
    assert (row["low"], row["reason"]) == (None, NO_SEED)
    assert compare_scales(found)["reason"].to_list() == [NO_SEED] * 2


def test_orders_that_change_are_counted() -> None:
    laws = {"a": power(20, 0.1), "b": power(40, 0.16), "c": power(100, 0.2)}
    found, by_seed = groups(budgets(50_000, 200_000, 800_000), laws, noise=0.001)
    [row] = scale_orders(found, compare_model_bits(by_seed, {})).rows(named=True)
    # At 50,000: 6.78, 7.08, 11.5; at 800,000: 5.14, 4.55, 6.60.
    assert row["tau"] == pytest.approx(1 / 3)
    assert (row["pairs"], row["significant_at_smallest"], row["significant_at_largest"]) == (3, 3, 3)
    assert (row["significant_at_two"], row["reversed"]) == (3, 1)
    assert row["low"] == row["high"] == pytest.approx(1 / 3), "noise is small"
    assert (row["smallest"], row["largest"]) == ("m50000_1 (3 seeds)", "m800000_1 (3 seeds)")
    [left] = scale_orders(found, compare_model_bits(by_seed, {}), {("b", 1024)}).rows(named=True)
    assert (left["tokenizers"], left["tau"], left["reversed"]) == (2, 1.0, 0)


def test_an_order_of_equal_tokenizers_is_uncertain() -> None:
    laws = dict.fromkeys("abcd", power(20, 0.16))
    found, by_seed = groups(budgets(100_000, 200_000), laws, noise=0.01)
    [row] = scale_orders(found, compare_model_bits(by_seed, {})).rows(named=True)
    assert row["low"] < row["high"]
    assert row["reversed"] == 0


def test_resampled_levels_draw_seeds_and_documents() -> None:
    """The variance of a mean of independent values over seeds and documents, by its formula (Owen 2007)."""
    rng = np.random.default_rng(5)
    bits = rng.normal(0, 1, (6, 40))
    drawn = resampled_levels([bits, bits + 1], np.ones(40))
    assert np.allclose(drawn[1] - drawn[0], 1), "models share the draws"
    by_seed, by_document = bits.mean(1).var(), bits.mean(0).var()
    rest = (bits - bits.mean(1, keepdims=True) - bits.mean(0) + bits.mean()).var()
    expected = by_seed / 6 + by_document / 40 + rest / 240
    assert drawn[0].var() == pytest.approx(expected, rel=0.15)


def test_costs_at_equal_bits_follow_from_the_laws() -> None:
    """With bits = a x^-b, the ratio at equal bits is (a / a of the baseline)^(1 / b)."""
    laws = {"a": power(20, 0.16), "b": power(19, 0.16)}
    found, _ = groups(budgets(100_000, 200_000, 400_000), laws)
    table = cost_at_equal_bits(found, {"a": "a", "b": "a"})
    text = table.filter(axis="text_bytes").rows(named=True)
    ratio = (19 / 20) ** (1 / 0.16)
    assert [row["model"] for row in text] == [f"m{size}_1 (3 seeds)" for size in (100_000, 200_000, 400_000)]
    assert text[0]["ratio"] is None
    assert text[0]["reason"] == "outside the data: the baseline has more bits than the fitted line of b"
    for row in text[1:]:
        assert (row["ratio"], row["low"], row["high"]) == pytest.approx((ratio,) * 3)
    # Arithmetic per byte of text is larger for b, which has more tokens.
    flops = table.filter(axis="flops").rows(named=True)
    costs = [costs_of(SMALL, 1024, RATES[one])["forward_flops_per_byte"] for one in "ba"]
    assert flops[1]["ratio"] == pytest.approx(ratio * costs[0] / costs[1])
    assert set(cost_at_equal_bits(found, {"b": "a"}, {("b", 1024)})["reason"]) == {LEFT_OUT}


def test_inference_at_equal_bits_is_along_a_line_of_sizes() -> None:
    models = {f"w{width}_{seed}": recipe(d_model=width, seed=seed) for width in (32, 64, 128) for seed in (1, 2, 3)}
    laws = {"a": power(40, 0.2), "c": power(40, 0.2)}
    found, _ = groups(models, laws, over="parameters_without_embeddings")
    table = cost_at_equal_bits(found, {"c": "a"})
    assert set(table["axis"]) == {
        "parameters", "parameters_without_embeddings", "flops", "forward_flops_per_byte", "cache_bytes_per_byte",
    }  # fmt: skip
    size = table.filter(axis="parameters_without_embeddings")["ratio"].to_list()
    assert size[1] == pytest.approx(1)
    inference = table.filter(axis="cache_bytes_per_byte")["ratio"].to_list()
    assert inference[1] == pytest.approx(RATES["c"] / RATES["a"], rel=0.01), "the same model, more tokens"


def test_lines_that_do_not_fall_have_no_costs_at_equal_bits() -> None:
    found, _ = groups(budgets(100_000, 200_000), {"a": power(20, 0.16), "b": power(2, -0.01)})
    assert set(cost_at_equal_bits(found, {"b": "a"})["reason"]) == {RISES}
    found, _ = groups(budgets(100_000, 110_000), {"a": power(20, 0.16), "b": power(19, 0.16)}, noise=0.1, seed=4)
    assert set(cost_at_equal_bits(found, {"b": "a"})["reason"]) <= {FLAT, RISES}


def test_costs_of_models_are_listed_once() -> None:
    grid = {
        f"w{width}_t{text}": recipe(d_model=width, text_bytes=text)
        for width in (128, 64)
        for text in (200_000, 100_000)
    }
    found, _ = groups(grid, {"a": power(20, 0.16)})
    table = model_costs(found)
    assert sorted(table["model"]) == sorted(grid)
    row = table.filter(model="w64_t100000").row(0, named=True)
    assert row["text_bytes"] == 100_000
    assert row["tokens_per_byte"] == pytest.approx(0.25)
    assert row["petaflop"] * 1e15 == pytest.approx(3 * row["forward_flops_per_byte"] * 100_000)
    assert row["low"] < row["bits_per_byte"] < row["high"]


def test_bits_at_equal_arithmetic() -> None:
    """Trained with a budget of arithmetic, or interpolated between budgets of text."""
    trained = {
        f"f{flops:g}_{seed}": recipe(text_bytes=None, flops=flops, seed=seed)
        for flops in (1e11, 2e11)
        for seed in (1, 2, 3)
    }
    laws = {name: (lambda x, rate=rate: 2 + rate) for name, rate in RATES.items()}
    found, _ = groups({name: one | {"text_bytes": None} for name, one in trained.items()}, laws, over="parameters")
    recipes = without_seeds(trained)
    points = equal_arithmetic(found, recipes)
    assert points["petaflop"].unique().sort().to_list() == pytest.approx([1e-4, 2e-4])
    assert set(points["how"]) == {"trained"}
    assert points["bytes_per_token"].to_list()[:4] == pytest.approx([1 / rate for rate in RATES.values()], rel=1e-4)
    order = equal_arithmetic_order(found, recipes)
    assert order["tau"].to_list() == [-1, -1], "longer tokens, fewer bits"
    assert order["low"].to_list() == order["high"].to_list() == [-1, -1]
    few = equal_arithmetic_order(found, recipes, {("a", 1024), ("b", 1024)})
    assert few["reason"].to_list() == ["2 tokenizers; three are needed"] * 2

    models = budgets(100_000, 200_000, 400_000)
    found, _ = groups(models, {name: power(20, 0.16) for name in RATES})
    points = equal_arithmetic(found, without_seeds(models))
    assert set(points["how"]) == {"interpolated"}
    # The tokenizer with the longest tokens needs the least arithmetic; its largest budget is common to all.
    assert points["petaflop"].n_unique() == 1
    bits = dict(points.select("variant", "bits_per_byte").rows())
    costs = {one: costs_of(SMALL, 1024, rate)["forward_flops_per_byte"] for one, rate in RATES.items()}
    assert bits["d"] / bits["a"] == pytest.approx((costs["d"] / costs["a"]) ** 0.16)


def test_between_is_linear_in_logarithms() -> None:
    assert neighbours({"x": 100.0, "y": 400.0, "z": 1600.0}, 200.0) == [
        ("x", pytest.approx(0.5)),
        ("y", pytest.approx(0.5)),
    ]
    assert neighbours({"x": 100.0, "y": 400.0}, 400.0) == [("y", 1.0)]


def test_checkpoints_are_a_line_with_bits_of_the_complete_text() -> None:
    models = {f"m{seed}": recipe(seed=seed, evaluate_at=[0.25, 0.5]) for seed in (1, 2, 3)}
    rows = [
        ("a", 1024, "m1 (3 seeds)", "s", share, 10, 10, None, 0, (3 + 0.001 * seed) * (share * 1e5) ** -0.1, seed)
        for share in (0.25, 0.5, 1.0)
        for seed in (1, 2, 3)
    ]
    along = pl.DataFrame(rows, {**CONVERGENCE.schema, "seed": pl.Int64}, orient="row")
    found, _ = groups(models, {"a": power(3, 0.1)}, along=along)
    fits = fit_scales(found)
    assert fits["models"].unique().to_list() == ["m1 (3 seeds) at 0.25, m1 (3 seeds) at 0.5, m1 (3 seeds) at 1"]
    row = fits.filter(axis="text_bytes").row(0, named=True)
    assert row["exponent"] == pytest.approx(0.1)
    assert (row["lowest"], row["highest"], row["equal"]) == (25_000, 100_000, "training")
    assert (row["documents"], row["reason"], row["seeds"]) == (1, ONE_DOCUMENT, 3)
    assert row["low"] == pytest.approx(row["high"], abs=1e-9)
    assert model_costs(found).is_empty(), "a checkpoint is no model of its own"


def test_one_document_gives_no_interval() -> None:
    """Seeds alone would say nothing about other documents."""
    found = sum_of_logs([Weighted(1.0, np.array([[value] for value in (2.0, 2.2, 2.1)]))], np.ones(1))
    assert found == pytest.approx(log(2.1))


MAKERS: dict[Any, Callable[..., pl.DataFrame]] = {
    SCALE_FITS: fit_scales,
    SCALE_COMPARISONS: compare_scales,
    SCALE_ORDERS: partial(scale_orders, bits_comparisons=pl.DataFrame(schema=BITS_COMPARISONS.schema)),
    MODEL_COSTS: model_costs,
    COST_AT_EQUAL_BITS: partial(cost_at_equal_bits, baselines={}),
    EQUAL_ARITHMETIC: partial(equal_arithmetic, model_recipes={}),
    EQUAL_ARITHMETIC_ORDER: partial(equal_arithmetic_order, model_recipes={}),
}


@pytest.mark.parametrize("table", MAKERS, ids=lambda table: table.name)
def test_one_scale_has_no_rows(table: Any) -> None:
    found, _ = groups(budgets(100_000), {"a": power(20, 0.16), "b": power(22, 0.17)})
    assert found == []
    frame = MAKERS[table](found)
    table.check(frame)
    assert frame.is_empty()


def test_the_published_study_has_one_scale() -> None:
    """Equal text and equal arithmetic of one model are two kinds of budget and no line."""
    folder = Path(__file__).parents[3] / "results/published/study_models/tidy"
    bits = pl.read_parquet(folder / "document_bits.parquet").with_columns(seed=pl.lit(None, pl.Int64))
    text = {f"text_{seed}": recipe(text_bytes=None, epochs=0.375, seed=seed) for seed in range(1, 6)}
    arithmetic = {f"compute_{seed}": recipe(text_bytes=None, flops=1e13, seed=seed) for seed in range(1, 6)}
    none = pl.DataFrame(schema={**CONVERGENCE.schema, "seed": pl.Int64})
    read = pl.DataFrame(schema={**TRAINED_ON.schema, "seed": pl.Int64})
    assert scale_groups(bits, none, read, without_seeds(text | arithmetic), {}, {}) == []


def test_the_report_shows_models_over_scale() -> None:
    content = whole()
    exhibits = over_scale(content)
    assert isinstance(exhibits[0], Heading)
    names = [exhibit.name for exhibit in exhibits if isinstance(exhibit, Table | Drawing)]
    assert len(set(names)) == len(names)
    drawings = [exhibit for exhibit in exhibits if isinstance(exhibit, Drawing)]
    assert len(drawings) == 2
    for drawing in drawings:
        assert "<svg" in inline(drawing.draw(width=4.0), "x", drawing.says)
    assert over_scale(altered(content, **dict.fromkeys(scale_frames()))) == []


def test_reversed_orders_are_the_finding_of_their_table() -> None:
    content = whole()
    orders = content.frames["scale_orders"]

    def finding(**columns: int | None) -> str:
        changed = orders.with_columns(**{name: pl.lit(value, pl.Int64) for name, value in columns.items()})
        [table] = [
            one
            for one in over_scale(altered(content, scale_orders=changed))
            if getattr(one, "name", "") == "scale-orders"
        ]
        assert isinstance(table, Table)
        return table.finding

    assert finding(reversed=None, significant_at_two=None) == "not tested"
    assert finding(reversed=0, significant_at_two=0) == "no pair differs significantly at two scales"
    assert finding(reversed=1, significant_at_two=3) == (
        "of 3 pairs that differ significantly at two scales, 1 change their order"
    )
    assert replace(content, frames={}).part("scale_orders") is None
