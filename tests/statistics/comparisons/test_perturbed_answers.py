"""Changes under perturbations of questions: pairing, means over tasks and kinds, intervals and comparisons.

Hand-made answers against direct formulas.
"""

from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.small_report import altered, whole
from tokbench.report.exhibits import Heading, Table
from tokbench.report.sections.answer_measures import largest_change, perturbed_answers
from tokbench.statistics.comparisons.model_bits import NO_SEED
from tokbench.statistics.comparisons.perturbed_answers import (
    NO_CHANGE,
    PERTURBED_COMPARISONS,
    PERTURBED_MEASURES,
    compare_perturbed,
    perturbed_measure_table,
)
from tokbench.statistics.comparisons.question_groups import ONE_CLUSTER, estimate_mean
from tokbench.statistics.significance.estimate import ratio
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.tabulation.columns import PERTURBED_ANSWERS
from tokbench.tabulation.table import schema

KINDS = ("swap", "joined")
BITS = "answer_bits_per_byte"


def answers(
    losses: dict[str, float],
    *,
    seeds: int = 4,
    questions: int = 20,
    tasks: tuple[str, ...] = ("x", "y"),
    **columns: Any,
) -> pl.DataFrame:
    """Return answers of variants that need more bits after a perturbation, by their loss; every fourth is unchanged."""
    rng = np.random.default_rng(3)
    rows = []
    for seed, (variant, loss), task, (place, kind), number in product(
        range(seeds), losses.items(), tasks, enumerate(KINDS), range(questions)
    ):
        clean = 2 + number / 50 + seed / 100
        left_out = (number + place) % 4 == 0
        bits = None if left_out else clean + loss * (1 + place) + rng.normal(0, 0.02)
        row = {
            "model": "m", "variant": variant, "size": 512, "suite": "s", "task": task, "kind": kind,
            "document": number, "group": "", "source_corpus": "books", "source_document": None,
            "edits": 0 if left_out else 2, "bytes": 10, "clean_correct": number % 3 > 0,
            "correct": None if left_out else bool(number % 3 > 0 and rng.random() > 2 * loss),
            "clean_bits_per_byte": clean, "bits_per_byte": bits,
        }  # fmt: skip
        rows.append(row | columns | {"seed": seed if seeds > 1 else None})
    return pl.DataFrame(rows, schema={**schema(PERTURBED_ANSWERS), "seed": pl.Int64})


def test_values_are_means_of_the_questions_that_change() -> None:
    table = answers({"a": 0.1, "b": 0.2})
    made = perturbed_measure_table(table)
    PERTURBED_MEASURES.check(made)
    assert len(made) == 2 * 2 * 3 * 3, "variants, measures, tasks and kinds, each with their mean"
    asked = table.filter(pl.col("edits") > 0)
    for name, column in (("accuracy", "correct"), (BITS, "bits_per_byte")):
        for task, kind in product(("x", "y"), KINDS):
            (row,) = made.filter(variant="b", measure=name, task=task, kind=kind).rows(named=True)
            part = asked.filter(variant="b", task=task, kind=kind)
            clean, perturbed = (float(part[f"{before}{column}"].cast(pl.Float64).mean()) for before in ("clean_", ""))  # type: ignore[arg-type]
            assert (row["clean"], row["perturbed"]) == pytest.approx((clean, perturbed))
            assert row["difference"] == pytest.approx(perturbed - clean)
            assert row["relative"] == pytest.approx(perturbed / clean - 1)
            assert (row["questions"], row["unchanged"], row["clusters"], row["seeds"]) == (15, 5, 15, 4)
            assert row["low"] < row["difference"] < row["high"]
        singles = made.filter(pl.col("task") != "", pl.col("kind") != "", variant="b", measure=name)
        (over,) = made.filter(variant="b", measure=name, task="", kind="").rows(named=True)
        assert over["difference"] == pytest.approx(singles["difference"].mean())
        assert (over["questions"], over["unchanged"], over["clusters"]) == (60, 20, 40), "a question is one cluster"
        (of_kind,) = made.filter(variant="b", measure=name, task="", kind="swap").rows(named=True)
        assert of_kind["difference"] == pytest.approx(singles.filter(kind="swap")["difference"].mean())


