"""More variants than pairs can be read of: each is compared with its baseline and with the best."""

from itertools import permutations
from pathlib import Path

import polars as pl
import pytest

from tests.support import small_report
from tokbench.report.content import ReportContent
from tokbench.report.html import _shown, drawings, render, tables
from tokbench.report.sections.comparisons import SELECTED
from tokbench.report.sections.downstream import ranked
from tokbench.report.summary import summary
from tokbench.report.typeset import to_csv
from tokbench.statistics import pairing
from tokbench.statistics.answers import OUTCOME
from tokbench.statistics.by_question import behind_the_best, compare_questions, question_intervals
from tokbench.statistics.cells import ACCURACY
from tokbench.statistics.corrections import holm
from tokbench.statistics.critical_difference import critical_differences
from tokbench.statistics.pairs import compare_pairs, power_table
from tokbench.statistics.ranks import averages, averages_by_size
from tokbench.tabulation.overlaps import overlaps_by_size
from tokbench.tidy import many
from tokbench.vocabulary import BYTES, Vocabulary

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
    monkeypatch.setattr(many, "EVERY_PAIR_UP_TO", 3)


def test_every_pair_up_to_the_limit(few: None) -> None:
    assert len(pairing.compared(FIVE[:3], "a", BASELINES)) == 6
    every = compare_pairs(accuracy(FIVE[:3]), averages(accuracy(FIVE[:3])), BASELINES)
    assert every.equals(compare_pairs(accuracy(FIVE[:3])))
    ends = {(a, b): (low, high) for a, b, low, high in every.select("a", "b", "low", "high").iter_rows()}
    assert all((-high, -low) == pytest.approx(ends[b, a]) for (a, b), (low, high) in ends.items())
    assert pairing.of_every_pair(every)
    assert pairing.of_every_pair(pl.DataFrame(permutations(FIVE, 2), ["a", "b"], orient="row"))


def test_above_it_the_baseline_and_the_best(few: None) -> None:
    pairs = compare_pairs(accuracy(), averages(accuracy()), BASELINES)
    found = pairs.select("a", "b").rows()
    assert found == [
        ("a", "b"), ("a", "d"), ("b", "a"), ("b", "c"), ("b", "d"), ("b", "e"), ("c", "b"), ("c", "d"),
        ("d", "a"), ("d", "b"), ("d", "c"), ("d", "e"), ("e", "b"), ("e", "d"),
    ]  # fmt: skip
    assert not pairing.of_every_pair(pairs)
    assert power_table(pairs)["pairs"].to_list() == [7]
    models = [f"m{number % 7}{number}" for number in range(60)]
    several = pl.concat([pairs.head(1).with_columns(a=pl.lit("a"), b=pl.lit("b"), model=pl.lit(one)) for one in models])
    assert power_table(several)["model"].to_list() == models
    asked = compare_questions(outcomes(), averages(accuracy()), BASELINES)
    assert asked.select("a", "b").rows() == found


