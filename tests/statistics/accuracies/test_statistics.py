"""Statistics against brute force, scipy, and the published tables of "Tokenization Is More Than Compression"."""

from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata, wilcoxon

from tests.support.external_tokenizers import PUBLISHED, needs
from tokbench.errors import TokbenchError
from tokbench.io.json import write_result
from tokbench.statistics.accuracies.correlation import between_metrics, between_sizes, metric_with_accuracy, pearson
from tokbench.statistics.accuracies.pairs import compare_pairs
from tokbench.statistics.accuracies.ranks import averages, averages_by_size
from tokbench.statistics.cells import ACCURACY, INTRINSIC
from tokbench.statistics.significance.wilcoxon import signed_rank
from tokbench.tabulation.answers import ACCURACY as ACCURACIES
from tokbench.tabulation.answers import accuracy_table
from tokbench.tabulation.intrinsic import intrinsic_table, relative_to
from tokbench.tabulation.training import bits_per_byte_table

PAPER = "tokenization_is_more_than_compression"
needs_published = needs(PUBLISHED)


def brute_force(differences: list[int]) -> float:
    """Share of all sign patterns whose positive rank sum reaches the observed one."""
    kept = [difference for difference in differences if difference]
    ranks = rankdata(np.abs(kept)).tolist() if kept else []
    observed = sum(rank for rank, difference in zip(ranks, kept, strict=True) if difference > 0)
    sums = [
        sum(rank for rank, sign in zip(ranks, signs, strict=True) if sign)
        for signs in product((0, 1), repeat=len(kept))
    ]
    return sum(total >= observed for total in sums) / len(sums)


@given(st.lists(st.integers(-4, 4), max_size=9))
def test_signed_rank_is_exact_under_ties_and_zeros(differences: list[int]) -> None:
    test = signed_rank(differences)
    assert test.p_value == pytest.approx(brute_force(differences), abs=1e-12)
    assert (test.n, test.zeros) == (len(differences) - differences.count(0), differences.count(0))


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=40, unique=True), st.randoms())
@settings(max_examples=50)
def test_signed_rank_agrees_with_scipy(sizes: list[int], random) -> None:
    differences = [size * random.choice((-1, 1)) for size in sizes]
    expected = wilcoxon(differences, alternative="greater", method="exact")
    for null in ("tied", "untied"):
        test = signed_rank(differences, null)
        assert test.statistic == expected.statistic
        assert test.p_value == pytest.approx(expected.pvalue, rel=1e-9)


def test_floating_point_noise_breaks_no_tie() -> None:
    assert signed_rank([0.3 - 0.2, 0.1, -0.1, 0.7 - 0.7]) == signed_rank([1, 1, -1, 0])


def test_signed_rank_of_many_pairs_keeps_a_probability() -> None:
    assert 0.0 < signed_rank(np.arange(1, 301)).p_value < 1e-80
    assert signed_rank(-np.arange(1, 301)).p_value == 1.0


def frame(rows: list[tuple], schema: dict = ACCURACY) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=schema, orient="row")


SMALL = frame(
    [
        (variant, size, "tiny", "three", task, base + step + size / 1000, 0.25, 100)
        for variant, base in (("bpe", 0.5), ("sage", 0.4))
        for size in (10, 20)
        for task, step in (("copa", 0.1), ("piqa", 0.2), ("sciq", 0.3))
    ]
    + [("unigram", 10, "tiny", "three", task, 0.5, 0.25, 100) for task in ("copa", "piqa")]
    + [("unigram", 10, "tiny", "three", "sciq", None, 0.25, 100)]
    + [("picky", 30, "tiny", "three", "copa", 0.5, 0.25, 100)]
)


def test_pairs_report_missing_cells() -> None:
    pairs = compare_pairs(SMALL)
    assert pairs.height == 4 * 3
    row = pairs.row(by_predicate=(pl.col("a") == "bpe") & (pl.col("b") == "sage"), named=True)
    assert row["p_value"] == 1 / 64
    assert (row["n"], row["zeros"], row["missing"], row["reason"]) == (6, 0, 0, None)
    assert row["mean_difference"] == pytest.approx(0.1)
    row = pairs.row(by_predicate=(pl.col("a") == "bpe") & (pl.col("b") == "unigram"), named=True)
    assert (row["n"], row["missing"]) == (2, 4)
    assert row["reason"] == "left out, in one of the two only: 10/sciq, 20/copa, 20/piqa and 1 more"
    row = pairs.row(by_predicate=(pl.col("a") == "picky") & (pl.col("b") == "bpe"), named=True)
    assert row["p_value"] is None
    assert row["reason"] == "no cell in common"


