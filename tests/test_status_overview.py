"""The overview of a run: times, what is left, the last messages of logs, and its JSON."""

import re
from pathlib import Path

import pytest

from tests.support.plans import BENCHMARK, job, plan_of, put
from tests.support.workflow.checkout import ROOT
from tokbench.status.overview import as_json, overview
from tokbench.status.page import page
from tokbench.status.terminal import overview_text
from tokbench.status.times import Times, last_message, times


def test_times_and_what_is_left(tmp_path: Path) -> None:
    """By the mean of the stage's jobs that are done; nothing is made up where none is."""
    jobs = [*(job(name) for name in "abcd"), job("e")._replace(stage="other", wildcards={})]
    for name, wall in (("a", 1.0), ("b", 4.0)):
        put(tmp_path / f"results/x/made/{name}")
        put(tmp_path / f"results/x/benchmarks/make/{name}.tsv", BENCHMARK.format(wall, wall / 2))
    found = overview(plan_of(tmp_path, *jobs))
    make, other = found.stages
    assert (make.wall, make.cpu, make.left) == (5.0, 2.5, 5.0)
    assert make.longest is not None
    assert make.longest.job.name == "make b"
    assert (other.left, found.unknown, found.total.left) == (None, ["other"], 5.0)
    text = overview_text(found)
    assert re.search(r"^make +4 +2 +2 +5\.0 s +2\.5 s +4\.0 s +~5\.0 s$", text, re.MULTILINE)
    assert re.search(r"^all +5 .* >5\.0 s$", text, re.MULTILINE)
    assert "estimate" in text
    shown = page(found)
    assert "<td>make b</td><td>4.0 s</td>" in shown
    assert 'name="viewport"' in shown
    assert shown.count("<main>") == 1
    assert shown.count("<table>") == shown.count('class="scrolls" tabindex="0" role="region" aria-label=') == 2


def test_processors_of_jobs_that_are_too_short(tmp_path: Path) -> None:
    """The engine writes 0: that is not known, and a sum without it a lower bound."""
    jobs = [job("a"), job("b"), job("c")._replace(stage="other")]
    for name, wall, cpu in (("a", "4", "2"), ("b", "0.2", "0.00"), ("c", "0.3", "0.00")):
        put(tmp_path / f"results/x/made/{name}")
        put(tmp_path / f"results/x/benchmarks/make/{name}.tsv", BENCHMARK.format(wall, cpu))
    found = overview(plan_of(tmp_path, *jobs))
    assert [(stage.cpu, stage.cpu_whole) for stage in (*found.stages, found.total)] == [
        (2.0, False),
        (None, False),
        (2.0, False),
    ]
    text = overview_text(found)
    assert re.search(r"^make +2 +2 +4\.2 s +>2\.0 s +4\.0 s +–$", text, re.MULTILINE)
    assert re.search(r"^other +1 +1 +0\.3 s +– +0\.3 s +–$", text, re.MULTILINE)
    assert "<td>make b</td><td>0.2 s</td><td>–</td>" in page(found)
    assert [one["cpu_s"] for one in as_json(found)["stages"]] == [2.0, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (BENCHMARK.format("1.5", "0.5"), Times(1.5, 0.5)),
        (BENCHMARK.format("1.5", "NA"), Times(1.5, None)),
        (BENCHMARK.format("0.22", "0.00"), Times(0.22, None)),
        ("", None),
        ("s\tcpu_time\n", None),
        ("something else\n1\n", None),
    ],
)
def test_benchmarks(text: str, expected: Times | None, tmp_path: Path) -> None:
    assert times(str(put(tmp_path / "one.tsv", text))) == expected


def test_the_last_message_of_a_log(tmp_path: Path) -> None:
    assert last_message(str(tmp_path / "none")) is None
    assert last_message(str(put(tmp_path / "empty", "\n \n"))) is None
    assert last_message(str(put(tmp_path / "long", "x\n" * 9999 + "\x1b[31mlast\n\n"))) == "?[31mlast"


def test_json_is_as_documented(tmp_path: Path) -> None:
    told = as_json(overview(plan_of(tmp_path, job("a"))))
    page_text = (ROOT / "docs" / "status.md").read_text()
    documented = re.findall(r"^\| `([\w.\[\]]+)` \|", page_text, re.MULTILINE)
    keys = [*told]
    keys += [f"run.{key}" for key in told["run"]] + [f"stages[].{key}" for key in told["stages"][0]]
    keys += [f"jobs[].{key}" for key in told["jobs"][0]]
    assert sorted(documented) == sorted(keys)
    assert told["total"].keys() == told["stages"][0].keys()
