"""Back-test of small models: against the plain reference, exact laws, and laws that bend."""

from collections.abc import Callable, Mapping
from math import exp, log
from typing import Any

import polars as pl
import pytest

from tests.statistics.scale.test_scaling import budgets, groups, power, recipe
from tokbench.reference import scaling as reference
from tokbench.statistics.comparisons.model_bits import compare_model_bits
from tokbench.statistics.scale.back_test import (
    LAST,
    LAW,
    SCALE_BACK_TESTS,
    SCALE_PREDICTIONS,
    back_test,
    predict_scales,
)
from tokbench.statistics.significance.eligibility import ONE_TRAINING

Laws = Mapping[str, Callable[[float], float]]
SIZES = (100_000, 200_000, 400_000, 800_000)


def predictions(models: Mapping[str, Any], laws: Laws, **options: Any) -> pl.DataFrame:
    found, by_seed = groups(models, laws, **options)
    frame = predict_scales(found, compare_model_bits(by_seed, {}))
    SCALE_PREDICTIONS.check(frame)
    return frame


def test_exact_laws_are_predicted() -> None:
    laws = {"a": power(20, 0.16), "b": power(30, 0.2), "c": power(10, 0.1)}
    frame = predictions(budgets(*SIZES), laws)
    by_law = frame.filter(rule=LAW)
    assert by_law["predicted"].to_list() == pytest.approx(by_law["observed"].to_list(), abs=1e-12)
    row = frame.filter(rule=LAST, a="a", b="b").row(0, named=True)
    at = [laws["a"](size) / laws["b"](size) - 1 for size in SIZES[-2:]]
    assert [row["predicted"], row["observed"]] == pytest.approx(at)
    assert row["smaller"].count(",") == 2
    assert row["largest"].startswith(f"m{SIZES[-1]}")


def test_predictions_are_those_of_the_reference() -> None:
    """With noise, and a law that bends."""

    def bent(x: float) -> float:
        return 1 + power(30, 0.2)(x)

    laws = {"a": power(20, 0.16), "b": bent}
    found, by_seed = groups(budgets(*SIZES), laws, noise=0.02)
    [row] = predict_scales(found, compare_model_bits(by_seed, {})).filter(rule=LAW).rows(named=True)
    sums = by_seed.group_by("variant", "model").agg(pl.col("bits").sum() / pl.col("bytes").sum())
    size = {group: x for line in found for (_, group), costs in line.costs.items() for x in [costs["text_bytes"]]}
    points = {
        variant: sorted((size[model], bits) for of, model, bits in sums.rows() if of == variant) for variant in laws
    }
    expected = reference.prediction(points["a"]) / reference.prediction(points["b"]) - 1
    assert row["predicted"] == pytest.approx(expected, rel=1e-9)
    assert row["observed"] == pytest.approx(points["a"][-1][1] / points["b"][-1][1] - 1, rel=1e-9)


def test_coverage_of_the_intervals() -> None:
    """Where the rule is right, and only noise of seeds and documents is left."""
    held = [
        row["holds"]
        for seed in range(150)
        for row in predictions(
            budgets(*SIZES[:3], seeds=range(6)), {"a": power(20, 0.16), "b": power(21, 0.16)}, noise=0.02, seed=seed,
            documents=20,
        ).rows(named=True)
    ]  # fmt: skip
    assert 0.9 <= sum(held) / len(held) <= 0.995


def test_laws_that_bend_miss() -> None:
    laws = {"a": power(20, 0.16), "b": lambda x: 2.6 + power(1e6, 1.0)(x)}
    frame = predictions(budgets(*SIZES), laws, noise=1e-4)
    assert frame["holds"].to_list() == [False, False]
    totals = back_test(frame)
    SCALE_BACK_TESTS.check(totals)
    assert totals["held"].to_list() == [0, 0]
    assert totals.filter(rule=LAST)["miss"][0] > 0.05


def test_orders_are_counted() -> None:
    """Of three pairs, the two of c cross between the two largest scales."""
    crossing = log(3)
    laws = {"a": power(20, 0.16), "b": power(20.5, 0.16), "c": lambda x: power(20, 0.16)(x) * exp(
        0.1 * (crossing - log(x / 200_000)))}  # fmt: skip
    [last, law] = back_test(predictions(budgets(*SIZES), laws, noise=1e-4)).rows(named=True)
    assert (last["rule"], last["pairs"], last["same_order"]) == (LAST, 3, 1)
    assert (law["rule"], law["same_order"], law["held"]) == (LAW, 3, 3)
    assert last["significant"] == 3
    assert (last["same_order_of_significant"], law["same_order_of_significant"]) == (1, 3)


def test_two_scales_have_one_rule() -> None:
    frame = predictions(budgets(*SIZES[:2]), {"a": power(20, 0.16), "b": power(30, 0.2)})
    assert frame["rule"].to_list() == [LAST]


def test_one_seed_is_not_judged() -> None:
    """Its interval is over documents only."""
    laws = {"a": power(20, 0.16), "b": power(30, 0.2)}
    frame = predictions(budgets(*SIZES, seeds=[1]), laws, noise=0.01)
    assert frame.select("holds", "significant").null_count().row(0) == (2, 2)
    assert set(frame["reason"]) == {ONE_TRAINING}
    assert back_test(frame)["held"].to_list() == [None, None]


def test_sizes_are_a_line() -> None:
    shapes = {
        f"w{width}_{seed}": recipe(d_model=width, seed=seed) for width in (32, 64, 128) for seed in (1, 2, 3)
    }  # fmt: skip
    laws = {"a": power(5, 0.03), "b": power(6, 0.04)}
    frame = predictions(shapes, laws, over="parameters_without_embeddings")
    assert set(frame["varies"]) == {"size"}
    assert set(frame["axis"]) == {"parameters"}
