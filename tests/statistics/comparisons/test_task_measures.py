"""Bits per byte and probability of right answers: definitions, means, comparisons and power, against direct formulas.

Tables from hand-made results, clusters of questions, seeds and tasks.
"""

from itertools import product
from math import exp, log, sqrt
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.small_report import altered, whole
from tokbench.corpus.units import read_units
from tokbench.evaluation.answer_measures import bits_per_byte, measure_answer, probability_over_choices
from tokbench.io.json import write_result
from tokbench.report.exhibits import Exhibit, Heading, Table
from tokbench.report.sections.answer_measures import answer_measures
from tokbench.statistics.comparisons.question_groups import ONE_CLUSTER, estimate_mean
from tokbench.statistics.comparisons.task_measures import (
    NO_SEED,
    TASK_MEASURE_COMPARISONS,
    TASK_MEASURES,
    compare_task_measures,
    task_measure_table,
)
from tokbench.statistics.inputs import name_units
from tokbench.statistics.planning.measure_power import MEASURE_POWER, measure_power
from tokbench.statistics.significance.estimate import ratio, ratio_over_both
from tokbench.statistics.significance.student import power_of
from tokbench.statistics.significance.verdicts import NO_DIFFERENCE
from tokbench.statistics.significance.wilcoxon import benjamini_hochberg, holm
from tokbench.tabulation.answer_measures import ANSWER_MEASURES, answer_measure_table
from tokbench.tabulation.columns import QUESTION_MEASURES
from tokbench.tabulation.table import schema

LN2 = log(2)
PLACE = {"group": "", "source_corpus": "", "source_document": None}
QUESTION: dict[str, Any] = {**PLACE, "straddling_choices": [], "prediction": 0, "correct": True}


def results(folder: Path, *, name: str = "m", **tasks: dict[str, Any]) -> Path:
    """Write a result with these tasks, whose questions lack their measures."""
    path = folder / f"{name}.json"
    for task in tasks.values():
        task["documents"] = [
            question | measure_answer(question, task.get("metric", "acc")) for question in task["documents"]
        ]
    head = {"model": name, "variant": "bpe", "size": 512, "suite": "s", "corpus": "books", "texts": {}}
    write_result(path, head | {"tasks": tasks})
    return path


def test_equal_choices_have_equal_probability() -> None:
    assert probability_over_choices([-3.0, -3.0], 1) == 0.5
    assert probability_over_choices([-3.0] * 4, 2) == 0.25
    assert probability_over_choices([-1.0, -1.0 - log(3)], 0) == pytest.approx(0.75)
    assert probability_over_choices([-2000.0, -2001.0], 1) == pytest.approx(1 / (1 + exp(1)))
    assert probability_over_choices([-2.0, -6.0], 1, [1, 3]) == 0.5, "two nats for each byte"
    assert probability_over_choices([-2.0], 0) is None
    assert probability_over_choices([-float("inf")] * 2, 0) is None
    assert probability_over_choices([-float("inf"), -1.0], 0) == 0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-60, 0), min_size=2, max_size=5), st.floats(-100, 0))
def test_probabilities_add_up_and_do_not_depend_on_a_common_factor(scores: list[float], common: float) -> None:
    found = [probability_over_choices(scores, right) for right in range(len(scores))]
    assert sum(map(float, found)) == pytest.approx(1)  # type: ignore[arg-type]
    moved = [probability_over_choices([score + common for score in scores], right) for right in range(len(scores))]
    assert moved == pytest.approx(found, rel=1e-9)
    whole = sum(exp(score) for score in scores)
    assert found == pytest.approx([exp(score) / whole for score in scores], rel=1e-9)


def test_bits_are_of_the_bytes_that_are_scored() -> None:
    assert bits_per_byte(-8 * LN2, 4) == pytest.approx(2)
    assert bits_per_byte(log(1 / 32), 5) == pytest.approx(1)


