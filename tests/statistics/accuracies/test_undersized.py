"""Vocabularies with fewer tokens than others of their size: no rank, average, bold number or test is won by them."""

from functools import cache
from types import SimpleNamespace

import polars as pl
import pytest

from tests.support.small_report import (
    accuracy,
    altered,
    bits_by_seed,
    intrinsic,
    ngram_bits,
    ngram_documents,
    whole,
)
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Table
from tokbench.report.layout import layout
from tokbench.report.sections.downstream import downstream
from tokbench.report.sections.statistics import statistics
from tokbench.statistics.accuracies.correlation import CORRELATIONS, METRIC_CORRELATIONS, R_SQUARED, SMALLER
from tokbench.statistics.accuracies.critical_difference import CRITICAL_DIFFERENCES
from tokbench.statistics.accuracies.measures import MEASURES
from tokbench.statistics.accuracies.pairs import COMPARISONS, POWER
from tokbench.statistics.accuracies.ranks import RANKS, RANKS_BY_SIZE
from tokbench.statistics.comparisons.model_bits import BITS_COMPARISONS
from tokbench.statistics.comparisons.ngram_bits import NGRAM_RANKS
from tokbench.statistics.undersized import undersized_vocabularies
from tokbench.tabulation.table import TidyTable, make_tables

MADE: tuple[TidyTable, ...] = (
    RANKS, RANKS_BY_SIZE, CRITICAL_DIFFERENCES, COMPARISONS, POWER, NGRAM_RANKS, R_SQUARED, CORRELATIONS,
    METRIC_CORRELATIONS, BITS_COMPARISONS, MEASURES,
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
        accuracy=known, unit_names={}, trainings=None, intrinsic=measures, ngram_documents=ngram_documents(),
        ngram_bits=ngram_bits(), bits_by_seed=bits_by_seed(), baselines={},
        undersized=undersized_vocabularies(measures),
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
    pair, whole_pair = (
        frame["comparisons"].filter(a="sage", b="random").row(0, named=True) for frame in (short, equal)
    )
    assert pair["reason"] == "left out, as one of the two has fewer tokens than others of the size: 2,048"
    assert whole_pair["reason"] is None
    assert (pair["n"], whole_pair["n"]) == (5, 10)
    same = (pl.col("a") != "sage") & (pl.col("b") != "sage")
    adjusted = ["holm", "benjamini_hochberg"]
    assert short["comparisons"].filter(same).drop(adjusted).equals(equal["comparisons"].filter(same).drop(adjusted))
    assert (short["r_squared"]["n"].item(), equal["r_squared"]["n"].item()) == (3, 4)


def test_alone_at_a_size_it_is_compared_with_nothing() -> None:
    row = COMPARISONS.maker(accuracy().filter(size=2048), None, {}, {("sage", 2048)})
    row = row.filter(a="sage", b="random").row(0, named=True)
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
    assert here["holm"].null_count() == len(here)
    assert here["low"].to_list() == there["low"].to_list()
    assert set(here["verdict"]) == {"not tested"}
    assert set(here["reason"]) == {"not tested: one of the two has fewer tokens than others of the size"}
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
        assert not [label for label in labels if label.startswith("sage  ")], "no rank next to its name"
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
        undersized = undersized_vocabularies(measured(smaller))
        frames = {"ranks": RANKS.maker(both, undersized), "ranks_by_size": RANKS_BY_SIZE.maker(both, undersized)}
        content = altered(whole(), accuracy=both, intrinsic=measured(smaller), models=["tiny", "large"], **frames)
        drawing = exhibits(content)[Drawing, "accuracy-by-model-offline"]
        assert isinstance(drawing, Drawing)
        assert f": {best} with tiny" in drawing.says
        assert drawing.caption.endswith(left)