def test_the_interval_is_that_of_the_paired_difference() -> None:
    """With one seed, task and kind it is that of the mean of the differences; the level of the questions cancels."""
    table = answers({"a": 0.1}, seeds=1, tasks=("x",)).filter(kind="swap")
    shifted = table.with_columns(pl.col("clean_bits_per_byte", "bits_per_byte") + pl.col("document") * 5)
    asked = table.filter(pl.col("edits") > 0)
    differences = (asked["bits_per_byte"] - asked["clean_bits_per_byte"]).to_numpy()
    expected = ratio(differences, np.ones(len(differences)))
    assert expected is not None
    for one in (table, shifted):
        (row,) = perturbed_measure_table(one).filter(task="x", kind="swap", measure=BITS).rows(named=True)
        assert row["difference"] == pytest.approx(expected.difference)
        assert (row["low"], row["high"]) == pytest.approx(expected.ends())
    document = pl.col("document") // 5
    clustered = table.with_columns(source_document=document)
    (row,) = perturbed_measure_table(clustered).filter(task="x", kind="swap", measure=BITS).rows(named=True)
    assert row["clusters"] == 4
    found = estimate_mean(
        differences[np.newaxis], np.zeros(len(differences), np.int64), asked["document"].to_numpy() // 5
    )
    assert (row["low"], row["high"]) == pytest.approx(found.estimate.ends())
    one = perturbed_measure_table(table.with_columns(source_document=pl.lit(1, pl.Int64)))
    assert set(one["reason"]) == {ONE_CLUSTER}


def test_variants_are_compared_by_their_changes() -> None:
    table = answers({"a": 0.05, "b": 0.2, "c": 0.2})
    compared = compare_perturbed(table, {})
    PERTURBED_COMPARISONS.check(compared)
    assert len(compared) == 3 * 2 * 3 * 3
    made = perturbed_measure_table(table)
    for name, verdicts in (("accuracy", (BETTER, WORSE)), (BITS, (BETTER, WORSE))):
        (row,) = compared.filter(measure=name, task="", kind="", a="a", b="b").rows(named=True)
        changes = {
            variant: made.filter(variant=variant, measure=name, task="", kind="")["difference"][0] for variant in "ab"
        }
        assert row["difference"] == pytest.approx(changes["a"] - changes["b"])
        assert row["verdict"] == verdicts[0]
        assert (row["seeds"], row["questions"], row["clusters"]) == (4, 60, 40)
        swapped = compare_perturbed(table.with_columns(variant=pl.col("variant").replace({"a": "b", "b": "a"})), {})
        (back,) = swapped.filter(measure=name, task="", kind="", a="a", b="b").rows(named=True)
        assert back["verdict"] == verdicts[1]
        assert (back["low"], back["high"]) == pytest.approx((-row["high"], -row["low"]))
    (row,) = compared.filter(measure=BITS, task="", kind="", a="b", b="c").rows(named=True)
    assert row["verdict"] == NO_DIFFERENCE
    assert row["excluded"] < 0.1
    for task, kind in product((False, True), (False, True)):
        of = (pl.col("task") != "") == task, (pl.col("kind") != "") == kind
        family = compared.filter(*of, measure=BITS)
        assert family["holm"].to_list() == pytest.approx(holm(family["p_value"].to_list()).tolist())


def test_the_clean_level_does_not_count() -> None:
    """A variant that is worse by the same amount before and after does not lose more."""
    table = answers({"a": 0.1, "b": 0.1})
    worse = pl.when(variant="b").then(1.0).otherwise(0.0)
    shifted = table.with_columns(pl.col("clean_bits_per_byte", "bits_per_byte") + worse)
    forth, back = (compare_perturbed(one, {}).filter(measure=BITS)["difference"].to_list() for one in (table, shifted))
    assert forth == pytest.approx(back)


def test_verdicts_need_three_trainings() -> None:
    for seeds, reason in ((1, "not tested: one training"), (2, "not tested: two trainings; significance needs three")):
        compared = compare_perturbed(answers({"a": 0.0, "b": 0.2}, seeds=seeds), {})
        assert set(compared["reason"]) == {reason}
        assert set(compared["verdict"]) == {NOT_TESTED}
        assert compared["low"].null_count() == 0, "there is an interval"
        assert compared["p_value"].null_count() == len(compared)


