"""Variants compared question by question: against scipy, brute force and simulation.

Vocabularies with fewer tokens than others of their size: no rank, average, bold number or test is won by them.
"""

from functools import cache
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

from tests.support.small_report import (
    accuracy,
    altered,
    bits_by_seed,
    intrinsic,
    ngram_bits,
    ngram_documents,
    outcomes,
    whole,
)
from tokbench.errors import TokbenchError
from tokbench.report.content import ReportContent
from tokbench.report.layout import Drawing, Table, layout
from tokbench.report.sections.downstream import downstream
from tokbench.report.sections.rows import split
from tokbench.report.sections.statistics import statistics
from tokbench.statistics.answers import OUTCOME
from tokbench.statistics.bootstrap import paired_bootstrap, stratified_sums, summarized
from tokbench.statistics.correlation import CORRELATIONS, METRIC_CORRELATIONS, R_SQUARED, SMALLER
from tokbench.statistics.critical_difference import CRITICAL_DIFFERENCES
from tokbench.statistics.equal_size import undersized_vocabularies
from tokbench.statistics.measures import MEASURES
from tokbench.statistics.model_bits import BITS_COMPARISONS
from tokbench.statistics.ngram_bits import NGRAM_RANKS
from tokbench.statistics.pairs import COMPARISONS, POWER
from tokbench.statistics.questions import (
    BEHIND_THE_BEST,
    QUESTION_COMPARISONS,
    QUESTION_INTERVALS,
    behind_the_best,
    compare_questions,
    question_intervals,
)
from tokbench.statistics.ranks import RANKS, RANKS_BY_SIZE
from tokbench.statistics.seeds import with_seeds
from tokbench.tabulation.table import TidyTable, make_tables

Right = dict[tuple[str, int, str], list[int]]
"""By variant, size and task, whether each question was answered right."""


def questions_outcomes(right: Right, model: str = "tiny") -> pl.DataFrame:
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
    row, back = compare_questions(questions_outcomes(right)).rows(named=True)
    assert (row["a"], row["b"], row["better"], row["worse"], row["questions"]) == ("a", "b", better, worse, 50)
    assert row["p_value"] == pytest.approx(binomtest(better, better + worse, 0.5, "greater").pvalue)
    assert back["p_value"] == pytest.approx(binomtest(worse, better + worse, 0.5, "greater").pvalue)
    assert row["holm"] == pytest.approx(min(1, 2 * row["p_value"]))
    assert row["mean_difference"] == pytest.approx((better - worse) / 50)
    assert row["low"] < row["mean_difference"] < row["high"]


def test_every_accuracy_is_tested_against_the_best_of_its_cell() -> None:
    right = drawn(1, {"a": 0.6, "b": 0.4, "c": 0.6}, {"copa": 50, "piqa": 30}, (1,))
    del right["c", 1, "piqa"]  # No average of c.
    found = behind_the_best(questions_outcomes(right))
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
    pair = (
        compare_questions(questions_outcomes(right).filter(pl.col("variant") != "c")).filter(a="a").row(0, named=True)
    )
    assert average["best"] == "a"
    assert average["p_value"] == pytest.approx(2 * pair["bootstrap_p"])
    assert behind_the_best(questions_outcomes({})).is_empty()


