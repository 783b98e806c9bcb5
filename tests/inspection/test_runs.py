"""Comparison of runs: kinds of changes, paired tests, parts of only one run, and the output."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy.stats import ttest_rel

import tokbench as library
from tests.conftest import Tokbench
from tests.support.rules import PAGE, documented, keys_of
from tests.support.small_report import DECLARED, accuracy, intrinsic, ngram_bits, ngram_documents, outcomes, whole
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.output import comparison_text, page
from tokbench.inspection.comparison.runs import RunComparison, compare_runs, compare_several, read_run
from tokbench.statistics.significance.eligibility import ONE_TRAINING, TWO_TRAININGS
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.tabulation.documents import ALIGNMENT_BY_WORD
from tokbench.tabulation.intrinsic import INTRINSIC

BY_NAME = {table.name: table for table in DECLARED}
Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function that writes a run with some changed tables."""

    def run(name: str, **frames: pl.DataFrame) -> Path:
        every = {"intrinsic": intrinsic(), "accuracy": accuracy(), "outcomes": outcomes(), **frames}
        for table, frame in every.items():
            folder = tmp_path / name / BY_NAME[table].folder
            folder.mkdir(parents=True, exist_ok=True)
            frame.write_parquet(folder / f"{table}.parquet")
        return tmp_path / name

    return run


def compared(a: Path, b: Path) -> RunComparison:
    return compare_runs(*(read_run(folder, folder.name, DECLARED) for folder in (a, b)), DECLARED)


def test_results_in_python(write: Write, tmp_path: Path) -> None:
    folder = write("a")
    results = library.read_results(folder)
    assert [*results] == [name for name in BY_NAME if name in ("intrinsic", "accuracy", "outcomes")]
    assert results["intrinsic"].equals(intrinsic().select(list(INTRINSIC.schema)))
    assert results["intrinsic"] is results["intrinsic"]
    assert repr(results) == f"Results({str(folder)!r}, 3 tables)"
    assert "<td>outcomes</td>" in results._repr_html_()
    assert ("intrinsic" in results, "bits" in results) == (True, False)
    with pytest.raises(TokbenchError, match=r"'intrinsics' is not a table .* Did you mean 'intrinsic'"):
        results["intrinsics"]
    with pytest.raises(TokbenchError, match="no tables of an experiment; name a folder such as results/demo"):
        library.read_results(tmp_path / "nothing")


def test_a_run_beside_itself(write: Write, tokbench: Tokbench) -> None:
    done = tokbench("compare_experiments", write("a"), write("b"))
    assert done.status == 0, done.stderr
    found = compared(write("a"), write("b"))
    values = intrinsic()["value"].drop_nulls().len()
    scores = accuracy().select("accuracy", "random_baseline", "stderr", "num_fewshot", "straddling")
    assert found.same == values + sum(column.drop_nulls().len() for column in scores)
    assert f"All {found.same:,} common cells are equal." in done.stdout.decode()
    assert not found.changes()


def test_counts_and_single_numbers(write: Write, tokbench: Tokbench) -> None:
    """A changed count is exact; another number without an interval is a single number."""
    of_bpe = (pl.col("variant") == "bpe") & (pl.col("size") == 1024)
    changed = intrinsic().with_columns(
        value=pl.when(of_bpe & (pl.col("metric") == "corpus_token_count")).then(pl.col("value") + 7)
        .when(of_bpe & (pl.col("metric") == "renyi_efficiency_2.5")).then(pl.col("value") + 0.125)
        .otherwise("value")
    )  # fmt: skip
    a, b = write("a"), write("b", intrinsic=changed)
    found = compared(a, b)
    told = {change.judgement: (change.where["metric"], change.difference) for change in found.changes()}
    assert told == {"exact": ("corpus_token_count", 7), "single number": ("renyi_efficiency_2.5", 0.125)}
    shown = page(found)
    assert '<th scope="col">B − A</th>' in shown
    assert '<th scope="col">interval</th>' not in shown, "a column of dashes alone"
    done = tokbench("compare_experiments", a, b)
    assert done.status == 1
    text = done.stdout.decode()
    assert "1 count changed, 1 single number changed;" in text
    assert "118,976  118,983     +7" in text


