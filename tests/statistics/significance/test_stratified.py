"""Weighted means over strata: values, standard errors by a stratified bootstrap, seeds, and coverage."""

import numpy as np
import pytest

from tokbench.statistics.significance.estimate import ratio
from tokbench.statistics.significance.stratified import weighted_ratio

WEIGHTS = {"web": 1.0, "code": 2.0, "books": 3.0}
RATES = {"web": 1.0, "code": 3.0, "books": 0.5}


def simulated(
    counts: dict[str, int], seeds: int, generator: np.random.Generator, seed_deviation: float = 0.0
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """Return numerators [seeds, units], denominators and strata, whose true ratios are :data:`RATES`."""
    names = [name for name, count in counts.items() for _ in range(count)]
    sizes = generator.uniform(50, 150, len(names))
    rates = np.array([RATES[name] for name in names])
    of_units = generator.normal(0, 0.3, len(names))
    of_seeds = generator.normal(0, seed_deviation, (seeds, 1)) if seed_deviation else np.zeros((seeds, 1))
    rest = generator.normal(0, 0.05, (seeds, len(names)))
    return (rates + of_units + of_seeds + rest) * sizes, sizes, names


def by_hand(parts: np.ndarray, sizes: np.ndarray, names: list[str], weights: dict[str, float]) -> float:
    of = np.array(names)
    whole = sum(weights.values())
    return sum(weight / whole * parts[of == name].sum() / sizes[of == name].sum() for name, weight in weights.items())


def test_value_and_error_are_those_of_a_stratified_bootstrap() -> None:
    generator = np.random.default_rng(0)
    parts, sizes, names = simulated({"web": 60, "code": 90, "books": 400}, 1, generator)
    estimate = weighted_ratio(parts[0], sizes, names, WEIGHTS)
    assert estimate is not None
    assert estimate.difference == pytest.approx(by_hand(parts[0], sizes, names, WEIGHTS), rel=1e-12)
    of = np.array(names)
    means = []
    for _ in range(4000):
        drawn = np.concatenate([generator.choice(np.flatnonzero(of == name), (of == name).sum()) for name in WEIGHTS])
        means.append(by_hand(parts[0][drawn], sizes[drawn], [names[unit] for unit in drawn], WEIGHTS))
    assert estimate.error == pytest.approx(np.std(means), rel=0.04)
    low, high = estimate.ends()
    assert low == pytest.approx(np.quantile(means, 0.025), abs=0.1 * estimate.error)
    assert high == pytest.approx(np.quantile(means, 0.975), abs=0.1 * estimate.error)
    # Without strata, the differences between strata would widen the interval.
    mixed = ratio(parts[0], sizes)
    assert mixed is not None
    assert mixed.error > 1.5 * estimate.error


def test_one_stratum_is_the_ratio() -> None:
    parts, sizes, names = simulated({"web": 40}, 3, np.random.default_rng(1), 0.1)
    for rows in (parts, parts[:1]):
        whole, weighted = ratio(rows, sizes, trained=True), weighted_ratio(rows, sizes, names, {"web": 5}, trained=True)
        assert whole is not None
        assert weighted is not None
        assert weighted.difference == pytest.approx(whole.difference, rel=1e-12)
        assert weighted.error == pytest.approx(whole.error, rel=1e-9)
        assert weighted.ends() == pytest.approx(whole.ends(), rel=1e-9)
        assert (weighted.units, weighted.trainings) == (whole.units, whole.trainings)


def test_shares_of_bytes_give_the_ratio_of_the_full_text() -> None:
    parts, sizes, names = simulated({"web": 30, "code": 70}, 1, np.random.default_rng(2))
    shares = {name: float(sizes[np.array(names) == name].sum()) for name in ("web", "code")}
    weighted = weighted_ratio(parts[0], sizes, names, shares)
    assert weighted is not None
    assert weighted.difference == pytest.approx(parts[0].sum() / sizes.sum(), rel=1e-12)


@pytest.mark.parametrize(("counts", "seeds"), [((20, 30, 50), 1), ((20, 30, 50), 5), ((100, 150, 50), 1)])
def test_intervals_contain_the_true_mean(counts: tuple[int, int, int], seeds: int) -> None:
    generator = np.random.default_rng(3)
    truth = sum(WEIGHTS[name] * RATES[name] for name in WEIGHTS) / sum(WEIGHTS.values())
    trials, inside = 300, 0
    for _ in range(trials):
        drawn = simulated(dict(zip(WEIGHTS, counts, strict=True)), seeds, generator, 0.02 if seeds > 1 else 0.0)
        estimate = weighted_ratio(*drawn, WEIGHTS, trained=seeds > 1)
        assert estimate is not None
        low, high = estimate.ends()
        assert low is not None
        assert high is not None
        inside += low <= truth <= high
    # Four standard deviations of a binomial share below 0.95.
    assert inside / trials > 0.95 - 4 * np.sqrt(0.95 * 0.05 / trials)


def test_strata_without_content_weight_or_spread() -> None:
    parts, sizes, names = simulated({"web": 10, "code": 1}, 1, np.random.default_rng(4))
    assert weighted_ratio(parts[0], sizes, names, {"web": 1, "books": 1}) is None
    assert weighted_ratio(parts[0], sizes, names, {"web": 0}) is None
    alone = weighted_ratio(parts[0], sizes, names, {"web": 1, "code": 1})
    assert alone is not None
    assert alone.ends() == (None, None)
    assert "one unit" in alone.reason
    # A weight of zero leaves a stratum out.
    without = weighted_ratio(parts[0], sizes, names, {"web": 1, "code": 0})
    only = ratio(parts[0][:10], sizes[:10])
    assert without is not None
    assert only is not None
    assert without.ends() == pytest.approx(only.ends())
