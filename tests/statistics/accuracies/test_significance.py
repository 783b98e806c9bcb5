"""Values of comparisons other than p-values: against scipy, printed tables, brute force and simulation."""

from math import sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import friedmanchisquare, wilcoxon

from tests.conftest import Tokbench
from tokbench.errors import TokbenchError
from tokbench.models.presets import SEED
from tokbench.published.facts import PrintedValue, printed_span, share_span, signed_rank_span, statistic_span
from tokbench.statistics.accuracies.critical_difference import critical_differences
from tokbench.statistics.accuracies.intervals import average_intervals
from tokbench.statistics.accuracies.pairs import compare_pairs, power_table
from tokbench.statistics.accuracies.seeds import UNNAMED, average_seeds, same_but_for_seed, seed_variation, with_seeds
from tokbench.statistics.cells import ACCURACY, INTRINSIC, OUTCOME
from tokbench.statistics.inputs import StatisticsInputs, analyse
from tokbench.statistics.significance.friedman import nemenyi
from tokbench.statistics.significance.verdicts import detectable_difference
from tokbench.statistics.significance.wilcoxon import (
    benjamini_hochberg,
    deviation,
    holm,
    rank_biserial,
    signed_rank,
    standardized_mean,
)
from tokbench.tabulation.documents import document_bits_table
from tokbench.tabulation.external_tokenizers import imported_table
from tokbench.tabulation.ngram_bits import ngram_bits_table, ngram_documents_table
from tokbench.tabulation.table import write_tables

P_VALUES = st.lists(st.sampled_from([0.0, 0.001, 0.01, 0.02, 0.04, 0.5, 1.0]) | st.floats(0, 1), max_size=12)


def table(rows: list[tuple], **extra: list) -> pl.DataFrame:
    frame = pl.DataFrame(
        [(variant, size, "tiny", "s", task, share, None, 100) for variant, size, task, share in rows],
        schema=ACCURACY,
        orient="row",
    )
    return frame.with_columns(**{name: pl.Series(values) for name, values in extra.items()})


# Corrections ----------------------------------------------------------------------------------------------------------