def test_order_of_rows_changes_nothing() -> None:
    shuffled = SMALL.sample(fraction=1.0, shuffle=True, seed=3)
    assert compare_pairs(shuffled).equals(compare_pairs(SMALL))
    assert averages_by_size(shuffled).equals(averages_by_size(SMALL))


def test_averages_name_missing_tasks() -> None:
    table = averages_by_size(SMALL).filter(pl.col("size") == 10)
    assert table["variant"].to_list() == ["bpe", "sage", "picky", "unigram"]
    assert table["rank"].to_list() == [1, 2, None, None]
    assert table["reason"].to_list()[2:] == ["missing: 10/copa, 10/piqa, 10/sciq", "missing: 10/sciq"]
    assert table["n"].to_list() == [3, 3, 0, 2]
    assert table["above_random"][0] == pytest.approx(0.71 - 0.25)
    assert averages(SMALL)["average"].is_null().all(), "no variant has size 30 whole"
    whole = averages(SMALL.filter(pl.col("size") < 30))
    assert whole.drop_nulls("rank")["variant"].to_list() == ["bpe", "sage"]


def test_equal_averages_share_a_rank() -> None:
    table = averages_by_size(
        frame([(name, 1, "m", "s", "t", score, None, 1) for name, score in zip("abc", (1, 1, 0), strict=True)])
    )
    assert table["rank"].to_list() == [1, 1, 3]
    assert table["above_random"].is_null().all()


def test_correlations_say_why_there_is_none() -> None:
    table = between_sizes(SMALL)
    assert table["reason"].to_list() == ["2 in common; three are needed"] + ["0 in common; three are needed"] * 2
    flat = [(str(v), 1, "c", "all", "m", "d", 1.0, 1, None) for v in range(4)]
    rising = [(str(v), 1, "c", "all", "m", "e", float(v), 1, None) for v in range(4)]
    assert between_metrics(frame(flat + rising, INTRINSIC))["reason"].to_list() == ["one of the two does not vary"]


def test_three_in_common_are_enough_for_a_correlation() -> None:
    values = {"a": 1.0, "b": 2.0, "c": 4.0}
    assert pearson(values, {"a": 1.0, "b": 2.0}).reason == "2 in common; three are needed"
    three = pearson(values, {"a": 2.0, "b": 1.0, "c": 5.0, "d": 9.0})
    assert (three.n, three.missing, three.reason) == (3, 1, None)
    assert three.r == pytest.approx(16 / 364**0.5)


def test_tables_reject_bad_input() -> None:
    with pytest.raises(TokbenchError, match="no column task"):
        averages(SMALL.drop("task"))
    with pytest.raises(TokbenchError, match="variant bpe, size 10, task copa is duplicated"):
        compare_pairs(pl.concat([SMALL, SMALL]))


def test_relative_to_a_baseline() -> None:
    rows = [("one", 8, 50.0, None), ("two", 8, 40.0, None), ("two", 9, 40.0, None), ("none", 8, None, "not run")]
    table = frame([(v, s, "c", "en", "ctc", "tokens", x, 1, why) for v, s, x, why in rows], INTRINSIC)
    relative = relative_to(table, "ctc", "one")
    assert relative["value"].to_list() == [1.0, 0.8, None, None]
    assert relative["reason"].to_list() == [None, None, "one has no value to divide by at this size", "not run"]
    assert relative["metric"].unique().to_list() == ["relative_ctc"]
    with pytest.raises(TokbenchError, match="'onne' is not a variant"):
        relative_to(table, "ctc", "onne")


def downstream(**changes: object) -> dict[str, object]:
    outcome = {"accuracy": 0.5, "stderr": 0.1, "n": 10, "random_baseline": 0.5}
    tasks = {"piqa": outcome | {"straddling": 2, "num_fewshot": 0}}
    return {"suite": "s", "model": "m", "variant": "v", "size": 300, "tasks": tasks, "bits_per_byte": 1.5} | changes