def test_averages_are_over_cells_and_questions_are_drawn_with_their_sizes() -> None:
    right = drawn(2, {"a": 0.7, "b": 0.5}, {"large": 400, "small": 20})
    row, back = compare_questions(questions_outcomes(right)).rows(named=True)
    assert row["mean_difference"] == pytest.approx(mean(right, "a") - mean(right, "b"))
    assert (back["low"], back["high"]) == pytest.approx((-row["high"], -row["low"]))
    assert row["questions"] == 420
    intervals = question_intervals(questions_outcomes(right)).rows(named=True)
    assert [(one["cells"], one["questions"]) for one in intervals] == [(4, 420)] * 2
    assert intervals[0]["average"] == pytest.approx(mean(right, "a"))
    alike = {key: right["a", 1, key[2]] for key in right}  # Both sizes answer alike: there is no more to be known.
    single = {key: answers for key, answers in alike.items() if key[1] == 1}
    columns = ["average", "low", "high"]
    assert question_intervals(questions_outcomes(alike)).select(columns).row(0) == pytest.approx(
        question_intervals(questions_outcomes(single)).select(columns).row(0)
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
        table = questions_outcomes(drawn(seed, {"a": 0.6, "b": 0.5}, {"x": 80, "y": 40}))
        row = compare_questions(table).row(0, named=True)
        held += row["low"] <= 0.1 <= row["high"]
    assert 86 <= held <= 100


def test_what_only_one_has_is_named_and_seeds_are_averaged() -> None:
    right = drawn(3, {"a": 0.5, "b": 0.5}, {"x": 30, "y": 30})
    del right["b", 2, "y"]
    row = compare_questions(questions_outcomes(right)).row(0, named=True)
    assert (row["missing"], row["reason"]) == (1, "left out, in one of the two only: 2/y")
    apart = questions_outcomes({("a", 1, "x"): [1, 0], ("b", 2, "x"): [1, 1]})
    row = compare_questions(apart).row(0, named=True)
    assert (row["p_value"], row["holm"], row["reason"]) == (None, None, "no question in common")

    both = pl.concat(
        [questions_outcomes({("a", 1, "x"): [1, 0, 0]}, "one"), questions_outcomes({("a", 1, "x"): [1, 1, 0]}, "two")]
    )
    seeded = with_seeds(both, {"one": ("one (2 seeds)", 1), "two": ("one (2 seeds)", 2)})
    assert question_intervals(seeded).row(0)[:4] == ("one (2 seeds)", "s", "a", 0.5)
    lacking = seeded.filter(~((pl.col("seed") == 2) & (pl.col("document") == 2)))
    assert question_intervals(lacking)["average"].to_list() == [0.75]
    with pytest.raises(TokbenchError, match="no column correct"):
        compare_questions(both.drop("correct"))


def test_equal_answers_and_none() -> None:
    row = compare_questions(questions_outcomes({("a", 1, "x"): [1], ("b", 1, "x"): [1]})).row(0, named=True)
    assert (row["p_value"], row["low"], row["mean_difference"], row["questions"]) == (1, None, 0, 1)
    nothing = questions_outcomes({})
    assert compare_questions(nothing).is_empty()
    assert question_intervals(nothing).is_empty()


def test_the_report_shows_both() -> None:
    table = questions_outcomes(drawn(4, {"a": 0.6, "b": 0.5}, {"x": 1}, (1,)))
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


MADE: tuple[TidyTable, ...] = (
    RANKS, RANKS_BY_SIZE, CRITICAL_DIFFERENCES, COMPARISONS, POWER, QUESTION_COMPARISONS, QUESTION_INTERVALS,
    BEHIND_THE_BEST, NGRAM_RANKS, R_SQUARED, CORRELATIONS, METRIC_CORRELATIONS, BITS_COMPARISONS, MEASURES,
)  # fmt: skip


def measured(smaller: float) -> pl.DataFrame:
    """The measures of the small report; the best by accuracy has so many tokens at the larger size."""
    own = pl.when(pl.col("variant") == "sage", pl.col("size") == 2048).then(smaller).otherwise(pl.col("size"))
    held = intrinsic().filter(metric="corpus_token_count")
    held = held.with_columns(metric=pl.lit("vocabulary_size"), value=own.cast(pl.Float64))
    return pl.concat([intrinsic(), held])


@cache
def made(smaller: float) -> dict[str, pl.DataFrame]:
    """The statistics, as ``tokbench analyse`` makes them; every cell has an accuracy."""
    known, measures = accuracy().with_columns(pl.col("accuracy").fill_null(0.6)), measured(smaller)
    material = SimpleNamespace(
        accuracy=known, outcomes=outcomes(), trainings=None, intrinsic=measures, ngram_documents=ngram_documents(),
        ngram_bits=ngram_bits(), bits_by_seed=bits_by_seed(), baselines={}, fewer=undersized_vocabularies(measures),
    )  # fmt: skip
    return {table.name: frame for table, frame in make_tables(MADE, material).items()}


@pytest.fixture(scope="module")
def equal() -> dict[str, pl.DataFrame]:
    return made(2048)


@pytest.fixture(scope="module")
def short() -> dict[str, pl.DataFrame]:
    return made(1900)


Tables = dict[str, pl.DataFrame]


def test_it_keeps_its_averages_and_has_no_rank(equal: Tables, short: Tables) -> None:
    assert equal["ranks"].row(0, named=True)["variant"] == "sage"
    *others, last = short["ranks"].rows(named=True)
    assert [(row["variant"], row["rank"]) for row in others] == [("bpe", 1), ("unigram_greedy", 2), ("random", 3)]
    assert (last["variant"], last["rank"], last["reason"]) == ("sage", None, "has fewer tokens than others at 2,048")
    assert last["average"] == equal["ranks"].filter(variant="sage")["average"].item() > others[0]["average"]
    by_size = {(row["variant"], row["size"]): row for row in short["ranks_by_size"].rows(named=True)}
    assert (by_size["sage", 1024]["rank"], by_size["bpe", 2048]["rank"]) == (1, 1)
    assert by_size["sage", 2048]["rank"] is None
    assert by_size["sage", 2048]["reason"] == "has fewer tokens than others of its size", "as the scoreboard says"
    assert by_size["sage", 2048]["average"] == pytest.approx(0.714)


def test_average_ranks_are_those_among_the_others(equal: Tables, short: Tables) -> None:
    place, others = (
        dict(frame["critical_differences"].select("variant", "average_rank").iter_rows()) for frame in (equal, short)
    )
    assert (place["sage"], place["bpe"]) == (1, 2)
    assert (others["sage"], others["bpe"]) == (None, 1)
    ngrams = short["ngram_ranks"].filter(size=2048, order=3, training_bytes=100_000)
    assert ngrams.filter(variant="sage").select("average_rank", "reason").row(0) == (
        None,
        "has fewer tokens than others of its size",
    )
    assert ngrams.drop_nulls("average_rank")["average_rank"].to_list() == [1, 2, 3]
    same = pl.col("size") == 1024
    assert short["ngram_ranks"].filter(same).equals(equal["ngram_ranks"].filter(same))


def test_it_is_compared_at_the_other_size(equal: Tables, short: Tables) -> None:
    for name, over in (("comparisons", "n"), ("question_comparisons", "questions")):
        pair, whole_pair = (frame[name].filter(a="sage", b="random").row(0, named=True) for frame in (short, equal))
        assert pair["reason"] == "left out, as one of the two has fewer tokens than others of the size: 2,048"
        assert whole_pair["reason"] is None
        assert (pair[over], whole_pair[over]) in ((5, 10), (20, 20)), "questions count once for all sizes"
        same = (pl.col("a") != "sage") & (pl.col("b") != "sage")
        adjusted = ["holm", "benjamini_hochberg"]
        assert short[name].filter(same).drop(adjusted).equals(equal[name].filter(same).drop(adjusted))
    at = short["behind_the_best"].filter(size=2048)
    assert not at.is_empty()
    assert "sage" not in {*at["variant"], *at["best"]}
    assert (short["r_squared"]["n"].item(), equal["r_squared"]["n"].item()) == (3, 4)


def test_alone_at_a_size_it_is_compared_with_nothing() -> None:
    one = {name: frame.filter(size=2048) for name, frame in (("accuracy", accuracy()), ("outcomes", outcomes()))}
    fewer = {("sage", 2048)}
    for table, material in ((COMPARISONS, one["accuracy"]), (QUESTION_COMPARISONS, one["outcomes"])):
        row = table.maker(material, None, {}, fewer).filter(a="sage", b="random").row(0, named=True)
        assert row["p_value"] is None
        assert row["reason"].endswith(" in common at a size of which neither has fewer tokens than others")


def test_a_nominal_size_that_it_does_not_have_gives_no_point(equal: Tables, short: Tables) -> None:
    by_size, tokens = (
        [frame["correlations"].filter(metric=metric)["n"].item() for frame in (equal, short)]
        for metric in ("renyi_efficiency_2.5", "corpus_token_count")
    )
    assert tokens[0] == tokens[1], "other measures are its own"
    assert by_size[0] - by_size[1] == 1
    pair = pl.col("metric_a").str.starts_with("corpus") & pl.col("metric_b").str.starts_with("renyi")
    assert [frame["metric_correlations"].filter(pair)["n"].item() for frame in (equal, short)] == [8, 7]


def test_bits_of_a_smaller_vocabulary_are_not_tested(equal: Tables, short: Tables) -> None:
    of_sage = (pl.col("a") == "sage") | (pl.col("b") == "sage")
    whole, without = (frame["bits_comparisons"] for frame in (equal, short))
    there, here = (frame.filter(of_sage, size=2048) for frame in (whole, without))
    assert len(here) == 3
    assert here["difference"].to_list() == pytest.approx(there["difference"].to_list())
    assert here["holm"].null_count() == here["low"].null_count() == len(here)
    assert set(here["verdict"]) == {"not tested"}
    assert set(here["reason"]) == {"left out, as one of the two has fewer tokens than others of the size"}
    others = [frame.filter(~of_sage, size=2048) for frame in (whole, without)]
    assert others[0]["low"].equals(others[1]["low"])
    assert (others[1]["holm"] <= others[0]["holm"]).all(), "the family has fewer tests"
    assert without.filter(size=1024).equals(whole.filter(size=1024))
    pairs = [frame["measures"].filter(metric="corpus_token_count")["pairs"].item() for frame in (equal, short)]
    assert pairs == [12, 9]


def shown(smaller: float) -> ReportContent:
    frames = {name: frame for name, frame in made(smaller).items() if name in whole().frames}
    return altered(whole(), intrinsic=measured(smaller), **frames)


def exhibits(content: ReportContent) -> dict[tuple[type, str], Table | Drawing]:
    every = (exhibit for section in (downstream(content), statistics(content)) for exhibit in section.exhibits)
    return {(type(one), one.name): one for one in every if isinstance(one, Table | Drawing)}


def test_the_page_ranks_the_others_and_says_so() -> None:
    page = exhibits(shown(1900))
    ranks = page[Table, "ranks-tiny-offline"]
    assert isinstance(ranks, Table)
    printed = layout(ranks).rows
    assert [row[1].text for row in printed] == ["bpe", "unigram_greedy", "random", "sage"]
    assert [row[0].text for row in printed] == ["1", "2", "3", "–"]
    assert [[cell.best for cell in row[2:5]] for row in printed] == [[True, False, True], [False] * 3, [False] * 3, [
        False, True, False]], "the highest at 1,024, where it has its tokens"  # fmt: skip
    unranked = "Not ranked (fewer tokens than others of a size): sage."
    for name in ("accuracy-by-rank-tiny-offline", "p-values-tiny-offline", "average-ranks-tiny-offline"):
        drawing = page[Drawing, name]
        assert drawing.caption.endswith(unranked)
        assert isinstance(drawing, Drawing)
        labels = [label.get_text() for label in drawing.draw(width=6).axes[0].get_yticklabels()]
        assert not [label for label in labels if label.startswith("sage  ")], "no rank beside its name"
    pairs = page[Table, "comparisons-tiny-offline"]
    told = "3 pairs without sizes at which one of the two has fewer tokens than others; see the column “reason”"
    assert [note for note in pairs.notes if note.startswith(told)]
    for name in ("correlations", "metric-correlations", "measures-tiny-3-seeds-offline"):
        assert SMALLER not in page[Table, name].caption
        assert page[Table, name].caption.endswith(
            "are included, except in measures that divide by the nominal (requested) size: 1 tokenizer is left out of "
            "these."
        )


def test_a_page_of_equal_vocabularies_says_nothing_of_it() -> None:
    page = exhibits(shown(2048))
    assert not [one.caption for one in page.values() if "fewer tokens than others" in one.caption]
    assert page[Table, "correlations"].caption.endswith(SMALLER)


def test_several_models_are_compared_without_it() -> None:
    small = accuracy().with_columns(pl.col("accuracy").fill_null(0.6))
    both = pl.concat([small, small.with_columns(model=pl.lit("large"), accuracy=pl.col("accuracy") + 0.1)])
    for smaller, best, left in (
        (2048, "sage", ""),
        (1900, "bpe", " Left out (fewer tokens than others of a size): sage."),
    ):
        fewer = undersized_vocabularies(measured(smaller))
        frames = {"ranks": RANKS.maker(both, fewer), "ranks_by_size": RANKS_BY_SIZE.maker(both, fewer)}
        content = altered(whole(), accuracy=both, intrinsic=measured(smaller), models=["tiny", "large"], **frames)
        drawing = exhibits(content)[Drawing, "accuracy-by-model-offline"]
        assert isinstance(drawing, Drawing)
        assert f": {best} with tiny" in drawing.says
        assert drawing.caption.endswith(left)