@given(P_VALUES)
def test_holm_equals_its_step_down_procedure(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    for alpha in (0.01, 0.05, 0.2):
        rejected = set()
        for step, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
            if p_values[index] * (len(p_values) - step) > alpha:
                break
            rejected.add(index)
        assert {index for index, p in enumerate(adjusted) if p <= alpha} == rejected


@given(P_VALUES.filter(len))
def test_benjamini_hochberg_equals_its_step_up_procedure(p_values: list[float]) -> None:
    adjusted = benjamini_hochberg(p_values)
    ordered = sorted(p_values)
    for alpha in (0.0123, 0.0511, 0.2047):
        passing = [p for step, p in enumerate(ordered, 1) if p * len(ordered) / step <= alpha]
        rejected = {index for index, p in enumerate(p_values) if passing and p <= max(passing)}
        assert {index for index, p in enumerate(adjusted) if p <= alpha} == rejected
    assert (benjamini_hochberg(p_values) <= holm(p_values) + 1e-12).all()


def test_corrections_of_nothing() -> None:
    assert len(holm([])) == len(benjamini_hochberg([])) == 0


# Effect sizes ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-5, 5), max_size=12))
def test_rank_biserial_by_its_definition(differences: list[int]) -> None:
    effect = rank_biserial(differences)
    test = signed_rank(differences)
    if not test.n:
        assert effect is None
    else:
        total = test.n * (test.n + 1) / 2
        assert effect == pytest.approx((2 * test.statistic - total) / total)
        assert rank_biserial([-value for value in differences]) == pytest.approx(-effect)


def test_standardized_mean() -> None:
    assert standardized_mean([1, 2, 3]) == pytest.approx(2.0)
    assert standardized_mean([2, 2, 2]) is None
    assert standardized_mean([2]) is None
    assert deviation([1, 2, 3, 4]) == pytest.approx(np.std([1, 2, 3, 4], ddof=1))


# Power ----------------------------------------------------------------------------------------------------------------


def test_the_detectable_difference_is_seen_four_times_of_five() -> None:
    pairs, runs = 30, 400
    shift = detectable_difference(1.0, pairs)
    assert shift is not None
    drawn = np.random.default_rng(7).normal(shift, 1.0, (runs, pairs))
    seen = sum(signed_rank(row).p_value <= 0.05 for row in drawn) / runs
    assert seen == pytest.approx(0.8, abs=0.05)


def test_few_cells_see_nothing() -> None:
    assert detectable_difference(1.0, 4) is None
    assert detectable_difference(1.0, 5) is not None
    assert detectable_difference(1.0, 5, alpha=2**-5) is not None
    assert detectable_difference(0.0, 30) is None
    assert detectable_difference(None, 1) is None


# Comparisons of a run -------------------------------------------------------------------------------------------------


def test_pairs_carry_effects_and_corrections() -> None:
    rng = np.random.default_rng(3)
    cells = [(size, task) for size in (10, 20, 30) for task in "abcdefgh"]
    rows = [
        (variant, size, task, 0.4 + gain + noise)
        for variant, gain in (("best", 0.1), ("middle", 0.02), ("worst", 0.0))
        for (size, task), noise in zip(cells, rng.normal(0, 0.02, len(cells)), strict=True)
    ]
    pairs = compare_pairs(table(rows))
    row = pairs.row(by_predicate=(pl.col("a") == "best") & (pl.col("b") == "worst"), named=True)
    assert row["rank_biserial"] > 0.9
    assert pairs["holm"].to_list() == pytest.approx(holm(pairs["p_value"].to_list()).tolist())
    assert pairs["benjamini_hochberg"].to_list() == pytest.approx(
        benjamini_hochberg(pairs["p_value"].to_list()).tolist()
    )
    assert (pairs["p_value"] <= pairs["benjamini_hochberg"]).all()
    power = power_table(pairs).row(0, named=True)
    assert power["pairs"] == 3
    assert power["detectable_lowest"] <= power["detectable"] <= power["detectable_highest"]


def test_pairs_without_cells_stay_and_are_not_adjusted() -> None:
    rows = [(v, 1, t, 0.5) for v, t in (("a", "x"), ("a", "y"), ("b", "x"), ("b", "y"), ("c", "z"))]
    pairs = compare_pairs(table(rows))
    assert pairs.height == 6
    known = pairs.drop_nulls("p_value")
    assert known.select("a", "b").rows() == [("a", "b"), ("b", "a")]
    assert known["holm"].to_list() == [1.0, 1.0]
    assert pairs.filter(pl.col("p_value").is_null())["holm"].is_null().all()
    assert power_table(pairs).row(0, named=True)["without"] == 3


# Intervals ------------------------------------------------------------------------------------------------------------


def test_interval_of_an_average() -> None:
    frame = table([("a", 1, "x", 0.5), ("a", 1, "y", 0.8), ("b", 1, "x", 0.5), ("b", 1, "y", None)])
    whole, lacking = average_intervals(frame).rows(named=True)
    error = sqrt(0.25 / 100 + 0.16 / 100) / 2
    assert (whole["average"], whole["stderr"], whole["questions"]) == (0.65, pytest.approx(error), 200)
    assert whole["high"] - whole["average"] == pytest.approx(1.959964 * error, rel=1e-6)
    assert (lacking["average"], lacking["reason"]) == (None, "1 of 2 cells have no accuracy or no number of questions")
    with pytest.raises(TokbenchError, match=r"50\.0 is not a share between 0 and 1"):
        average_intervals(table([("a", 1, "x", 50.0)]))


# Critical differences -------------------------------------------------------------------------------------------------


def test_nemenyi_agrees_with_the_printed_table() -> None:
    """Demsar 2006, table 5 (a): critical values of two to ten classifiers."""
    printed = [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]
    for variants, value in enumerate(printed, 2):
        assert nemenyi(variants, 10) == pytest.approx(value * sqrt(variants * (variants + 1) / 60), abs=2e-3)


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 4), min_size=3, max_size=9))
@settings(max_examples=40)
def test_friedman_agrees_with_scipy(blocks: list[tuple[int, ...]]) -> None:
    rows = [("abcd"[j], i, "t", share / 10) for i, block in enumerate(blocks) for j, share in enumerate(block)]
    found = critical_differences(table(rows))
    if all(len(set(block)) == 1 for block in blocks):
        assert found["friedman"].is_null().all()
        return
    expected = friedmanchisquare(*zip(*blocks, strict=True))
    assert found["friedman"][0] == pytest.approx(expected.statistic)
    assert found["p_value"][0] == pytest.approx(expected.pvalue)
    assert found["average_rank"].sum() == pytest.approx(10)
    assert found["average_rank"].is_sorted()