def test_accuracy_table_from_files(tmp_path: Path) -> None:
    first, second = tmp_path / "a.json", tmp_path / "b.json"
    write_result(first, downstream(perplexity=float("nan")))
    lacking = {"piqa": {"accuracy": None, "n": 0, "random_baseline": 0.5}}
    lacking["piqa"] |= {"stderr": None, "straddling": 0, "num_fewshot": 0}
    write_result(second, downstream(variant="u", tasks=lacking, bits_per_byte=None))
    table = accuracy_table([first, second])
    rows = [("u", 300, "m", "s", "piqa", None, 0.5, 0), ("v", 300, "m", "s", "piqa", 0.5, 0.5, 10)]
    assert table.select(list(ACCURACY)).equals(frame(rows))
    assert table.schema == pl.Schema(ACCURACIES.schema)
    assert table["stderr"].to_list() == [None, 0.1]
    assert bits_per_byte_table([first, second])["value"].to_list() == [None, 1.5]
    assert accuracy_table([]).schema == pl.Schema(ACCURACIES.schema)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"bad\.json:1:2: not JSON"),
        ("[" * 100_000, r"bad\.json: lists and objects are nested too deeply; make the result again"),
        (downstream(tasks=[]), r"bad\.json: a value of the wrong type for accuracy .*; make the result again"),
        ("[]", r"bad\.json: a JSON object is expected, found list"),
        (downstream(tasks={"piqa": {"accuracy": 1}}), r"bad\.json: no key random_baseline for table accuracy"),
        (downstream(size="big"), r"bad\.json: a value of the wrong type for accuracy.size"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: str | dict[str, object], message: str) -> None:
    path = tmp_path / "bad.json"
    if isinstance(content, str):
        path.write_text(content)
    else:
        write_result(path, content)
    with pytest.raises(TokbenchError, match=message):
        accuracy_table([path])


def test_intrinsic_table_from_files(tmp_path: Path) -> None:
    row = {"language": "en", "metric": "m", "definition": "d", "value": None, "n": 0, "reason": "why"}
    path = tmp_path / "v.json"
    write_result(path, {"variant": "v", "size": 300, "corpus": "c", "measurements": [row]})
    assert intrinsic_table([path]).equals(frame([("v", 300, "c", "en", "m", "d", None, 0, "why")], INTRINSIC))


# The published tables ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def accuracies() -> pl.DataFrame:
    wide = pl.read_csv(PUBLISHED / f"{PAPER}_accuracy.csv", infer_schema_length=None)
    parts = [pl.col(name) for name in ("vocab_construction", "initial_vocab", "pretokenization", "segmentation")]
    keys = ["variant", "size", "model"]
    return (
        wide.select(
            pl.concat_str(parts, separator=" ", ignore_nulls=True).alias("variant"),
            pl.col("vocab_size").alias("size"),
            pl.col("model_size").alias("model"),
            pl.exclude("model_size", "vocab_size", "published_average", *[part.meta.output_name() for part in parts]),
        )
        .unpivot(index=keys, variable_name="task", value_name="accuracy")
        .with_columns(suite=pl.lit("ten"), random_baseline=pl.lit(32.0), n=pl.lit(1, pl.Int64))
        .select(list(ACCURACY))
    )


@pytest.fixture(scope="module")
def main_runs(accuracies: pl.DataFrame) -> pl.DataFrame:
    return accuracies.filter(pl.col("model") == "350M", ~pl.col("variant").str.starts_with("RandTrain"))


@pytest.fixture(scope="module")
def ranked(main_runs: pl.DataFrame) -> dict[str, int]:
    return dict(averages(main_runs).select("variant", "rank").rows())


@pytest.fixture(scope="module")
def intrinsic(ranked: dict[str, int]) -> pl.DataFrame:
    names = {rank: variant for variant, rank in ranked.items()}
    return (
        pl.read_csv(PUBLISHED / f"{PAPER}_ctc_renyi.csv")
        .with_columns(variant=pl.col("rank").replace_strict(names), size=pl.col("vocab_size"))
        .drop("rank", "vocab_size", "average_accuracy")
        .unpivot(index=["variant", "size"], variable_name="metric", value_name="value")
        .with_columns(
            corpus=pl.lit("minipile"),
            language=pl.lit("en"),
            definition=pl.lit("published"),
            n=pl.lit(1, pl.Int64),
            reason=pl.lit(None, pl.String),
        )
        .select(list(INTRINSIC))
    )


def published(statistic: str) -> list[tuple[str, str, float]]:
    table = pl.read_csv(PUBLISHED / f"{PAPER}_statistics.csv")
    return table.filter(pl.col("statistic") == statistic).select("a", "b", "value").rows()


@needs_published
def test_published_ranks_and_averages(
    accuracies: pl.DataFrame, ranked: dict[str, int], intrinsic: pl.DataFrame
) -> None:
    assert sorted(ranked.values()) == list(range(1, 19))
    table = pl.read_csv(PUBLISHED / f"{PAPER}_ctc_renyi.csv").select("rank", "vocab_size", "average_accuracy")
    runs = averages_by_size(accuracies.filter(pl.col("model") == "350M")).with_columns(
        overall=pl.col("variant").replace_strict(ranked, default=None)
    )
    joined = table.join(runs, left_on=["rank", "vocab_size"], right_on=["overall", "size"])
    assert joined.height == 54
    assert (joined["average_accuracy"] - joined["average"]).abs().max() < 0.1
    assert (joined["above_random"] - joined["average"] + 32).abs().max() < 1e-9


