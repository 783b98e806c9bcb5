"""Ladders of models and their plan: against simulated repetitions, the plan of seeds, and the command."""

from math import log, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.statistics.scale.test_scaling import budgets, groups, power
from tokbench.statistics.comparisons.model_bits import compare_model_bits
from tokbench.statistics.planning.ladder_plan import LADDER_PLAN, TEXTS, ladder_sentences, plan_ladders
from tokbench.statistics.planning.seed_plan import Pilot
from tokbench.statistics.scale.ladders import SCALE_LADDERS, measure_ladders
from tokbench.statistics.significance.eligibility import ONE_TRAINING

LAWS = {"a": power(20, 0.16), "b": power(21, 0.16)}
SIZES = (100_000, 200_000, 400_000)


def ladders(**options: float) -> pl.DataFrame:
    frame = measure_ladders(groups(budgets(*SIZES, seeds=range(4)), LAWS, **options)[0])  # type: ignore[arg-type]
    SCALE_LADDERS.check(frame)
    return frame


def test_ladders_of_a_line() -> None:
    frame = ladders(noise=0.02)
    assert [names.count("m") for names in frame["ladder"]] == [1, 2, 3]
    assert frame["at"].to_list() == pytest.approx([800_000] * 3)
    assert frame["petaflop"].is_sorted()


def test_one_model_has_the_deviation_of_its_difference() -> None:
    """Of the absolute difference, divided by the level, as both have about the same bits."""
    found, by_seed = groups(budgets(*SIZES, seeds=range(4)), LAWS, noise=0.02)
    row = measure_ladders(found).row(0, named=True)
    model = row["ladder"]
    [compared] = compare_model_bits(by_seed, {}).filter(model=model).rows(named=True)
    assert row["seed_deviation"] == pytest.approx(compared["seed_deviation"] / row["bits_per_byte"], rel=0.06)


def test_errors_are_those_of_repeated_pilots() -> None:
    """The variance of the predicted logarithm of the ratio over pilots is the mean of the estimated variances."""
    seeds, places = 4, [log(size) for size in SIZES]
    weights = np.linalg.pinv(np.stack([np.ones(3), places], 1)).T @ [1, log(800_000)]
    predicted, estimated = [], []
    for seed in range(200):
        found, _ = groups(budgets(*SIZES, seeds=range(seeds)), LAWS, noise=0.02, seed=seed, documents=12)
        [group] = found
        bits = {
            variant: [log(group.stack(variant, model, range(seeds)).mean(0).sum()) for model in group.line.models]
            for variant in LAWS
        }
        predicted.append(float(weights @ (np.array(bits["a"]) - np.array(bits["b"]))))
        row = measure_ladders(found).row(2, named=True)
        estimated.append(row["seed_deviation"] ** 2 / seeds + row["document_error"] ** 2)
    assert np.std(predicted) == pytest.approx(sqrt(np.mean(estimated)), rel=0.15)


def test_a_plan_is_that_of_seeds() -> None:
    known = ladders(noise=0.02)
    plan = plan_ladders(known, 0.05)
    LADDER_PLAN.check(plan)
    assert len(plan) == len(known) * len(TEXTS)
    row, ladder = plan.row(1, named=True), known.row(0, named=True)
    expected = Pilot((), 0, 4, 16, 0.0, ladder["seed_deviation"], 0.0, ladder["document_error"] / sqrt(2))
    assert row["documents"] == 16
    assert row["needed"] == expected.needed(0.05 / ladder["bits_per_byte"])
    assert row["needed_at_most"] >= row["needed"]
    assert row["petaflop"] == pytest.approx(row["needed"] * ladder["petaflop"])


def test_documents_alone_may_hide_a_difference() -> None:
    plan = plan_ladders(ladders(noise=0.02), 1e-4)
    assert set(plan["needed"]) == {None}
    [sentence] = ladder_sentences(plan)
    assert "no ladder of the pilot predicts a difference of 0.0001 bits per byte" in sentence


def test_one_seed_plans_nothing() -> None:
    found, _ = groups(budgets(*SIZES, seeds=[1]), LAWS, noise=0.02)
    plan = plan_ladders(measure_ladders(found), 0.01)
    assert plan["reason"].to_list() == [ONE_TRAINING] * 3


def test_power_command_plans_ladders(tmp_path: Path, tokbench: Tokbench) -> None:
    """With ladders, and with statistics of an older version, which have none."""
    found, by_seed = groups(budgets(*SIZES, seeds=range(4)), LAWS, noise=0.02)
    compare_model_bits(by_seed, {}).write_parquet(tmp_path / "bits_comparisons.parquet")
    before = tokbench("power", tmp_path, "--detect", "0.05").stdout.decode()
    measure_ladders(found).write_parquet(tmp_path / "scale_ladders.parquet")
    after = tokbench("power", tmp_path, "--detect", "0.05", "-o", tmp_path / "power").stdout.decode()
    assert after.startswith(before)
    assert "s on books at 1024, by budget: predicting a difference of 0.05 bits per byte" in after
    assert len(pl.read_parquet(tmp_path / "power" / "ladder_plan.parquet")) == 12