def test_three_questions_by_hand(tmp_path: Path) -> None:
    """Bits of 3, 2 and 4; probabilities of 2/3, 1/2, and none for a single choice."""
    questions = [
        QUESTION
        | {"document": 0, "gold": 0, "log_likelihoods": [-6 * LN2, -7 * LN2], "choice_bytes": [2, 9], "group": "g"},
        QUESTION | {"document": 1, "gold": 1, "log_likelihoods": [-6 * LN2, -6 * LN2], "choice_bytes": [9, 3]},
    ]
    single = [QUESTION | {"document": 0, "gold": None, "log_likelihoods": [-20 * LN2], "choice_bytes": [5]}]
    several = [QUESTION | {"document": 0, "gold": None, "log_likelihoods": [-1.0, -2.0], "choice_bytes": [5, 5]}]
    file = results(
        tmp_path,
        choices={"metric": "acc", "documents": questions},
        single={"metric": "acc", "documents": single},
        several={"metric": "acc", "documents": several},
    )
    table = answer_measure_table([file])
    assert dict(table.schema) == ANSWER_MEASURES.schema
    rows = table.select("task", "document", "group", "bytes", "bits_per_byte", "probability").rows()
    assert [row[:4] for row in rows] == [
        ("choices", 0, "g", 2), ("choices", 1, "", 3), ("several", 0, "", None), ("single", 0, "", 5),
    ]  # fmt: skip
    assert [row[4] for row in rows] == [pytest.approx(3), pytest.approx(2), None, pytest.approx(4)]
    assert [row[5] for row in rows] == [pytest.approx(2 / 3), 0.5, None, None]
    means = task_measure_table(table.with_columns(seed=pl.lit(None, pl.Int64)))
    bits = dict(means.filter(measure="answer_bits_per_byte").select("task", "value").iter_rows())
    assert bits == {"": pytest.approx((2.5 + 4) / 2), "choices": pytest.approx(2.5), "single": pytest.approx(4)}
    assert means.filter(measure="answer_probability", task="")["value"].item() == pytest.approx(7 / 12)


def test_probabilities_of_tasks_scored_by_length_divide_by_bytes(tmp_path: Path) -> None:
    question = QUESTION | {"document": 0, "gold": 1, "log_likelihoods": [-2.0, -4.0], "choice_bytes": [2, 4]}
    unconditional = question | {"log_likelihoods": [-2.0, -4.0, -0.1, -0.2]}
    source = question | {"source_corpus": "books", "source_document": 7}
    file = results(
        tmp_path,
        a={"metric": "acc_norm", "documents": [question]},
        b={"metric": "acc_norm", "documents": [unconditional]},
        c={"metric": "acc", "documents": [source]},
    )
    rows = answer_measure_table([file]).rows(named=True)
    assert [row["probability"] for row in rows] == [0.5, 0.5, pytest.approx(1 / (1 + exp(2)))]
    assert all(row["bits_per_byte"] is not None for row in rows)
    assert [row["divided_by"] for row in rows] == ["bytes", "bytes", ""]
    assert [(row["source_corpus"], row["source_document"]) for row in rows] == [("", None)] * 2 + [("books", 7)]
    infinite = QUESTION | {"document": 0, "gold": 0, "log_likelihoods": [-float("inf"), -1.0], "choice_bytes": [2, 4]}
    (row,) = answer_measure_table([results(tmp_path, a={"documents": [infinite]})]).rows(named=True)
    assert (row["bits_per_byte"], row["probability"]) == (None, 0)


def crossed(values: np.ndarray, cluster: list[int]) -> tuple[float, float]:
    """Return mean and standard error of one task by the textbook formulas of two crossed random effects.

    Contributions are summed in each cell of seed and cluster; the components of variance are those of these sums.
    """
    seeds, questions = values.shape
    mean = values.mean()
    names = sorted(set(cluster))
    cells = np.array(
        [[sum(values[s, q] - mean for q in range(questions) if cluster[q] == c) for c in names] for s in range(seeds)]
    )
    cells = cells * len(names) / questions
    rows, columns, all_cells = cells.mean(1), cells.mean(0), cells.mean()
    of_seeds = len(names) * ((rows - all_cells) ** 2).sum() / (seeds - 1)
    of_clusters = seeds * ((columns - all_cells) ** 2).sum() / (len(names) - 1)
    rest = ((cells - rows[:, None] - columns + all_cells) ** 2).sum() / ((seeds - 1) * (len(names) - 1))
    variance = max(of_seeds + of_clusters - rest, of_seeds, of_clusters) / (seeds * len(names))
    return float(mean), sqrt(variance)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(4, 12), st.integers(2, 4))
