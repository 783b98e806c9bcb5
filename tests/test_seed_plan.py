"""What so many seeds see, and how many are needed."""

from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from tests.conftest import Tokbench
from tests.support.fake_results import LEVELS, documents_of
from tokbench.statistics.model_bits import compare_model_bits
from tokbench.statistics.seed_plan import RULE, Pilot, pilots, plan_seeds, seen_by_seeds
from tokbench.statistics.student import detectable, power_of, quantile


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
    assert pilot.error(5) == (pytest.approx(1 / sqrt(5)), 4)
    assert pilot.needed(1.00001 * detectable(999) / sqrt(1000)) == 1000


def test_no_seed_helps_against_few_documents() -> None:
    pilot = Pilot(("en", "m", "s", 1), 1, 5, 10, 0.01, 0.01, 0.02, 0.01)
    assert pilot.needed(0.02) is None
    assert pilot.needed(0.05) is not None
    error, degrees = pilot.error(1000)
    assert error == pytest.approx(0.01, rel=0.01)
    assert degrees == pytest.approx(9, rel=0.01)


def test_the_pilot_tells_its_deviations() -> None:
    comparisons = compare_model_bits(documents_of(LEVELS, seeds=6), {})
    (pilot,) = pilots(comparisons)
    assert isinstance(pilot, Pilot)
    assert pilot.seed_deviation == pytest.approx(sqrt((comparisons["seed_deviation"] ** 2).mean()))
    assert pilot.run_deviation < pilot.seed_deviation < pilot.highest
    plan = plan_seeds(comparisons, 0.01).row(0, named=True)
    models = pl.DataFrame({"model": [f"m{number}" for number in range(30)]})
    planned = plan_seeds(models.join(comparisons.drop("model"), how="cross"), 0.01)["model"]
    assert planned.to_list() == sorted(models["model"])
    assert plan["by_rule"] == max(2, np.ceil(RULE * (pilot.run_deviation / 0.01) ** 2))
    assert pilot.seen(0.01, plan["needed"]) >= 0.8
    assert plan["needed"] <= plan["needed_at_most"]
    seen = seen_by_seeds(comparisons, 0.01)
    assert seen["detectable"].is_sorted(descending=True)
    assert [pilot.seen(row["detectable"], row["seeds"]) for row in seen.iter_rows(named=True)] == pytest.approx(
        [0.8] * len(seen)
    )
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
