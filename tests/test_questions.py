"""Variants compared question by question: against scipy, brute force and simulation."""

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from tokbench.errors import TokbenchError
from tokbench.report.content import ReportContent
from tokbench.report.sections.rows import split
from tokbench.statistics.answers import OUTCOME
from tokbench.statistics.bootstrap import paired_bootstrap, stratified_sums, summarized
from tokbench.statistics.by_question import (
    QUESTION_COMPARISONS,
    QUESTION_INTERVALS,
    behind_the_best,
    compare_questions,
    question_intervals,
)
from tokbench.statistics.seeds import with_seeds

Right = dict[tuple[str, int, str], list[int]]
"""By variant, size and task, whether each question was answered right."""


def outcomes(right: Right, model: str = "tiny") -> pl.DataFrame:
    rows = [
        (model, "s", variant, size, task, document, bool(one))
        for (variant, size, task), answers in right.items()
        for document, one in enumerate(answers)
    ]
    return pl.DataFrame(rows, schema=OUTCOME, orient="row")


def drawn(seed: int, shares: dict[str, float], tasks: dict[str, int], sizes: tuple[int, ...] = (1, 2)) -> Right:
    rng = np.random.default_rng(seed)
    return {
        (variant, size, task): (rng.random(n) < share).astype(int).tolist()
        for variant, share in shares.items()
        for size in sizes
        for task, n in tasks.items()
    }


def mean(right: Right, variant: str) -> float:
    return float(np.mean([np.mean(answers) for (name, _, _), answers in right.items() if name == variant]))


def test_a_single_size_is_mcnemars_test() -> None:
    right = drawn(1, {"a": 0.6, "b": 0.4}, {"copa": 50}, (1,))
    first, second = right["a", 1, "copa"], right["b", 1, "copa"]
    better = sum(x > y for x, y in zip(first, second, strict=True))
    worse = sum(x < y for x, y in zip(first, second, strict=True))
    row, back = compare_questions(outcomes(right)).rows(named=True)
    assert (row["a"], row["b"], row["better"], row["worse"], row["questions"]) == ("a", "b", better, worse, 50)
    assert row["p_value"] == pytest.approx(binomtest(better, better + worse, 0.5, "greater").pvalue)
    assert back["p_value"] == pytest.approx(binomtest(worse, better + worse, 0.5, "greater").pvalue)
    assert row["holm"] == pytest.approx(min(1, 2 * row["p_value"]))
    assert row["mean_difference"] == pytest.approx((better - worse) / 50)
    assert row["low"] < row["mean_difference"] < row["high"]


def test_every_accuracy_is_tested_against_the_best_of_its_cell() -> None:
    right = drawn(1, {"a": 0.6, "b": 0.4, "c": 0.6}, {"copa": 50, "piqa": 30}, (1,))
    del right["c", 1, "piqa"]  # No average of c.
    found = behind_the_best(outcomes(right))
    means = {key: np.mean(answers) for key, answers in right.items()}
    for row in found.filter(pl.col("task") != "").iter_rows(named=True):
        task = row["task"]
        assert means[row["best"], 1, task] == max(value for key, value in means.items() if key[2] == task)
        pairs = list(zip(right[row["best"], 1, task], right[row["variant"], 1, task], strict=True))
        better, worse = sum(x > y for x, y in pairs), sum(x < y for x, y in pairs)
        assert row["p_value"] == pytest.approx(binomtest(better, better + worse, 0.5).pvalue)
        assert row["questions"] == len(pairs)
    assert found.select("task", "variant").rows() == [
        ("", "b"), ("copa", "b"), ("copa", min("ac", key=lambda v: (means[v, 1, "copa"], v == "a"))), ("piqa", "b")
    ]  # fmt: skip
    average = found.row(0, named=True)
    pair = compare_questions(outcomes(right).filter(pl.col("variant") != "c")).filter(a="a").row(0, named=True)
    assert average["best"] == "a"
    assert average["p_value"] == pytest.approx(2 * pair["bootstrap_p"])
    assert behind_the_best(outcomes({})).is_empty()