def noisy(shift: float, seed: int = 0, documents: int = 30) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return noisy bits per document and in total, with a different shift for each model."""
    rng = np.random.default_rng(seed)
    one = ngram_documents().filter(pl.col("document") == 0, order=2, training_bytes=100_000)
    many = pl.concat([one.with_columns(document=pl.lit(place, pl.Int64)) for place in range(documents)])
    many = many.with_columns(
        bits=pl.col("bits") + rng.normal(0, 1, len(many)) + shift * (pl.col("variant") == "sage"), language=pl.lit("")
    )
    keys = ["variant", "size", "corpus", "order", "training_bytes"]
    sums = many.group_by(keys).agg(value=pl.col("bits").sum() / pl.col("bytes").sum())
    aggregated = ngram_bits().filter(language="").drop("value").join(sums, on=keys)
    return many.select(ngram_documents().columns), aggregated.select(ngram_bits().columns)


def test_documents_are_paired_and_corrected(write: Write, tokbench: Tokbench) -> None:
    """Noise is not a change; a shift in every document is, for the affected tokenizer."""
    (before, bits_before), (after, bits_after) = noisy(0), noisy(3, seed=1)
    a = write("a", ngram_documents=before, ngram_bits=bits_before)
    b = write("b", ngram_documents=after, ngram_bits=bits_after)
    found = compared(a, b)
    changes = [change for change in found.changes() if change.table.name == "ngram_bits"]
    assert {(change.where["variant"], change.judgement) for change in changes} == {
        ("sage", "beyond noise"), ("bpe", "within noise"), ("random", "within noise"),
        ("unigram_greedy", "within noise"),
    }  # fmt: skip
    for change in changes:
        key = {name: change.where[name] for name in ("variant", "size")}
        bits = [frame.filter(**key).sort("document")["bits"].to_numpy() for frame in (before, after)]
        assert change.p_value == pytest.approx(ttest_rel(*bits).pvalue, rel=0.15, abs=1e-3)
        assert change.n == 30
        assert change.low is not None
        assert change.low < change.difference
    assert [change.holm for change in changes] == holm([change.p_value for change in changes]).tolist()
    only_noise = write("c", **dict(zip(("ngram_documents", "ngram_bits"), noisy(0, seed=2), strict=True)))
    assert tokbench("compare_experiments", a, only_noise).status == 0


def test_other_documents_are_not_paired(write: Write) -> None:
    (before, bits_before), (after, bits_after) = noisy(0), noisy(3, seed=1)
    a = write("a", ngram_documents=before, ngram_bits=bits_before)
    b = write("b", ngram_documents=after.with_columns(pl.col("bytes") + 1), ngram_bits=bits_after)
    assert {change.judgement for change in compared(a, b).changes()} == {"single number"}
    assert {change.judgement for change in compared(a, write("c", ngram_bits=bits_after)).changes()} == {
        "single number"
    }


def test_answers_of_one_training_are_not_tested(write: Write, tokbench: Tokbench) -> None:
    """With one training per run, the change has an interval over questions, but no verdict."""
    right = pl.col("correct") | (pl.col("variant") == "random") & (pl.col("document") < 9)
    better = outcomes().with_columns(correct=right)
    shares = [
        frame.group_by("variant", "size", "model", "suite", "task").agg(accuracy=pl.col("correct").mean())
        for frame in (outcomes(), better)
    ]
    scores = [accuracy().drop("accuracy").join(one, on=["variant", "size", "model", "suite", "task"]) for one in shares]
    a = write("a", accuracy=scores[0])
    b = write("b", accuracy=scores[1], outcomes=better)
    found = [change for change in compared(a, b).changes() if change.column.name == "accuracy"]
    assert {(change.where["variant"], change.n) for change in found} == {("random", 10)}
    assert {(change.judgement, change.reason) for change in found} == {("not tested", ONE_TRAINING)}
    assert all(change.holm is change.p_value is None for change in found)
    assert all(change.low is not None for change in found)
    done = tokbench("compare_experiments", a, b)
    assert done.status == 1
    text = done.stdout.decode()
    assert f"{len(found)} changed, not tested (too few trainings);" in text
    assert "Changed, not tested: one training, or two; another seed can change the numbers." in text


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_intervals_of_models_need_three_seeds(write: Write, seeds: int) -> None:
    """Disjoint intervals of the scoreboard are a change beyond noise only with three seeds."""
    rows = (
        whole()
        .frames["task_measures"]
        .filter(measure="accuracy", task="")
        .drop_nulls("low")
        .with_columns(model=pl.lit("tiny" if seeds == 1 else f"tiny ({seeds} seeds)"), seeds=pl.lit(seeds, pl.Int64))
    )
    moved = rows.with_columns(pl.col("value", "low", "high") / 100)
    found = compared(write("a", task_measures=rows), write("b", task_measures=moved)).changes()
    reason = {1: ONE_TRAINING, 2: TWO_TRAININGS, 3: ""}[seeds]
    wanted = "beyond noise" if seeds == 3 else "not tested"
    assert {(one.judgement, one.reason) for one in found if one.interval_a} == {(wanted, reason)}


def test_agreement_with_morphemes_is_paired_by_words(write: Write) -> None:
    """For each resource and for the mean, but not if the groups of words differ, as with other gold data."""
    rng = np.random.default_rng(2)
    right = rng.integers(1, 4, 50)
    better = right + (rng.random(50) < 0.5)

    def run(name: str, right: np.ndarray[Any, Any], words: int = 1) -> Path:
        counts = {"word": range(50), "words": [words] * 50, "right": right, "wrong": [1] * 50, "missed": [2] * 50}
        head = {"variant": ["bpe"] * 50, "size": [1024] * 50, "corpus": ["gold"] * 50}
        value = right.sum() / (right.sum() + 75)
        row = {"variant": "bpe", "size": 1024, "language": "", "metric": "morphological_alignment", "definition": "F1"}
        row |= {"value": value, "n": 50, "reason": None}
        measured = [row | {"corpus": name} for name in ("all resources", "gold")]
        measured += [row | {"corpus": "gold"} | other for other in ({"metric": "others"}, {"language": "en"})]
        frame = pl.DataFrame(measured, schema=INTRINSIC.schema)
        by_word = pl.DataFrame(head | counts, schema=ALIGNMENT_BY_WORD.schema)
        return write(name, intrinsic=frame, **{"alignment_by_word": by_word} if words else {})

    a, b = run("a", right), run("b", better)
    *found, language, metric = sorted(compared(a, b).changes(), key=lambda change: change.n is None)
    assert language.judgement == metric.judgement == "single number"
    assert len(found) == 2
    for change in found:
        assert (change.judgement, change.n, change.difference > 0) == ("beyond noise", 50, True)
        assert change.low is not None
        assert change.high is not None
        assert change.low < change.difference < change.high
    for words in (2, 0):
        told = compared(a, run(f"c{words}", better, words)).changes()
        assert [change.judgement for change in told] == ["single number"] * 4


def test_all_or_nothing_of_a_share_is_no_count(write: Write) -> None:
    whole = intrinsic().filter(metric="renyi_efficiency_2.5", variant="bpe", size=1024)
    none, all_of_it = (whole.with_columns(value=pl.lit(value)) for value in (0.0, 1.0))
    [change] = compared(write("a", intrinsic=none), write("b", intrinsic=all_of_it)).changes()
    assert change.judgement == "single number"


def test_intervals_that_lie_apart(write: Write) -> None:
    intervals = whole().frames["intervals"].with_columns(model=pl.lit("tiny (3 seeds)"))
    near = intervals.with_columns(pl.col("average") + 0.001)
    lower, higher, far, beyond = (
        intervals.with_columns(pl.col("average", "low", "high") + by) for by in (-0.0001, 0.0001, -0.3, 0.3)
    )
    lacking = near.with_columns(low=pl.lit(None, pl.Float64), high=pl.lit(None, pl.Float64))
    a = write("a", intervals=intervals)
    for other, judgement in (
        *((one, "within noise") for one in (near, lower, higher)),
        *((one, "beyond noise") for one in (far, beyond)),
        (lacking, "single number"),
    ):
        found = compared(a, write("b", intervals=other))
        assert {change.judgement for change in found.changes()} == {judgement}


def test_what_only_one_has(write: Write, tokbench: Tokbench) -> None:
    """Rows, numbers, names and tables."""
    fewer = intrinsic().filter(pl.col("variant") != "sage")
    scored = accuracy().with_columns(pl.col("accuracy").fill_null(0.5))
    a, b = write("a", bounds=whole().frames["bounds"]), write("b", intrinsic=fewer, accuracy=scored)
    found = compared(a, b)
    rows = {one.table.name: (len(one.only_a), len(one.only_b)) for one in found.tables}
    assert rows == {"intrinsic": (len(intrinsic()) - len(fewer), 0), "accuracy": (0, 1)}
    assert list(found.tables_a) == ["bounds"]
    text = comparison_text(found)
    assert "Only A has the table bounds." in text
    assert "Only B has 1 row of the common tables." in text
    assert tokbench("compare_experiments", a, b).status == 1


def test_what_made_them(write: Write) -> None:
    """Versions, revisions, corpora and vocabularies are read from the run's other files."""
    runs = [write("a"), write("b")]
    for run, revision in zip(runs, ("old", "new"), strict=True):
        folder = run / "tokenizers" / "bpe" / "1024"
        folder.mkdir(parents=True)
        made: dict[str, Any] = {"versions": {"numpy": "2.1.0"}, "revision": revision, "hardware": {"python": "3.11.7"}}
        (folder / "manifest.json").write_text(json.dumps(made))
        (folder / "tokbench.json").write_text(json.dumps({"sha256": revision, "weight": float("nan")}))
    found = compared(*runs)
    assert found.versions == {"source revision": ("old", "new")}
    assert found.tokenizers == {"bpe/1024": ("old", "new")}
    assert "1 tokenizer with different vocabularies or settings: bpe/1024" in comparison_text(found)
    assert "source revision: A old, B new\n" in comparison_text(found)


