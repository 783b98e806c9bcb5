"""Comparison of runs: values that differ, parts of only one run, provenance, and the output."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tokbench as library
from tests.conftest import Tokbench
from tests.support.rules import PAGE, documented, keys_of
from tests.support.small_report import DECLARED, accuracy, intrinsic, outcomes, whole
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.output import comparisons_page, comparisons_text
from tokbench.inspection.comparison.runs import RunComparison, compare_runs, read_run
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
    first, second = (read_run(folder, folder.name, DECLARED) for folder in (a, b))
    return compare_runs(first, second, DECLARED)


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


def test_equal_runs_have_no_changes(write: Write, tokbench: Tokbench) -> None:
    done = tokbench("compare_experiments", write("a"), write("b"))
    assert done.status == 0, done.stderr
    comparison = compared(write("a"), write("b"))
    values = intrinsic()["value"].drop_nulls().len()
    scores = accuracy().select("accuracy", "random_baseline", "stderr", "num_fewshot", "straddling")
    assert comparison.same == values + sum(column.drop_nulls().len() for column in scores)
    assert f"All {comparison.same:,} common values are equal." in done.stdout.decode()
    assert not comparison.changes


def changed_intrinsic() -> pl.DataFrame:
    """Return metrics of which a count and a share of one tokenizer differ."""
    of_bpe = (pl.col("variant") == "bpe") & (pl.col("size") == 1024)
    count, share = (of_bpe & (pl.col("metric") == name) for name in ("corpus_token_count", "renyi_efficiency_2.5"))
    by = pl.when(count).then(7.0).when(share).then(0.125).otherwise(0.0)
    return intrinsic().with_columns(value=pl.col("value") + by)


def test_changed_values_are_listed_with_both_values(write: Write, tokbench: Tokbench) -> None:
    a, b = write("a"), write("b", intrinsic=changed_intrinsic())
    comparison = compared(a, b)
    changes = {change.key["metric"]: change.difference for change in comparison.changes}
    assert changes == {"corpus_token_count": 7, "renyi_efficiency_2.5": 0.125}
    done = tokbench("compare_experiments", a, b)
    assert done.status == 1
    text = done.stdout.decode()
    assert f"Of {comparison.same + 2:,} common values, 2 differ." in text
    assert "intrinsic: 2 changes\n" in text
    assert re.search(r"corpus_token_count.* 118,976 +118,983 +\+7\n", text)
    assert "interval" not in text
    shown = comparisons_page([comparison])
    assert '<th scope="col">B − A</th>' in shown
    assert "interval of A" not in shown


@pytest.mark.parametrize(("every", "shown"), [(False, 20), (True, 24)])
def test_text_lists_twenty_changes_of_a_table_or_all(write: Write, every: bool, shown: int) -> None:
    """Each tokenizer's ordinary metrics come before parts of its distributions."""
    rows = pl.concat([intrinsic().drop_nulls("value").head(1)] * 24).with_columns(
        size=pl.int_range(24, dtype=pl.Int64), metric=pl.Series(["venn_region"] * 12 + ["others"] * 12)
    )
    a, b = write("a", intrinsic=rows), write("b", intrinsic=rows.with_columns(pl.col("value") + 1))
    comparison = compared(a, b)
    assert [change.key["metric"] for change in comparison.changes] == ["others"] * 12 + ["venn_region"] * 12
    text = comparisons_text([comparison], every=every)
    assert sum(" value " in line and "+1" in line for line in text.splitlines()) == shown
    assert ("and 4 more changes; --all lists every one" in text) is not every


def test_intervals_are_shown_but_not_compared(write: Write) -> None:
    intervals = whole().frames["intervals"].drop_nulls("low").head(1)
    wider = intervals.with_columns(low=pl.col("low") - 0.01)
    a, moved = write("a", intervals=intervals), wider.with_columns(pl.col("average") + 0.001)
    assert not compared(a, write("b", intervals=wider)).changes
    [change] = compared(a, write("c", intervals=moved)).changes
    [row] = intervals.rows(named=True)
    assert change.interval_a == (row["low"], row["high"])
    assert change.interval_b == (row["low"] - 0.01, row["high"])
    assert "interval of B" in comparisons_text([compared(a, write("c", intervals=moved))])