def test_averages_are_over_cells_and_questions_are_drawn_with_their_sizes() -> None:
    right = drawn(2, {"a": 0.7, "b": 0.5}, {"large": 400, "small": 20})
    row, back = compare_questions(outcomes(right)).rows(named=True)
    assert row["mean_difference"] == pytest.approx(mean(right, "a") - mean(right, "b"))
    assert (back["low"], back["high"]) == pytest.approx((-row["high"], -row["low"]))
    assert row["questions"] == 420
    intervals = question_intervals(outcomes(right)).rows(named=True)
    assert [(one["cells"], one["questions"]) for one in intervals] == [(4, 420)] * 2
    assert intervals[0]["average"] == pytest.approx(mean(right, "a"))
    alike = {key: right["a", 1, key[2]] for key in right}  # Both sizes answer alike: there is no more to be known.
    single = {key: answers for key, answers in alike.items() if key[1] == 1}
    columns = ["average", "low", "high"]
    assert question_intervals(outcomes(alike)).select(columns).row(0) == pytest.approx(
        question_intervals(outcomes(single)).select(columns).row(0)
    )


def test_as_many_are_drawn_of_each_task() -> None:
    values = np.random.default_rng(0).choice([0.0, 0.5, 1.0], 300)
    one = summarized(stratified_sums([values / 300], resamples=4000))
    other = paired_bootstrap(values.tolist(), resamples=4000)
    assert other is not None
    assert (one.low, one.high) == pytest.approx((other.low, other.high), abs=0.006)
    apart = stratified_sums([np.full(10, 0.1), np.full(10, 0.3)])  # Nothing varies within a task.
    assert apart == pytest.approx(np.full(1000, 4.0))


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    held = 0
    for seed in range(100):
        table = outcomes(drawn(seed, {"a": 0.6, "b": 0.5}, {"x": 80, "y": 40}))
        row = compare_questions(table).row(0, named=True)
        held += row["low"] <= 0.1 <= row["high"]
    assert 86 <= held <= 100


def test_what_only_one_has_is_named_and_seeds_are_averaged() -> None:
    right = drawn(3, {"a": 0.5, "b": 0.5}, {"x": 30, "y": 30})
    del right["b", 2, "y"]
    row = compare_questions(outcomes(right)).row(0, named=True)
    assert (row["missing"], row["reason"]) == (1, "left out, in one of the two only: 2/y")
    apart = outcomes({("a", 1, "x"): [1, 0], ("b", 2, "x"): [1, 1]})
    row = compare_questions(apart).row(0, named=True)
    assert (row["p_value"], row["holm"], row["reason"]) == (None, None, "no question in common")

    both = pl.concat([outcomes({("a", 1, "x"): [1, 0, 0]}, "one"), outcomes({("a", 1, "x"): [1, 1, 0]}, "two")])
    seeded = with_seeds(both, {"one": ("one (2 seeds)", 1), "two": ("one (2 seeds)", 2)})
    assert question_intervals(seeded).row(0)[:4] == ("one (2 seeds)", "s", "a", 0.5)
    lacking = seeded.filter(~((pl.col("seed") == 2) & (pl.col("document") == 2)))
    assert question_intervals(lacking)["average"].to_list() == [0.75]
    with pytest.raises(TokbenchError, match="no column correct"):
        compare_questions(both.drop("correct"))


def test_equal_answers_and_none() -> None:
    row = compare_questions(outcomes({("a", 1, "x"): [1], ("b", 1, "x"): [1]})).row(0, named=True)
    assert (row["p_value"], row["low"], row["mean_difference"], row["questions"]) == (1, None, 0, 1)
    nothing = outcomes({})
    assert compare_questions(nothing).is_empty()
    assert question_intervals(nothing).is_empty()


def test_the_report_shows_both() -> None:
    table = outcomes(drawn(4, {"a": 0.6, "b": 0.5}, {"x": 1}, (1,)))
    content = ReportContent(
        title="t", recipes={"a": {}}, configuration="", provenance={},
        declared=[QUESTION_COMPARISONS, QUESTION_INTERVALS],
        frames={"question_comparisons": compare_questions(table), "question_intervals": question_intervals(table)},
    )  # fmt: skip
    declared = (QUESTION_COMPARISONS, QUESTION_INTERVALS)
    compared, averaged = (one for table in declared for one in split(content, table, model="tiny", suite="s"))
    assert (len(compared.frame), len(averaged.frame)) == (2, 2)
    assert compared.reasons[0, "low"] == "an interval needs two questions"
    assert split(content, QUESTION_COMPARISONS, model="tiny", suite="other") == []