def test_a_test_is_the_same_and_corrected_for_those_that_are_made(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    some = compare_pairs(accuracy(), averages(accuracy()), BASELINES)
    asked = compare_questions(outcomes(), averages(accuracy()), BASELINES)
    assert some["holm"].to_list() == pytest.approx(holm(some["p_value"].to_list()).tolist())
    assert asked["holm"].to_list() == pytest.approx(holm(asked["p_value"].to_list()).tolist())
    monkeypatch.setattr(many, "EVERY_PAIR_UP_TO", 5)
    every, keys = compare_pairs(accuracy()), ["model", "suite", "a", "b"]
    corrected = ["holm", "benjamini_hochberg"]
    assert every.join(some, on=keys, how="semi").drop(corrected).equals(some.drop(corrected))
    questions = compare_questions(outcomes())
    assert questions.join(asked, on=keys, how="semi").drop(corrected).equals(asked.drop(corrected))


def test_above_it_each_has_the_best_of_its_group(few: None) -> None:
    """And the baseline; no test is made with the best of another group."""
    bests = {"a": "a", "b": "a", "c": "d", "d": "d", "e": "d"}
    pairs = pairing.unordered(pairing.compared(FIVE, bests, dict.fromkeys(FIVE, "b")))
    assert pairs == [("a", "b"), ("b", "c"), ("b", "d"), ("b", "e"), ("c", "d"), ("d", "e")]


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


@pytest.fixture
def much(monkeypatch: pytest.MonkeyPatch) -> ReportContent:
    """A report on four variants where three are few: figures show two and the baseline, tables three rows."""
    whole = small_report.whole()  # It is kept, and made of all pairs.
    for name, value in (("EVERY_PAIR_UP_TO", 3), ("DRAWN", 2), ("PRINTED", 3)):
        monkeypatch.setattr(many, name, value)
    scores = small_report.accuracy().with_columns(pl.col("accuracy").fill_null(0.6))
    baselines = dict.fromkeys(small_report.VARIANTS, "random")
    ranks = averages(scores)
    return small_report.altered(
        whole, accuracy=scores, ranks=ranks, ranks_by_size=averages_by_size(scores),
        critical_differences=critical_differences(scores), comparisons=compare_pairs(scores, ranks, baselines),
        question_comparisons=compare_questions(small_report.outcomes(), ranks, baselines), baselines=["random"],
    )  # fmt: skip


def test_figures_show_the_best_and_the_baseline(much: ReportContent) -> None:
    order = ranked(much.frames["ranks"])
    assert order[-1] == "random"
    assert much.drawn(order) == [*order[:2], "random"]
    assert much.reading[0] == "random"
    assert sorted(much.reading) == sorted(much.variants)
    drawn = {one.name: one for one in drawings(much)}
    assert not [name for name in drawn if name.startswith("p-values")]
    for name in ("average-ranks-tiny-offline", "accuracy-by-rank-tiny-offline", "bits-per-byte-tiny-offline"):
        assert "Shown are 3 of 4 variants" in drawn[name].caption
        assert drawn[name].draw(width=4) is not None
    tokens = drawn["corpus_token_count-books"]
    assert "bpe" not in tokens.variants
    assert tokens.says.startswith("Corpus token count on books at a vocabulary of 2,048: ")
    assert tokens.says.endswith("to 117,952, bpe."), "of all, not of those drawn"
    told = drawn["differences-tiny-offline"]
    assert "minus that of the baseline random" in told.caption
    assert "corrected by Holm's procedure for all tests made of this model and suite" in told.caption
    axes = told.draw(width=4).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == order[:2]


def test_the_page_prints_the_first_rows_and_the_files_all(much: ReportContent, tmp_path: Path) -> None:
    render(much, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    made = {table.name: table for table in tables(much)}
    pairs = made["comparisons-tiny-offline"]
    assert pairs.frame.height == much.frames["comparisons"].height == 10
    assert "each variant with the baseline of its corpus and with the best" in pairs.caption
    part = page[page.index('id="table-comparisons-tiny-offline"') :]
    part = part[: part.index("</figure>")]
    assert part.count("<tr") == 1 + 3
    assert "The first 3 of 10 rows; all are in typeset/comparisons-tiny-offline.csv." in part
    assert made["recipes"].frame["variant"].to_list() == much.reading
    assert to_csv(pairs).count("\n") == 1 + 10


def test_few_variants_are_shown_as_ever() -> None:
    content = small_report.altered(small_report.whole(), baselines=["random"])
    assert content.reading == content.variants
    assert content.drawn(content.variants) == content.variants
    assert content.left_out(content.variants) == ""
    frame = content.frames["comparisons"]
    assert content.read(frame).equals(frame)


def test_a_table_that_is_little_longer_than_the_page_shows_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader loses more by two rows that are not there than by reading two more."""
    content = small_report.whole()
    pairs = next(table for table in tables(content) if table.name == "comparisons-tiny-offline")
    assert pairs.frame.height == 12
    for most, rows in ((9, 9), (10, 12), (12, 12)):
        monkeypatch.setattr("tokbench.report.html._PAGE_ROWS", most)
        shown = _shown(content, pairs, 1)
        assert len(shown.layout.rows) == rows
        assert any(note.startswith("The first 9 of 12 rows") for note in shown.table.notes) == (rows == 9)


def test_overlaps_of_many_vocabularies_are_those_with_the_baseline(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary(BYTES)
    found = overlaps_by_size(dict.fromkeys([(name, 300) for name in FIVE], vocabulary), {"corpus": "c"})
    assert found.select("a", "b").rows() == [("c", "a"), ("c", "b"), ("c", "d"), ("c", "e")]
    some = dict.fromkeys([(name, 300) for name in FIVE[:3]], vocabulary)
    assert overlaps_by_size(some, {"corpus": "c"}).equals(overlaps_by_size(some))
    monkeypatch.setattr(many, "EVERY_PAIR_UP_TO", 4)
    assert overlaps_by_size(some, {"corpus": "c"}).equals(overlaps_by_size(some))


def test_the_summary_says_how_the_best_was_chosen(much: ReportContent, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [sentence for sentence in summary(much) if "95 % interval" in sentence]
    assert told
    assert all(sentence.endswith(f". {SELECTED}") for sentence in told)
    monkeypatch.setattr(many, "EVERY_PAIR_UP_TO", 64)
    assert not any(SELECTED in sentence for sentence in summary(small_report.whole()))