def test_clusters_and_seeds_are_crossed(seed: int, seeds: int, questions: int, clusters: int) -> None:
    rng = np.random.default_rng(seed)
    cluster = (
        [*range(clusters), *rng.integers(0, clusters, questions - clusters).tolist()]
        if clusters < questions
        else list(range(questions))
    )
    values = rng.normal(0, 1, (seeds, len(cluster))) + rng.normal(0, 1, clusters)[np.array(cluster) % clusters]
    found = estimate_mean(values, np.zeros(len(cluster), np.int64), np.array(cluster))
    mean, error = crossed(values, cluster)
    assert found.mean == pytest.approx(mean)
    assert found.error == pytest.approx(error)
    assert (found.seeds, found.clusters, found.questions) == (seeds, len(set(cluster)), len(cluster))
    assert found.seed_deviation == pytest.approx(np.std(values.mean(1), ddof=1))


def test_one_task_without_clusters_is_the_usual_estimate() -> None:
    rng = np.random.default_rng(1)
    values, places = rng.normal(0, 1, (3, 9)), np.arange(9)
    both = ratio_over_both(values, np.ones(9))
    found = estimate_mean(values, np.zeros(9, np.int64), places)
    assert (found.mean, found.error, found.estimate.degrees) == pytest.approx((both.mean, both.error, both.degrees))
    assert found.estimate.ends() == pytest.approx(both.estimate.ends())
    assert found.question_error == pytest.approx(both.document_error)
    one = estimate_mean(values[:1], np.zeros(9, np.int64), places)
    expected = ratio(values[0], np.ones(9))
    assert expected is not None
    assert (one.mean, one.error) == pytest.approx((expected.difference, expected.error))
    assert one.estimate.ends() == pytest.approx(expected.ends())
    assert one.error == pytest.approx(np.std(values[0], ddof=1) / 3)
    assert one.seed_deviation is None
    alone = estimate_mean(values, np.zeros(9, np.int64), np.zeros(9, np.int64))
    assert (alone.error, alone.reason) == (None, ONE_CLUSTER)


def test_tasks_count_equally_and_their_levels_are_no_noise() -> None:
    """With one seed, the variance of the mean over tasks is that of stratified samples."""
    rng = np.random.default_rng(2)
    values, task = np.concatenate([rng.normal(0, 1, 40), rng.normal(50, 2, 60)]), np.repeat([0, 1], [40, 60])
    found = estimate_mean(values[np.newaxis], task, np.arange(100))
    assert found.mean == pytest.approx((values[:40].mean() + values[40:].mean()) / 2)
    stratified = sqrt(values[:40].var(ddof=1) / 40 + values[40:].var(ddof=1) / 60) / 2
    assert found.error == pytest.approx(stratified, rel=0.001)
    same = estimate_mean(values[np.newaxis], task, np.concatenate([np.arange(40), np.arange(60)]))
    assert same.clusters == 60, "a document may have questions in both tasks"


def test_the_interval_covers_the_mean_of_other_seeds_and_clusters() -> None:
    covered = 0
    for number in range(200):
        rng = np.random.default_rng(number)
        cluster = np.repeat(np.arange(15), 3)
        values = rng.normal(0, 1, (5, 1)) + rng.normal(0, 1, 15)[cluster] + rng.normal(0, 1, (5, 45))
        found = estimate_mean(values, np.zeros(45, np.int64), cluster)
        low, high = found.estimate.ends()
        covered += low <= 0 <= high
    assert 180 <= covered <= 200