def test_missing_perturbations_have_reasons() -> None:
    table = answers({"a": 0.1, "b": 0.2})
    none = pl.when(kind="swap").then(0).otherwise(pl.col("edits")).alias("edits")
    rows = perturbed_measure_table(table.with_columns(none)).filter(kind="swap").rows(named=True)
    assert {
        (row["value"] if "value" in row else row["difference"], row["questions"], row["reason"]) for row in rows
    } == {(None, 0, NO_CHANGE)}
    assert {row["unchanged"] for row in rows} == {20, 40}
    lost = ~(
        (pl.col("variant") == "b") & (pl.col("task") == "y") & (pl.col("kind") == "joined") & (pl.col("seed") == 1)
    )
    (row,) = (
        perturbed_measure_table(table.filter(lost)).filter(variant="b", task="", kind="", measure=BITS).rows(named=True)
    )
    assert (row["difference"], row["reason"]) == (None, "left out, no question with a value for every seed: y joined")
    compared = compare_perturbed(table.filter(lost), {}).filter(task="", kind="", measure=BITS)
    assert compared["reason"].to_list() == [row["reason"]]
    assert compared["difference"].null_count() == 0
    other = table.filter((pl.col("variant") == "a") == (pl.col("seed") < 2))
    assert set(compare_perturbed(other, {})["reason"]) == {NO_SEED}
    small = compare_perturbed(table, {}, {("a", 512)})
    assert set(small["verdict"]) == {NOT_TESTED}
    for frame in (perturbed_measure_table(table.clear()), compare_perturbed(table.clear(), {})):
        assert frame.is_empty()


@settings(max_examples=20, deadline=None)
@given(st.permutations(range(8)))
def test_the_order_of_rows_does_not_matter(order: list[int]) -> None:
    table = answers({"a": 0.1, "b": 0.2}, seeds=2, questions=6, tasks=("x",))
    parts = [table[place::8] for place in order]
    mixed = pl.concat(parts).sort("kind", descending=True, maintain_order=True)
    for make in (perturbed_measure_table, lambda one: compare_perturbed(one, {})):
        keys = ["variant"] if "variant" in make(table).columns else ["a", "b"]
        forth, back = (make(one).sort("task", "kind", "measure", *keys) for one in (table, mixed))
        assert forth.equals(back)


def test_the_report_names_the_largest_change_and_compares_trainings() -> None:
    content = whole()
    (heading, values, compared) = perturbed_answers(content)
    assert isinstance(heading, Heading)
    assert heading.title == "Answers of tiny (3 seeds) on offline to perturbed questions"
    assert isinstance(values, Table)
    assert isinstance(compared, Table)
    every = content.frames["perturbed_measures"]
    assert values.finding == largest_change(every.filter(task=""))
    kinds = every.filter(pl.col("kind") != "", task="", measure="accuracy")
    none = kinds.with_columns(low=pl.lit(-1.0), high=pl.lit(1.0))
    assert largest_change(none) == "no 95 % interval of a change of accuracy excludes zero"
    lost = pl.when(kind="joined", variant="sage").then(pl.lit(-0.5))
    two = none.with_columns(difference=lost.otherwise("difference"), high=lost.otherwise("high"))
    finding = "2 of 16 changes of accuracy: the 95 % interval excludes zero; largest: sage, joined, −50.0 points"
    assert largest_change(two) == finding
    assert set(values.frame["kind"]) == {"", "swap", "joined"}
    assert len(values.frame) == len(every.filter(task=""))
    single = altered(content, perturbed_measures=every.filter(pl.col("kind").is_in(["", "swap"])))
    assert set(perturbed_answers(single)[1].frame["kind"]) == {"swap"}  # type: ignore[union-attr]
    once = content.frames["perturbed_comparisons"].with_columns(seeds=pl.lit(1, pl.Int64))
    assert len(perturbed_answers(altered(content, perturbed_comparisons=once))) == 2
    assert perturbed_answers(altered(content, perturbed_measures=None)) == []
    assert largest_change(every.clear()) == ""
