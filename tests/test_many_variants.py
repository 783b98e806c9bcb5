"""More variants than pairs can be read of: each is compared with its baseline and with the best."""

import polars as pl
import pytest

from tokbench.statistics import pairing
from tokbench.statistics.answers import OUTCOME
from tokbench.statistics.by_question import behind_the_best, compare_questions, question_intervals
from tokbench.statistics.cells import ACCURACY
from tokbench.statistics.corrections import holm
from tokbench.statistics.pairs import compare_pairs, power_table
from tokbench.statistics.ranks import averages

FIVE = ("a", "b", "c", "d", "e")
BASELINES = dict.fromkeys(FIVE, "b")


def accuracy(variants: tuple[str, ...] = FIVE) -> pl.DataFrame:
    """Accuracies by which the fourth variant is the best."""
    rows = [
        (
            variant,
            size,
            "tiny",
            "s",
            task,
            0.3 + 0.01 * ((place * 7 + len(task) * size) % 11) + 0.2 * (place == 3),
            0.25,
            9,
        )
        for place, variant in enumerate(variants)
        for size in (1, 2, 3)
        for task in ("copa", "qa", "arc_easy")
    ]
    return pl.DataFrame(rows, schema=ACCURACY, orient="row")


def outcomes(variants: tuple[str, ...] = FIVE) -> pl.DataFrame:
    rows = [
        ("tiny", "s", variant, size, "copa", document, (place * 5 + document * 3 + size) % 7 > 3 - (place == 3))
        for place, variant in enumerate(variants)
        for size in (1, 2)
        for document in range(9)
    ]
    return pl.DataFrame(rows, schema=OUTCOME, orient="row")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three variants are as many as have all their pairs compared."""
    monkeypatch.setattr(pairing, "EVERY_PAIR_UP_TO", 3)


def test_every_pair_up_to_the_limit(few: None) -> None:
    assert len(pairing.compared(FIVE[:3], "a", BASELINES)) == 6
    every = compare_pairs(accuracy(FIVE[:3]), averages(accuracy(FIVE[:3])), BASELINES)
    assert every.equals(compare_pairs(accuracy(FIVE[:3])))
    assert pairing.of_every_pair(every)


def test_above_it_the_baseline_and_the_best(few: None) -> None:
    pairs = compare_pairs(accuracy(), averages(accuracy()), BASELINES)
    found = pairs.select("a", "b").rows()
    assert found == [
        ("a", "b"), ("a", "d"), ("b", "a"), ("b", "c"), ("b", "d"), ("b", "e"), ("c", "b"), ("c", "d"),
        ("d", "a"), ("d", "b"), ("d", "c"), ("d", "e"), ("e", "b"), ("e", "d"),
    ]  # fmt: skip
    assert not pairing.of_every_pair(pairs)
    assert power_table(pairs)["pairs"].to_list() == [7]
    asked = compare_questions(outcomes(), averages(accuracy()), BASELINES)
    assert asked.select("a", "b").rows() == found


def test_a_test_is_the_same_and_corrected_for_those_that_are_made(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    some = compare_pairs(accuracy(), averages(accuracy()), BASELINES)
    asked = compare_questions(outcomes(), averages(accuracy()), BASELINES)
    assert some["holm"].to_list() == pytest.approx(holm(some["p_value"].to_list()).tolist())
    assert asked["holm"].to_list() == pytest.approx(holm(asked["p_value"].to_list()).tolist())
    monkeypatch.setattr(pairing, "EVERY_PAIR_UP_TO", 5)
    every, keys = compare_pairs(accuracy()), ["model", "suite", "a", "b"]
    corrected = ["holm", "benjamini_hochberg"]
    assert every.join(some, on=keys, how="semi").drop(corrected).equals(some.drop(corrected))
    questions = compare_questions(outcomes())
    assert questions.join(asked, on=keys, how="semi").drop(corrected).equals(asked.drop(corrected))


def test_each_has_the_baseline_of_its_corpus(few: None) -> None:
    pairs = pairing.compared(FIVE, None, {"a": "a", "b": "a", "c": "a", "d": "d", "e": "d"})
    assert pairs == [("a", "b"), ("a", "c"), ("b", "a"), ("c", "a"), ("d", "e"), ("e", "d")]


def test_where_there_is_neither_the_first_stands_in(few: None) -> None:
    pairs = pairing.compared(FIVE, None, dict.fromkeys(FIVE, "not trained"))
    assert pairs == [*(("a", other) for other in "bcde"), *((other, "a") for other in "bcde")]


def test_rows_grow_with_the_variants(few: None) -> None:
    def rows(count: int) -> list[int]:
        names = tuple(f"v{number}" for number in range(count))
        scores, answers = accuracy(names), outcomes(names)
        ranks, baselines = averages(scores), dict.fromkeys(names, "v0")
        made = compare_pairs(scores, ranks, baselines), compare_questions(answers, ranks, baselines)
        return [frame.height for frame in (*made, question_intervals(answers), behind_the_best(answers))]

    assert rows(8) == [26, 26, 8, 28]
    assert rows(16) == [58, 58, 16, 60]