def answers(
    levels: dict[str, float],
    *,
    seeds: int = 4,
    questions: int = 30,
    tasks: tuple[str, ...] = ("x", "y"),
    **columns: Any,
) -> pl.DataFrame:
    """Return answers of variants: bits per byte about a level, and the probability and outcome that follow from it."""
    rng = np.random.default_rng(5)
    difficulty = {key: rng.normal(2, 0.3) for key in product(tasks, range(questions))}
    rows = []
    for seed, (variant, level) in product(range(seeds), levels.items()):
        run = rng.normal(0, 0.01)
        for (task, number), hard in difficulty.items():
            bits = hard + level + run + rng.normal(0, 0.05)
            row = {
                "model": f"m ({seeds} seeds)", "variant": variant, "size": 1024, "suite": "s", "task": task,
                "document": number, "group": "", "source_corpus": "", "source_document": None, "bytes": 10,
                "correct": bits + rng.normal(0, 0.3) < 2, "bits_per_byte": bits,
                "probability": 1 / (1 + exp(4 * (bits - 2))), "divided_by": "",
            }  # fmt: skip
            rows.append(row | columns | {"seed": seed if seeds > 1 else None})
    return pl.DataFrame(rows, schema={**schema(QUESTION_MEASURES), "seed": pl.Int64})


def test_variants_are_compared_by_every_measure() -> None:
    table = answers({"a": 0.0, "b": 0.1, "c": 0.1})
    compared = compare_task_measures(table, {})
    TASK_MEASURE_COMPARISONS.check(compared)
    assert len(compared) == 3 * 3 * 3, "pairs, measures, and two tasks with their mean"
    for measure, column, verdict in (
        ("answer_bits_per_byte", "bits_per_byte", "better"), ("answer_probability", "probability", "better"),
    ):  # fmt: skip
        (row,) = compared.filter(measure=measure, task="", a="a", b="b").rows(named=True)
        means = {name: table.filter(variant=name)[column].mean() for name in "ab"}
        assert row["difference"] == pytest.approx(means["a"] - means["b"])
        assert row["verdict"] == verdict
        assert row["low"] < row["difference"] < row["high"]
        assert (row["seeds"], row["questions"], row["clusters"]) == (4, 60, 60)
    (row,) = compared.filter(measure="answer_bits_per_byte", task="", a="b", b="c").rows(named=True)
    assert row["verdict"] == NO_DIFFERENCE
    assert row["excluded"] < 0.1
    for over in (pl.col("task") == "", pl.col("task") != ""):
        family = compared.filter(over, measure="answer_probability")
        values = family["p_value"].to_list()
        assert family["holm"].to_list() == pytest.approx(holm(values).tolist())
        assert family["benjamini_hochberg"].to_list() == pytest.approx(benjamini_hochberg(values).tolist())
    flipped = compare_task_measures(table.with_columns(variant=pl.col("variant").replace({"a": "b", "b": "a"})), {})
    forth, back = (
        one.filter(measure="answer_probability", task="", a="a", b="b").row(0, named=True)
        for one in (compared, flipped)
    )
    assert (back["difference"], back["low"], back["high"]) == pytest.approx(
        (-forth["difference"], -forth["high"], -forth["low"])
    )
    assert (forth["verdict"], back["verdict"]) == ("better", "worse")


def test_verdicts_need_three_trainings() -> None:
    for seeds, reason in ((1, "not tested: one training"), (2, "not tested: two trainings; significance needs three")):
        compared = compare_task_measures(answers({"a": 0.0, "b": 0.2}, seeds=seeds), {})
        assert set(compared["reason"]) == {reason}
        assert set(compared["verdict"]) == {"not tested"}
        assert compared["low"].null_count() == 0, "there is an interval"
        assert compared["p_value"].null_count() == len(compared)
        assert (compared["residual_error"].null_count() > 0) == (seeds == 1)


