"""Causal effects of tokens: lines and standard errors against one regression, simulations, bands and placebos."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import stdtrit

from tokbench.reference import discontinuity as reference
from tokbench.statistics.effects.discontinuity import jump, placebo_cutoffs
from tokbench.statistics.effects.scored_model import CUTOFF, PLACEBO
from tokbench.statistics.effects.token_effects import (
    FEW,
    token_effect_bins,
    token_effects,
    token_effects_by_seed,
    token_placebos,
)


def outcomes(rng: np.random.Generator, effect: float, reach: int = 64, noise: float = 1.0) -> list[tuple[int, float]]:
    ranks = np.arange(-reach, reach)
    drawn = rng.normal(scale=noise * np.where(ranks < 0, 1.0, 2.0))
    return list(zip(ranks.tolist(), (-8 - 0.02 * ranks + effect * (ranks < 0) + drawn).tolist(), strict=True))


def scores(effect: float, seeds: int = 3, reach: int = 64, size: int = 300) -> pl.DataFrame:
    rng = np.random.default_rng(7)
    rows = []
    for seed in range(seeds):
        for rank, value in outcomes(rng, effect, reach, 0.3):
            count = 5 + (rank * 7) % 11
            uniform = -8.0 * count * (1 if rank < 0 else 2 + (rank % 4 == 1))
            rows.append(("bpe", size, "tiny", "books", rank, "7468", count, count, value * count, uniform, seed))
    names = ["variant", "size", "model", "corpus", "rank", "token", "occurrences", "scored", "bits", "uniform_bits"]
    names.append("seed")
    return pl.DataFrame(rows, schema=names, orient="row")


def test_known_jump() -> None:
    """Two exact lines, 2 apart at the cut-off."""
    points = [(rank, 3.0 + 0.5 * (rank + 0.5) + 2.0 * (rank < 0)) for rank in range(-6, 6)]
    found = jump(points, 0, 6)
    assert found is not None
    assert found.estimate.difference == pytest.approx(2)
    assert found.estimate.error == pytest.approx(0, abs=1e-12)
    assert found.estimate.degrees == 8
    assert (found.inside.level, found.outside.level) == pytest.approx((5, 3))
    assert found.inside.slope == pytest.approx(0.5)
    assert jump(points, 0, 3) is None
    assert jump(points[:8], 0, 6) is None


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(-3, 3), st.integers(4, 12))
def test_against_one_regression(seed: int, cutoff: int, bandwidth: int) -> None:
    rng = np.random.default_rng(seed)
    points = [(rank, float(rng.normal())) for rank in range(-16, 16) if rng.random() < 0.9]
    found = jump(points, cutoff, bandwidth)
    sides = [[rank for rank, _ in points if cutoff - bandwidth <= rank < cutoff],
             [rank for rank, _ in points if cutoff <= rank < cutoff + bandwidth]]  # fmt: skip
    if min(map(len, sides)) < 4:
        assert found is None
        return
    assert found is not None
    effect, error, degrees = reference.jump(points, cutoff, bandwidth)
    assert found.estimate.difference == pytest.approx(effect, abs=1e-9)
    assert found.estimate.error == pytest.approx(error, rel=1e-9)
    assert found.estimate.degrees == degrees
    near = [(rank, y) for rank, y in points if cutoff - bandwidth <= rank < cutoff + bandwidth]
    x = np.array([rank - cutoff + 0.5 for rank, _ in near])
    inside = (x < 0).astype(float)
    rows = np.column_stack([np.ones_like(x), inside, x, inside * x])
    solved, *_ = np.linalg.lstsq(rows, np.array([y for _, y in near]), rcond=None)
    assert found.estimate.difference == pytest.approx(solved[1], abs=1e-8)


@pytest.mark.parametrize("effect", [0.0, 1.5])
def test_interval_covers_at_the_stated_rate(effect: float) -> None:
    """Noise differs between the sides; 95 % of 600 intervals cover the effect, within three standard errors."""
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(600):
        found = jump(outcomes(rng, effect, 24), 0, 24)
        assert found is not None
        low, high = found.estimate.ends()
        covered += low <= effect <= high
    assert 0.923 <= covered / 600 <= 0.977


def test_placebo_windows_do_not_cross_the_cut_off() -> None:
    assert placebo_cutoffs(64, 16) == [-48, -40, -32, -24, -16, 16, 24, 32, 40, 48]
    assert placebo_cutoffs(8, 4) == [-4, 4]
    assert placebo_cutoffs(7, 4) == []


def test_effects_over_seeds() -> None:
    made = token_effects(scores(1.5))
    main = made.row(0, named=True)
    assert (main["kind"], main["cutoff"], main["bandwidth"], main["band"], main["seeds"]) == (CUTOFF, 0, 16, "", 3)
    assert main["low"] < 1.5 < main["high"]
    assert main["ratio"] == pytest.approx(2 ** main["effect"])
    assert main["inside_level"] - main["outside_level"] == pytest.approx(main["effect"])
    assert (main["inside"], main["outside"], main["degrees"]) == (16, 16, 28)
    singles = token_effects_by_seed(scores(1.5))
    of_cutoff = singles.filter(kind=CUTOFF, bandwidth=16, band="")
    assert of_cutoff["effect"].mean() == pytest.approx(main["effect"])
    assert main["seed_low"] < main["effect"] < main["seed_high"]
    effects = of_cutoff["effect"].to_numpy()
    variances = [main["error"] ** 2, effects.var(ddof=1) / 3]
    degrees = sum(variances) ** 2 / (variances[0] ** 2 / 28 + variances[1] ** 2 / 2)
    half = stdtrit(degrees, 0.975) * sum(variances) ** 0.5
    assert (main["both_low"], main["both_high"]) == pytest.approx((main["effect"] - half, main["effect"] + half))
    half = stdtrit(2, 0.975) * variances[1] ** 0.5
    assert (main["seed_low"], main["seed_high"]) == pytest.approx((main["effect"] - half, main["effect"] + half))
    assert made.filter(kind=CUTOFF, band="")["bandwidth"].to_list() == [16, 8, 32]
    assert made.filter(kind=PLACEBO).height == 10
    assert singles.height == 3 * made.drop_nulls("effect").height
    placebos = token_placebos(made, singles).row(0, named=True)
    assert (placebos["placebos"], placebos["tests"], placebos["larger"]) == (10, 30, 0)
    assert placebos["largest"] < main["effect"]
    bins = token_effect_bins(scores(1.5))
    assert bins["tokens"].sum() == 128
    assert not bins.filter((pl.col("first") < 0) & (pl.col("last") >= 0)).height


def test_an_untrained_model_and_other_bandwidths_are_next_to_the_effect() -> None:
    """Equal probabilities give an effect of the tokens that spell one outside, minus one, here 1.25 of 8 bits."""
    made = token_effects(scores(1.5))
    of_cutoff = made.filter(kind=CUTOFF, band="")
    for row in of_cutoff.iter_rows(named=True):
        points = [(rank, -8.0 if rank < 0 else -16.0 - 8 * (rank % 4 == 1)) for rank in range(-64, 64)]
        expected = jump(points, 0, row["bandwidth"])
        assert expected is not None
        assert row["untrained"] == pytest.approx(expected.estimate.difference)
        assert abs(row["untrained"] - 10) < 1
        assert (row["least"], row["most"]) == (of_cutoff["effect"].min(), of_cutoff["effect"].max())
    assert of_cutoff["effect"].n_unique() == 3
    others = made.filter((pl.col("kind") == PLACEBO) | (pl.col("band") != ""))
    assert others["least"].null_count() == others["most"].null_count() == others.height
    assert others.filter(pl.col("cutoff") < 0)["untrained"].to_list() == pytest.approx([0.0] * 5), (
        "all tokens there are one token"
    )
    unknown = token_effects(scores(1.5).with_columns(uniform_bits=pl.lit(None, pl.Float64)))
    assert unknown["untrained"].null_count() == unknown.height
    assert unknown.drop("untrained").equals(made.drop("untrained"))


def test_no_effect() -> None:
    made = token_effects(scores(0.0))
    main = made.row(0, named=True)
    assert main["low"] < 0 < main["high"]
    assert main["ratio_low"] < 1 < main["ratio_high"]


def test_bands_divide_the_tokens_near_the_cut_off() -> None:
    made = token_effects(scores(1.5))
    bands = made.filter(pl.col("band") != "")
    assert bands["band"].to_list()[-1].endswith(" or more")
    assert bands["inside"].sum() == bands["outside"].sum() == 16


def test_one_seed_has_no_interval_over_seeds() -> None:
    main = token_effects(scores(1.5, seeds=1)).row(0, named=True)
    assert (main["seed_low"], main["both_low"]) == (None, None)
    assert main["low"] is not None
    assert main["reason"]


def test_too_few_tokens() -> None:
    few = scores(1.5).filter(pl.col("rank") < 2)
    made = token_effects(few, 16)
    assert made.filter(kind=CUTOFF)["effect"].to_list() == [None] * made.filter(kind=CUTOFF).height
    assert made.row(0, named=True)["reason"] == FEW
    empty = scores(1.5).clear()
    assert token_effects(empty).is_empty()
    assert token_placebos(token_effects(empty), token_effects_by_seed(empty)).is_empty()
    silent = scores(1.5).with_columns(scored=pl.lit(0))
    assert token_effects(silent)["effect"].null_count() == token_effects(silent).height


def test_a_token_that_one_seed_lacks_is_left_out() -> None:
    lacking = scores(1.5).filter(~((pl.col("seed") == 0) & (pl.col("rank") == 3)))
    assert token_effects(lacking).row(0, named=True)["outside"] == 15