def test_who_lacks_a_cell_is_named_and_left_out() -> None:
    found = critical_differences(table([("a", 1, "x", 0.5), ("a", 1, "y", 0.6), ("b", 1, "x", 0.5)]))
    assert found["variant"].to_list() == ["a", "b"]
    assert found["reason"].to_list() == ["no other variant has all cells", "missing: 1/y"]
    assert found["critical_difference"].is_null().all()


# Seeds ----------------------------------------------------------------------------------------------------------------


def seeded(*shares: tuple[int, str, float | None]) -> pl.DataFrame:
    return table([("v", 8, task, share) for _, task, share in shares], seed=[seed for seed, _, _ in shares])


def test_models_that_differ_in_the_seed_alone_are_one() -> None:
    models = {
        "one": {"layers": 2, "seed": 1},
        "two": {"layers": 2, "seed": 2},
        "deep": {"layers": 3, "seed": 1},
        "twin": {"layers": 3, "seed": 1},
    }
    seeds = same_but_for_seed(models)
    assert seeds == {"one": ("one (2 seeds)", 1), "two": ("one (2 seeds)", 2)}
    unnamed = same_but_for_seed({"one": {"layers": 2}, "two": {"layers": 2, "seed": 2}, "same": {"seed": SEED}})
    assert unnamed == {"one": ("one (2 seeds)", SEED), "two": ("one (2 seeds)", 2)}
    assert UNNAMED == SEED
    frame = table([("v", 8, "x", 0.5)] * 3).with_columns(model=pl.Series(["one", "two", "deep"]))
    named = with_seeds(frame, seeds)
    assert named.select("model", "seed").rows() == [("one (2 seeds)", 1), ("one (2 seeds)", 2), ("deep", None)]
    assert average_seeds(named).height == 2


def test_means_and_deviation_over_seeds() -> None:
    frame = seeded((1, "x", 0.4), (1, "y", 0.6), (2, "x", 0.5), (2, "y", 0.7), (3, "x", 0.6), (3, "y", 0.8))
    assert average_seeds(frame).select("task", "accuracy").rows() == [
        ("x", pytest.approx(0.5)),
        ("y", pytest.approx(0.7)),
    ]
    row = seed_variation(frame).row(0, named=True)
    assert (row["seeds"], row["average"], row["deviation"]) == (3, pytest.approx(0.6), pytest.approx(0.1))
    assert (row["lowest"], row["highest"]) == (pytest.approx(0.5), pytest.approx(0.7))
    assert row["question_deviation"] == pytest.approx(sqrt(0.25 / 100 + 0.21 / 100) / 2)