def test_clusters_are_groups_documents_or_questions() -> None:
    one = answers({"a": 0.0, "b": 0.1})
    half = (pl.col("document") // 10).cast(pl.String)
    documents = one.with_columns(source_corpus=pl.lit("books"), source_document=pl.col("document") // 10)
    for table, clusters in ((one, 60), (one.with_columns(group=half), 6), (documents, 3)):
        found = compare_task_measures(table, {}).filter(task="")
        assert set(found["clusters"]) == {clusters}, "groups belong to a task, documents to all tasks"
    alone = documents.with_columns(source_document=pl.lit(1, pl.Int64))
    compared = compare_task_measures(alone, {})
    assert set(compared["reason"]) == {"not tested: 1 cluster of questions; a verdict needs 6"}
    assert compared["low"].null_count() == len(compared)
    assert set(task_measure_table(alone)["reason"]) == {ONE_CLUSTER}


def test_documents_of_a_unit_are_one_cluster(tmp_path: Path) -> None:
    (tmp_path / "units.csv").write_text("document,unit\n0,a\n1,b\n2,a\n")
    table = pl.DataFrame({"source_corpus": ["books"] * 4 + ["other", ""], "source_document": [0, 1, 2, 3, 2, None]})
    named = name_units(table, {"books": read_units(tmp_path / "units.csv")})
    assert named["source_document"].to_list() == [0, 1, 0, 3, 2, None]
    assert name_units(table, {}) is table


def test_missing_answers_are_named() -> None:
    table = answers({"a": 0.0, "b": 0.1})
    lacking = table.filter(~((pl.col("variant") == "b") & (pl.col("task") == "y") & (pl.col("seed") == 1)))
    (row,) = compare_task_measures(lacking, {}).filter(task="", measure="accuracy").rows(named=True)
    assert (row["questions"], row["reason"]) == (30, "left out, no question with a value for every seed: y")
    means = task_measure_table(lacking).filter(measure="accuracy", variant="b")
    assert [(one["task"], one["value"] is None) for one in means.rows(named=True)] == [
        ("", True),
        ("x", False),
        ("y", True),
    ]
    TASK_MEASURES.check(task_measure_table(lacking))
    other = table.filter((pl.col("variant") == "a") == (pl.col("seed") < 2))
    assert set(compare_task_measures(other, {})["reason"]) == {NO_SEED}
    some = compare_task_measures(table.with_columns(probability=pl.lit(None, pl.Float64)), {})
    assert set(some["measure"]) == {"accuracy", "answer_bits_per_byte"}
    small = compare_task_measures(table, {}, {("a", 1024)})
    assert set(small["verdict"]) == {"not tested"}
    assert small["difference"].null_count() == 0
    nothing = table.clear()
    for frame in (task_measure_table(nothing), compare_task_measures(nothing, {})):
        assert frame.is_empty()
    MEASURE_POWER.check(measure_power(compare_task_measures(nothing, {})))


def test_power_of_each_measure() -> None:
    table = answers({"a": 0.0, "b": 0.1, "c": 0.05})
    compared = compare_task_measures(table, {})
    power = measure_power(compared)
    MEASURE_POWER.check(power)
    whole = {row["measure"]: row for row in power.filter(task="").rows(named=True)}
    assert {name: row["rank"] for name, row in whole.items()}["accuracy"] == 3, "it is the coarsest"
    for name, row in whole.items():
        part = compared.filter(task="", measure=name)
        difference, error = (sqrt(sum(value**2 for value in part[key]) / 3) for key in ("difference", "error"))
        assert row["difference"] == pytest.approx(difference)
        assert row["signal_to_noise"] == pytest.approx(difference / error)
        assert row["over_seeds"] == pytest.approx(difference / sqrt(sum(one**2 for one in part["seed_deviation"]) / 12))
        assert (row["pairs"], row["seeds"], row["questions"]) == (3, 4, 60)
        assert row["significant"] == part["verdict"].is_in(["better", "worse"]).sum()
        assert row["signal_to_noise"] <= min(row["over_seeds"], row["over_questions"] or np.inf)
    bits = whole["answer_bits_per_byte"]
    assert (bits["agreed"], bits["further"]) == (3, 3)
    assert whole["accuracy"]["agreed"] is None
    assert bits["questions_needed"] < whole["accuracy"]["questions_needed"]
    assert bits["seeds_needed"] <= whole["accuracy"]["seeds_needed"]
    assert bits["detectable"] < bits["difference"]


def test_questions_needed_are_the_fewest() -> None:
    """With one seed, the difference divided by the error of n questions has a t test of power 0.8 from some n on."""
    compared = compare_task_measures(answers({"a": 0.0, "b": 0.02}, seeds=1, tasks=("x",)), {})
    power = measure_power(compared)
    for row in power.filter(task="x").rows(named=True):
        per_question = row["error"] * sqrt(row["questions"])
        number = row["questions_needed"]
        seen = [power_of(row["difference"] * sqrt(count) / per_question, count - 1) for count in (number - 1, number)]
        assert seen[0] < 0.8 <= seen[1]
        assert row["reason"] == "not tested: one training"
        assert (row["seeds_needed"], row["over_seeds"], row["significant"]) == (None, None, None)


def test_more_questions_do_not_help_where_seeds_hide_the_difference() -> None:
    table = answers({"a": 0.0, "b": 0.0}, seeds=3)
    noisy = table.with_columns(
        bits_per_byte=pl.col("bits_per_byte")
        + pl.when(pl.col("variant") == "a").then(pl.col("seed") - 1.0).otherwise(0)
    )
    row = (
        measure_power(compare_task_measures(noisy, {}))
        .filter(task="", measure="answer_bits_per_byte")
        .row(0, named=True)
    )
    assert row["questions_needed"] is None
    assert "no number of questions: seeds alone hide the difference" in row["reason"]
    assert row["over_questions"] is None or row["over_questions"] > row["over_seeds"]


def test_report_shows_power_and_comparisons_of_each_measure() -> None:
    def shown(frame: pl.DataFrame) -> list[Exhibit]:
        compared = compare_task_measures(frame, {})
        frames = {"task_measures": task_measure_table(frame), "task_measure_comparisons": compared}
        return answer_measures(altered(whole(), measure_power=measure_power(compared), **frames))

    table = answers({"a": 0.0, "b": 0.1})
    heading, power, compared, values = shown(table)
    assert isinstance(heading, Heading)
    assert isinstance(power, Table)
    assert isinstance(compared, Table)
    assert isinstance(values, Table)
    most = "bits per byte of the right answer separates the variants the most; difference / standard error: bits per "
    assert power.finding.startswith(most)
    assert "1 of 1 pair significant; accuracy " in power.finding
    assert power.folded
    assert set(compared.frame["task"]) == {""}
    assert set(values.frame["task"]) == {"", "x", "y"}
    assert "source_corpus" not in [column.name for column in values.columns]
    several = pl.concat([table, table.with_columns(source_corpus=pl.lit("books"))])
    assert "source_corpus" in [column.name for column in shown(several)[1].columns]  # type: ignore[union-attr]
    one = shown(answers({"a": 0.0, "b": 0.1}, seeds=1, tasks=("x",)))
    assert [type(exhibit) for exhibit in one] == [Heading, Table, Table], "nothing is tested"
    assert set(one[1].frame["task"]) == {""}  # type: ignore[union-attr]
    assert one[1].finding.startswith("not tested; difference / standard error over questions: ")  # type: ignore[union-attr]
    equal = shown(answers({"a": 0.0, "b": 0.0, "c": 0.0}))
    assert equal[1].finding == "no significant difference by any measure"  # type: ignore[union-attr]
    empty = pl.lit(None, pl.Float64)
    only_accuracy = shown(table.with_columns(bits_per_byte=empty, probability=empty))
    assert [one.name for one in only_accuracy[1:]] == [  # type: ignore[union-attr]
        "task-measure-comparisons-m-4-seeds-s", "task-measures-m-4-seeds-s"
    ]  # fmt: skip
    assert shown(answers({"a": 0.0})) == [], "one variant"