def test_side_by_side_for_programs(write: Write, tokbench: Tokbench, tmp_path: Path) -> None:
    (before, bits_before), (after, bits_after) = noisy(0), noisy(3, seed=1)
    a = write("a", ngram_documents=before, ngram_bits=bits_before, bounds=whole().frames["bounds"])
    b = write("b", ngram_documents=after, ngram_bits=bits_after, intrinsic=intrinsic().filter(size=1024))
    done = tokbench("compare_experiments", a, b, "--json", "-o", tmp_path / "page.html")
    found = json.loads(done.stdout, parse_constant=pytest.fail)
    assert (done.status, found["differs"], found["changed"]["beyond noise"]) == (1, True, 2)
    assert found["format"] == 1
    names = {name for name in keys_of(found) if ".key." not in name and not name.startswith("changed.")}
    assert names <= documented("compare_experiments")
    assert {name for name in documented("compare_experiments") if name.startswith("changes[]")} <= names
    text = (tmp_path / "page.html").read_text()
    assert text.count("<tr>") == len(found["changes"]) + len([name for name, n in found["changed"].items() if n])
    assert "href" not in text
    assert "<script" not in page(compared(a, write("<script>x"))).replace("&lt;script", "")


def test_several_runs_beside_the_first(write: Write, tokbench: Tokbench, tmp_path: Path) -> None:
    """Each run has a column; p-values are corrected over the tests of all runs."""
    (before, bits_before), (after, bits_after) = noisy(0), noisy(3, seed=1)
    of_bpe = (pl.col("variant") == "bpe") & (pl.col("metric") == "corpus_token_count") & (pl.col("size") == 1024)
    longer = intrinsic().with_columns(value=pl.when(of_bpe).then(pl.col("value") + 7).otherwise("value"))
    runs = [
        write("a", ngram_documents=before, ngram_bits=bits_before),
        write("b", ngram_documents=after, ngram_bits=bits_after),
        write("c", ngram_documents=before, ngram_bits=bits_before, intrinsic=longer),
        write("d", **dict(zip(("ngram_documents", "ngram_bits"), noisy(0, seed=2), strict=True))),
    ]
    found = compare_several([read_run(run, run.name, DECLARED) for run in runs], DECLARED)
    tests = [change for one in found.comparisons for change in one.changes() if change.p_value is not None]
    by_run = [sum(change.p_value is not None for change in one.changes()) for one in found.comparisons]
    assert by_run[1] == 0 < min(by_run[0], by_run[2])
    assert [change.holm for change in tests] == holm([change.p_value for change in tests]).tolist()
    done = tokbench("compare_experiments", *runs, "-o", tmp_path / "page.html")
    text = done.stdout.decode()
    assert done.status == 1
    assert "C compared with A\n  Of " in text
    line = next(line for line in text.splitlines() if "corpus_token_count" in line)
    assert line.split()[-4:] == ["118,976", "=", "118,983", "="]
    told = [line for line in text.splitlines() if line.startswith("  ngram_bits") and "sage" in line]
    assert all(line.count("!") == 1 and line.rstrip().endswith("≈") for line in told)
    page = (tmp_path / "page.html").read_text()
    assert page.count("<tr>") == len(found.cells()) + 1
    found_json = json.loads(tokbench("compare_experiments", *runs, "--json").stdout)
    assert set(found_json) == {"format", "runs", "differs", "comparisons"} == documented_in("Three experiments")
    assert [one["b"] for one in found_json["comparisons"]] == ["b", "c", "d"]
    assert tokbench("compare_experiments", runs[0], runs[0], runs[0]).status == 0


def documented_in(title: str) -> set[str]:
    body = PAGE.read_text(encoding="utf-8").partition(f"## {title}")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", body, re.MULTILINE))


def test_keys_tell_rows_apart() -> None:
    """The keys of every table of the small report are unique."""
    frames = whole().frames
    there = [table for table in DECLARED if table.keys and table.name in frames]
    assert len(there) > 8
    for table in there:
        assert frames[table.name].select(table.keys).is_unique().all(), table.name


def test_what_is_no_run(write: Write, tmp_path: Path, tokbench: Tokbench) -> None:
    assert tokbench("compare_experiments", write("a"), tmp_path).message.endswith(
        "no tables of an experiment; name a folder such as results/demo"
    )
    twice = write("b", intrinsic=pl.concat([intrinsic(), intrinsic()]))
    with pytest.raises(TokbenchError, match="two rows have the same variant, size"):
        read_run(twice, "b", DECLARED)