def test_a_seed_that_lacks_a_task_makes_the_cell_missing() -> None:
    frame = seeded((1, "x", 0.4), (1, "y", 0.6), (2, "x", 0.5), (2, "y", None))
    assert average_seeds(frame)["accuracy"].to_list() == [pytest.approx(0.45), None]
    row = seed_variation(frame).row(0, named=True)
    assert (row["seeds"], row["deviation"], row["reason"]) == (1, None, "left out, lacking a task: seed 2")
    many = seeded(*((seed, "x", 0.4) for seed in range(1, 21)), (21, "x", 0.4), (21, "y", 0.6))
    assert seed_variation(many)["reason"][0].endswith(f"seed {', '.join(map(str, range(1, 21)))}")
    with pytest.raises(TokbenchError, match="task x, seed 1 is duplicated"):
        average_seeds(seeded((1, "x", 0.4), (1, "x", 0.4)))


def test_sizes_may_have_different_seeds_but_variants_of_a_size_may_not() -> None:
    cells = [("v", 8, 1), ("v", 8, 2), ("w", 8, 1), ("w", 8, 2), ("v", 16, 1), ("w", 16, 1), ("v", 32, 1), ("v", 32, 2)]
    cells.append(("w", 32, 1))
    frame = table([(variant, size, "x", 0.5) for variant, size, _ in cells], seed=[seed for *_, seed in cells])
    means = average_seeds(frame).filter(pl.col("accuracy").is_not_null())
    assert set(means.select("variant", "size").rows()) == {("v", 8), ("w", 8), ("v", 16), ("w", 16), ("v", 32)}


def test_one_seed_has_no_variance() -> None:
    plain = table([("v", 8, "x", 0.4)])
    assert average_seeds(plain) is plain
    assert seed_variation(plain).is_empty()
    assert seed_variation(with_seeds(plain, {})).is_empty()


def test_analyse_writes_every_table(tmp_path: Path, tokbench: Tokbench) -> None:
    """Three seeds of one model, and a tokenizer that a paper has too."""
    shares = {("bpe", "one"): 0.5, ("bpe", "two"): 0.6, ("own", "one"): 0.4, ("own", "two"): 0.4}
    shares |= {("bpe", "three"): 0.55, ("own", "three"): 0.4}
    rows = [
        (variant, 40960, model, "s", task, share + place / 100, 0.25, 100)
        for (variant, model), share in shares.items()
        for place, task in enumerate("abcdef")
    ]
    renyi = ("bpe", 40960, "books", "", "renyi_efficiency_2.5", "entropy / log(nominal vocabulary size)", 0.4, 1, None)
    outcomes = [
        (model, "s", variant, 40960, "a", question, variant == "bpe" or question > 3)
        for variant, model in shares
        for question in range(10)
    ]
    (tmp_path / "tables").mkdir()
    pl.DataFrame(outcomes, schema=OUTCOME, orient="row").write_parquet(tmp_path / "tables" / "outcomes.parquet")
    pl.DataFrame(rows, schema=ACCURACY, orient="row").write_parquet(tmp_path / "tables" / "accuracy.parquet")
    pl.DataFrame([renyi], schema=INTRINSIC, orient="row").write_parquet(tmp_path / "tables" / "intrinsic.parquet")
    for name, make in (
        ("ngram_documents", ngram_documents_table),
        ("ngram_bits", ngram_bits_table),
        ("document_bits", document_bits_table),
    ):
        make([]).write_parquet(tmp_path / "tables" / f"{name}.parquet")
    imported_table({}).write_parquet(tmp_path / "tables" / "imported.parquet")
    bpe = {"pretokenization": "gpt2", "construction": {"method": "bpe"}, "segmentation": {"method": "merge"}}
    recipes = {
        "variants": {"bpe": bpe},
        "models": {name: {"seed": seed} for seed, name in enumerate(("one", "two", "three"))},
    }
    write_tables(analyse(StatisticsInputs(tmp_path / "tables", recipes)), tmp_path / "statistics", "statistics")
    found = {path.stem: pl.read_parquet(path) for path in (tmp_path / "statistics").glob("*.parquet")}
    assert found["comparisons"].select("model", "a", "b", "p_value").rows() == [
        ("one (3 seeds)", "bpe", "own", 1 / 64),
        ("one (3 seeds)", "own", "bpe", 1.0),
    ]
    assert found["comparisons"]["mean_difference"][0] == pytest.approx(0.15)
    assert found["seeds"].select("variant", "seeds", "deviation").rows() == [
        ("bpe", 3, pytest.approx(0.05)),
        ("own", 3, pytest.approx(0.0)),
    ]
    assert found["published"].select("variant", "ours", "published").rows() == [("bpe", 0.4, 0.446)]
    assert found["critical_differences"]["average_rank"].to_list() == [1.0, 2.0]
    assert found["intervals"].height == 2
    pairs = found["paired_comparisons"].filter(measure="accuracy")
    assert pairs.select("model", "a", "b", "verdict", "seeds").rows() == [
        ("one (3 seeds)", "bpe", "own", "not tested", 3)
    ]
    assert pairs["difference"].to_list() == pytest.approx([0.15])