@needs_published
def test_published_ranks_of_the_1_3b_models(accuracies: pl.DataFrame) -> None:
    ours = averages(accuracies.filter(pl.col("model") == "1.3B"))
    assert ours["average"].to_list() == pytest.approx([53.1, 52.4, 52.2, 50.7, 49.2, 47.6, 46.3], abs=0.06)
    names = pl.concat_str(
        "vocab_construction", "initial_vocab", "pretokenization", "segmentation", separator=" ", ignore_nulls=True
    )
    theirs = pl.read_csv(PUBLISHED / f"{PAPER}_model_sizes.csv").with_columns(variant=names)
    joined = ours.join(theirs, on="variant")
    assert joined.height == 6
    assert joined["rank"].to_list() == joined["1.3B_rank"].to_list()


@needs_published
def test_variants_at_one_size_only_get_no_overall_rank(accuracies: pl.DataFrame) -> None:
    table = averages(accuracies.filter(pl.col("model") == "350M")).filter(pl.col("rank").is_null())
    assert table.height == 8
    assert table["variant"].str.starts_with("RandTrain").all()
    assert table["reason"][0] == "missing: 32768/arc_easy, 32768/copa, 32768/mathqa and 17 more"


@needs_published
def test_published_p_values_over_thirty_cells(main_runs: pl.DataFrame, ranked: dict[str, int]) -> None:
    """The tables are rounded to 0.1, which moves the far tail most: 4 against 13 gives 5.4e-6 for 8.8e-6."""
    pairs = compare_pairs(main_runs)
    found = {(f"rank {ranked[a]}", f"rank {ranked[b]}"): p for a, b, p in pairs.select("a", "b", "p_value").rows()}
    assert len(found) == 18 * 17
    rows = published("wilcoxon_p")
    assert len(rows) == 10
    for a, b, value in rows:
        assert found[a, b] == pytest.approx(value, rel=0.5 if (a, b) == ("rank 4", "rank 13") else 0.11), (a, b)
    assert found["rank 2", "rank 17"] == pytest.approx(2.94e-6, abs=5e-9)
    assert found["rank 7", "rank 17"] == pytest.approx(2.88e-6, abs=5e-9)


@needs_published
def test_published_p_values_over_ten_cells(accuracies: pl.DataFrame) -> None:
    """Eight of nine agree to the last printed digit; the ninth is one step of the statistic away."""
    runs = accuracies.filter(pl.col("model") == "350M", pl.col("size") == 40960)
    found = {(a, b): p for a, b, p in compare_pairs(runs, null="untied").select("a", "b", "p_value").rows()}
    rows = published("wilcoxon_p_40960")
    off = [(a, b, found[a, b]) for a, b, value in rows if float(f"{found[a, b]:.3g}") != value]
    one_step = 3 / 1024
    assert len(rows) == 9
    assert off == [("RandTrain n-gram FirstSpace Greedy", "RandTrain n-gram FirstSpace PathPieceL", one_step)]


@needs_published
def test_published_r_squared_between_sizes(main_runs: pl.DataFrame) -> None:
    table = between_sizes(main_runs)
    assert table["n"].to_list() == [18, 18, 18]
    found = {(f"{a} accuracy", f"{b} accuracy"): r for a, b, r in table.select("size_a", "size_b", "r_squared").rows()}
    for a, b, value in published("r_squared"):
        assert found[a, b] == pytest.approx(value, abs=0.002), (a, b)
    assert [round(value, 3) for value in found.values()] == [0.752, 0.834, 0.801]


@needs_published
def test_published_correlations(main_runs: pl.DataFrame, intrinsic: pl.DataFrame) -> None:
    column = {"CTC": "corpus_token_count_billions"} | {
        f"Renyi efficiency {a}": f"renyi_{a}" for a in (1.5, 2.0, 2.5, 3.0, 3.5)
    }
    table = metric_with_accuracy(intrinsic, main_runs)
    assert (table["n"] == 54).all()
    found = dict(table.select("metric", "r").rows())
    both = {frozenset(row[:2]): row[2] for row in between_metrics(intrinsic).select("metric_a", "metric_b", "r").rows()}
    rows = published("pearson_r")
    assert len(rows) == 7
    for a, b, value in rows:
        ours = found[column[a]] if b == "average accuracy" else both[frozenset((column[a], column[b]))]
        assert ours == pytest.approx(value, abs=0.0015), (a, b)
