"""benchmarks/coverage: its data have the values that it says, its shares and page are right, and key cases cover."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest

from benchmarks.coverage import cases, measures
from benchmarks.coverage.cases import Case
from benchmarks.coverage.page import SECTIONS, outside, page, summary, table_of
from benchmarks.coverage.run import all_cases
from benchmarks.coverage.samples import DISTRIBUTIONS, SIZES, over_seeds, unit_sizes, unit_values
from benchmarks.coverage.simulate import Share, share_of, simulate
from tokbench.statistics.significance.estimate import Estimate, ratio
from tokbench.statistics.significance.judgements import judge
from tokbench.statistics.significance.verdicts import ALPHA, NO_DIFFERENCE, NOT_TESTED

DRAWS = 400
SLACK = 2.5 * (0.05 * 0.95 / DRAWS) ** 0.5
"""More than two standard errors of a share of 0.95."""


def held(draw: cases.Draw, name: str, times: int = DRAWS) -> float:
    return share_of(Case(name, (), "", draw, times)).value


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_values_of_units_have_mean_zero_and_variance_one(distribution):
    values = unit_values(np.random.default_rng(1), distribution, (400_000,))
    assert abs(values.mean()) < 0.01
    assert values.var() == pytest.approx(1, abs=0.15 if distribution in ("heavy", "extreme") else 0.05)
    if distribution in ("skewed", "more skewed"):
        named = float(DISTRIBUTIONS[distribution].split()[-1])
        assert (values**3).mean() == pytest.approx(named, rel=0.05)


def test_sizes_are_as_named():
    rng = np.random.default_rng(1)
    for kind in SIZES:
        assert unit_sizes(rng, kind, 50).mean() == pytest.approx(1)
    assert unit_sizes(rng, "half", 7)[0] == pytest.approx(7 / 2)
    assert np.log(unit_sizes(rng, "unequal", 10_000)).std() == pytest.approx(1, abs=0.05)


def test_seeds_add_the_parts_of_variance_that_are_asked_for():
    rng = np.random.default_rng(1)
    sizes = np.array([1.0, 2, 3])
    share = sizes / 6
    drawn = over_seeds(rng, 4, np.zeros((100_000, 3)), sizes, 10, 0)
    assert (drawn.mean(-2) @ share).var() == pytest.approx(10 * (share**2).sum(), rel=0.03)
    drawn = over_seeds(rng, 4, np.zeros((100_000, 3)), sizes, 0, 5)
    assert (drawn.mean(-2) @ share).var() == pytest.approx(5 * (share**2).sum(), rel=0.03)


def test_a_share_counts_draws_and_depends_on_its_own_labels_only():
    seen = []

    def draw(rng):
        seen.append(rng.random())
        return seen[-1] < 0.3

    first, second = (Case("t", (row,), "c", draw, 50) for row in "ab")
    one, _, again = simulate([first, second, first])
    assert one == again
    assert one.hits == sum(value < 0.3 for value in seen[:50])
    assert seen[:50] == seen[100:]
    assert seen[:50] != seen[50:100]
    assert one.value == one.hits / 50
    assert one.error == pytest.approx((one.value * (1 - one.value) / 50) ** 0.5)
    assert Share("t", (), "", 100, 100).error == pytest.approx(0.01)


def test_an_interval_contains_its_ends_and_no_interval_contains_nothing():
    one = Estimate(1.0, 0.5, 10.0)
    low, high = one.ends()
    assert cases.contains(one, low)
    assert cases.contains(one, high)
    assert not cases.contains(one, high + 1e-9)
    assert not cases.contains(one, low - 1e-9)
    assert not cases.contains(None, 0)
    assert not cases.contains(Estimate(1.0, float("inf"), 1.0), 1)


def test_a_family_errs_where_its_verdicts_do():
    """Brute force: the verdicts of :func:`judge` on all pairs, for families with and without a difference."""
    rng = np.random.default_rng(3)
    found = []
    for _ in range(60):
        values = rng.standard_normal((4, 3, 9)) + rng.choice([0, 0, 1.2], 4)[:, np.newaxis, np.newaxis]
        pairs = [ratio(values[a] - values[b], np.ones(9), trained=True) for a, b in combinations(range(4), 2)]
        verdicts = [one.verdict for one in judge(pairs)]
        assert cases.significant(pairs, 6) == any(verdict not in (NO_DIFFERENCE, NOT_TESTED) for verdict in verdicts)
        found.append(cases.significant(pairs, 6))
    assert 10 < sum(found) < 50


def test_true_values_are_those_of_large_samples(monkeypatch):
    """Every draw of a measure is made with so many units that its estimate is the true value that it is compared to."""
    seen: list[tuple[float, float]] = []

    def keep(estimate, truth):
        seen.append((estimate.difference, truth))
        return True

    monkeypatch.setattr(measures, "contains", keep)
    monkeypatch.setattr(cases, "contains", keep)
    rng = np.random.default_rng(5)
    measures.alignment(rng, 100_000, 3)
    measures.exponent(rng, 200, 2000)
    cases.over_units(rng, "more skewed", "equal", 200_000)
    cases.token_counts(rng, "more skewed", "equal", 0.3, 100_000)
    for estimate, truth in seen:
        assert estimate == pytest.approx(truth, abs=0.003)
        assert truth
    assert len(seen) == 4


def test_power_is_that_of_the_difference_asked_for(monkeypatch):
    kept = []

    def keep(estimates, pairs):
        kept.append(estimates[0].difference)
        return True

    monkeypatch.setattr(cases, "significant", keep)
    rng = np.random.default_rng(1)
    for _ in range(4000):
        cases.detected(rng, "equal", 5, 8, 2, 3.0)
    assert abs(np.mean(kept)) == pytest.approx(3 * np.std(kept), rel=0.06)


def test_every_case_has_a_section_and_every_section_cases():
    found = all_cases(8)
    assert {one.table for one in found} == {one.name for one in SECTIONS}
    assert len({(one.table, one.row, one.column) for one in found}) == len(found)
    rows = {section.name: len(section.rows) for section in SECTIONS}
    assert all(len(one.row) == rows[one.table] and one.times > 0 for one in found)


def test_page_marks_coverage_outside_chance():
    shares = [
        Share("units", ("normal", "equal"), str(units), 1000, hits) for units, hits in ((3, 800), (6, 920), (8, 900))
    ]
    assert [outside(share, "coverage") for share in shares] == [True, False, True]
    assert outside(Share("units", (), "6", 1000, 995), "coverage")
    assert not outside(Share("families", (), "1", 1000, 60), "error")
    assert outside(Share("families", (), "1", 1000, 90), "error")
    assert not outside(Share("power", (), "1", 1000, 10), "power")
    units = next(section for section in SECTIONS if section.name == "units")
    assert table_of(shares, units).splitlines()[2] == "| normal | equal | **80.0** | 92.0 | **90.0** |"
    assert "| Units alone | 2 | 1 | 0 | 90.0 | 92.0 |" in summary(shares)
    text = page(shares)
    assert "Monte Carlo standard error is at most\n0.7 points" in text
    assert "## Units alone" in text
    assert "## Languages" not in text


KEY_CASES = {
    "units": partial(cases.over_units, distribution="normal", kind="equal", units=12),
    "units of unequal size": partial(cases.over_units, distribution="normal", kind="unequal", units=8),
    "one unit has half": partial(cases.over_units, distribution="heavy", kind="half", units=12),
    "token counts": partial(cases.token_counts, distribution="normal", kind="unequal", effect=0.3, units=12),
    "seeds that dominate": partial(
        cases.over_both, distribution="normal", kind="equal", source="large", seeds=3, units=12
    ),
    "tasks": partial(measures.answers, design="4 tasks of 6 clusters of 5", seeds=1),
    "languages": partial(measures.languages, count=12, between=1.0, distribution="normal"),
    "alignment": partial(measures.alignment, words=100, resources=3),
}


@pytest.mark.parametrize("name", KEY_CASES)
def test_key_cases_cover(name):
    assert 0.93 - SLACK <= held(KEY_CASES[name], name) <= 0.97 + SLACK


def percentile_bootstrap(rng: np.random.Generator) -> bool:
    values = unit_values(rng, "normal", (6,))
    low, high = np.quantile(values[rng.integers(6, size=(500, 6))].mean(1), [0.025, 0.975])
    return low <= 0 <= high


def test_the_simulation_sees_an_interval_that_is_too_narrow():
    assert held(percentile_bootstrap, "narrow") < 0.9
    assert held(partial(cases.over_units, distribution="extreme", kind="equal", units=8), "skewed") < 0.9


def test_equal_tokenizers_are_seldom_called_different():
    draw = partial(cases.family, distribution="normal", kind="equal", source="large", seeds=3, units=12, tokenizers=5)
    assert held(draw, "family", 150) <= 0.06 + 2 * (0.06 * 0.94 / 150) ** 0.5
    assert ALPHA == 0.05