# Rounding -------------------------------------------------------------------------------------------------------------


def test_printed_numbers_have_rounding_spans() -> None:
    assert printed_span("4.4e-5") == PrintedValue(pytest.approx(4.35e-5), 4.4e-5, pytest.approx(4.45e-5))
    assert printed_span("48.0") == PrintedValue(47.95, 48.0, 48.05)
    assert printed_span("-0.221").low == pytest.approx(-0.2215)
    assert printed_span("100").high == 100.5


@given(st.integers(1, 3000), st.data())
def test_shares_are_found_again(questions: int, data: st.DataObject) -> None:
    right = data.draw(st.integers(0, questions))
    share = round(right / questions, 4) * 100
    span = share_span(f"{share:.1f}", questions)
    assert span.low - 1e-9 <= round(share, 2) <= span.high + 1e-9
    if questions < 900:
        assert span.low == span.high


def test_shares_that_no_count_gives_keep_half_a_unit() -> None:
    assert share_span("66.0", 273) == printed_span("66.0")
    assert share_span("66.0", None) == printed_span("66.0")
    assert share_span("65.9", 273).value == 65.93


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=1, max_size=6))
def test_corners_bound_the_p_value(differences: list[tuple[int, int]]) -> None:
    """Every choice of whole numbers within the spans gives a statistic between those of the corners."""
    first = [PrintedValue(value - width, value, value + width) for value, width in differences]
    zero = [PrintedValue(0, 0, 0)] * len(first)
    corners = [signed_rank([getattr(span, end) for span in first]) for end in ("low", "high")]
    found = signed_rank_span(first, zero)
    assert found.low <= min(corner.p_value for corner in corners)
    assert found.high >= max(corner.p_value for corner in corners)
    walsh = [
        sum((getattr(a, end) + getattr(b, end) > 0) for i, a in enumerate(first) for b in first[i:])
        for end in ("low", "value", "high")
    ]
    assert walsh == sorted(walsh)


def test_a_statistic_climbs_to_its_ends() -> None:
    spans = [PrintedValue(0.0, 1.0, 2.0), PrintedValue(-1.0, 0.0, 3.0)]
    found = statistic_span(lambda values: float(values[0] - 2 * values[1]), spans)
    assert (found.low, found.value, found.high) == (-6.0, 1.0, 4.0)


def test_scipy_takes_the_untied_null() -> None:
    """The null that the published p-values were taken by."""
    differences = [3.1, -1.2, 4.5, 2.2, -0.3, 5.0, 1.1, 0.7, -2.5, 3.3]
    expected = wilcoxon(differences, alternative="greater", method="exact").pvalue
    assert signed_rank(differences, "untied").p_value == pytest.approx(expected)