def test_rows_values_and_tables_of_only_one_run_are_listed(write: Write, tokbench: Tokbench) -> None:
    fewer = intrinsic().filter(pl.col("variant") != "sage")
    scored = accuracy().with_columns(pl.col("accuracy").fill_null(0.5))
    a, b = write("a", bounds=whole().frames["bounds"]), write("b", intrinsic=fewer, accuracy=scored)
    comparison = compared(a, b)
    assert {table.name for table, _ in comparison.only_a.rows} == {"intrinsic"}
    assert len(comparison.only_a.rows) == len(intrinsic()) - len(fewer)
    assert {key["variant"] for _, key in comparison.only_a.rows} == {"sage"}
    assert not comparison.only_b.rows
    assert [(change.a, change.b, change.difference) for change in comparison.changes] == [(None, 0.5, None)]
    text = comparisons_text([comparison])
    assert f"Only A has {len(comparison.only_a.rows)} rows of the common tables." in text
    assert "Only A has the table bounds." in text
    assert tokbench("compare_experiments", a, b).status == 1


def test_differences_in_provenance_are_listed(write: Write) -> None:
    """Versions, revisions and tokenizers are read from the run's other files."""
    runs = [write("a"), write("b")]
    for run, revision in zip(runs, ("old", "new"), strict=True):
        folder = run / "tokenizers" / "bpe" / "1024"
        folder.mkdir(parents=True)
        made: dict[str, Any] = {"versions": {"numpy": "2.1.0"}, "revision": revision, "hardware": {"python": "3.11.7"}}
        (folder / "manifest.json").write_text(json.dumps(made))
        (folder / "tokbench.json").write_text(json.dumps({"sha256": revision, "weight": float("nan")}))
    comparison = compared(*runs)
    assert comparison.versions == {"source revision": ("old", "new")}
    assert comparison.tokenizers == {"bpe/1024": ("old", "new")}
    text = comparisons_text([comparison])
    assert "1 tokenizer with different vocabularies or settings: bpe/1024" in text
    assert "source revision: A old, B new\n" in text


def test_json_has_the_documented_keys_and_the_page_all_changes(
    write: Write, tokbench: Tokbench, tmp_path: Path
) -> None:
    a = write("a", bounds=whole().frames["bounds"])
    b = write("b", intrinsic=changed_intrinsic().filter(size=1024))
    done = tokbench("compare_experiments", a, b, "--json", "-o", tmp_path / "page.html")
    values = json.loads(done.stdout, parse_constant=pytest.fail)
    assert (done.status, values["differs"], len(values["changes"]), values["format"]) == (1, True, 2, 2)
    names = {name for name in keys_of(values) if ".key." not in name}
    assert names <= documented("compare_experiments")
    assert {name for name in documented("compare_experiments") if name.startswith("changes[]")} <= names
    page = (tmp_path / "page.html").read_text()
    assert page.count("<tr>") == len(values["changes"]) + 1
    assert "href" not in page
    assert "<script" not in comparisons_page([compared(a, write("<script>x"))])


def test_several_runs_are_each_compared_with_the_first(write: Write, tokbench: Tokbench, tmp_path: Path) -> None:
    runs = [write("a"), write("b"), write("c", intrinsic=changed_intrinsic())]
    done = tokbench("compare_experiments", *runs, "-o", tmp_path / "page.html")
    text = done.stdout.decode()
    assert done.status == 1
    assert re.search(r"B: b\n\nAll .* common values are equal\.", text)
    assert re.search(r"C: c\n\nOf .* common values, 2 differ\.", text)
    assert "<h2>C is c</h2>" in (tmp_path / "page.html").read_text()
    values = json.loads(tokbench("compare_experiments", *runs, "--json").stdout)
    assert set(values) == {"format", "runs", "differs", "comparisons"} == documented_in("Three experiments")
    assert [comparison["b"] for comparison in values["comparisons"]] == ["b", "c"]
    assert tokbench("compare_experiments", runs[0], runs[0], runs[0]).status == 0


def documented_in(title: str) -> set[str]:
    body = PAGE.read_text(encoding="utf-8").partition(f"## {title}")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", body, re.MULTILINE))


def test_keys_of_every_table_are_unique() -> None:
    frames = whole().frames
    tables = [table for table in DECLARED if table.keys and table.name in frames]
    assert len(tables) > 8
    for table in tables:
        assert frames[table.name].select(table.keys).is_unique().all(), table.name


def test_folders_without_tables_and_duplicate_rows_are_rejected(
    write: Write, tmp_path: Path, tokbench: Tokbench
) -> None:
    assert tokbench("compare_experiments", write("a"), tmp_path).message.endswith(
        "no tables of an experiment; name a folder such as results/demo"
    )
    twice = write("b", intrinsic=pl.concat([intrinsic(), intrinsic()]))
    with pytest.raises(TokbenchError, match="two rows have the same variant, size"):
        read_run(twice, "b", DECLARED)
