"""``tokbench`` in shell rules: the package of the running interpreter, for arguments of any length.

``tokbench init``: a folder from which the installed workflow runs.

The measurement of scale: its fits and extrapolations on planted numbers, its text, its jobs and its page.
"""

import base64
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from snakemake.utils import format as filled

from benchmarks.scale import page, run
from benchmarks.scale.growth import (
    AT_ONCE,
    STAGES,
    expected,
    fit,
    growths,
    makespan,
    pooled,
    student,
    taken,
    vocabulary,
)
from benchmarks.scale.page import by_stage
from benchmarks.scale.plan import BY_RECIPE, CORPORA, job, of_rule
from benchmarks.scale.run import START
from benchmarks.scale.text import cut, write
from tests.conftest import Tokbench
from tests.support.library_tokenizers import byte_level, written
from tests.support.rules import RULES
from tests.support.workflow.checkout import ROOT
from tokbench.config.load import validate
from tokbench.stage import stages
from tokbench.workflow.byte_lms import MEMORY, SCORING
from tokbench.workflow.resources import MAX_RUNTIME
from tokbench.workflow.shell import FILES, SNAKEFILE, shell_prefix

ODD = ["", "a b", "$(touch pwned)", "'", '"', "\\", "-x", "@y", "*", "a\nb", "東京"]


LEAVES = """import sys
from pathlib import Path

arguments = Path(sys.argv[1][1:]).read_text().removesuffix("\\0").split("\\0")
Path(arguments[arguments.index("-o") + 1]).write_text("\\0".join(arguments))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a package ``tokbench`` that only leaves its arguments, and a command of that name."""
    (tmp_path / "tokbench").mkdir()
    (tmp_path / "tokbench" / "__init__.py").touch()
    (tmp_path / "tokbench" / "__main__.py").write_text(LEAVES)
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "tokbench"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} {tmp_path}/tokbench/__main__.py "$@"\n')
    command.chmod(0o755)
    return tmp_path


def received(folder: Path, script: str, *, apart: bool = False, path: str = os.defpath) -> list[str]:
    """The arguments that reach the command which ``script`` calls after the prefix."""
    (folder / "script").write_text(shell_prefix(separate=apart).format() + script)
    environment = os.environ | {"PATH": path, "PYTHONPATH": str(folder)}
    subprocess.run(["bash", "script"], cwd=folder, env=environment, check=True)
    return (folder / "out.json").read_text().split("\0")


def test_running_interpreter_is_called_with_any_search_path(folder: Path) -> None:
    assert received(folder, "tokbench count -o out.json") == ["count", "-o", "out.json"]


def test_conda_environment_calls_its_own(folder: Path) -> None:
    path = os.pathsep.join([str(folder / "bin"), os.defpath])
    assert received(folder, "tokbench count -o out.json", apart=True, path=path) == ["count", "-o", "out.json"]


def test_arguments_arrive_as_they_are(folder: Path) -> None:
    script = "tokbench -o out.json " + " ".join("'" + one.replace("'", "'\\''") + "'" for one in ODD)
    assert received(folder, script) == ["-o", "out.json", *ODD]
    assert not (folder / "pwned").exists()


def test_arguments_may_be_more_than_a_process_takes(folder: Path) -> None:
    """One argument of a megabyte, and many that come to more than the operating system hands on at a time."""
    files = [f"{'long' * 20}-{number}" for number in range(40_000)]
    script = f"tokbench -o out.json --recipe {'r' * 2**20} {' '.join(files)}"
    assert received(folder, script) == ["-o", "out.json", "--recipe", "r" * 2**20, *files]


def test_failed_command_fails_the_job(folder: Path) -> None:
    (folder / "tokbench" / "__main__.py").write_text("raise SystemExit(3)")
    with pytest.raises(subprocess.CalledProcessError) as failure:
        received(folder, "tokbench count -o out.json; echo never > out.json")
    assert failure.value.returncode == 3


@pytest.mark.parametrize("written", ["count\n--help\n", "count\0--help\0", "count\n--help"])
def test_command_line_in_a_file(tokbench: Tokbench, tmp_path: Path, written: str) -> None:
    (tmp_path / "line").write_text(written)
    done = tokbench(f"@{tmp_path / 'line'}")
    assert done.status == 0
    assert b"Usage: tokbench count" in done.stdout


def test_command_line_in_no_file(tokbench: Tokbench, tmp_path: Path) -> None:
    assert tokbench(f"@{tmp_path / 'none'}").message == f"tokbench: {tmp_path / 'none'}: No such file or directory"


def test_only_a_complete_command_line_is_read_from_a_file(tokbench: Tokbench) -> None:
    assert "@words.txt" in tokbench("count", "--scheme", "gpt2", "-o", "none", "@words.txt").message


def test_a_thousand_variants(folder: Path, experiment: dict[str, Any]) -> None:
    """What a rule passes grows with the experiment, past what a process takes; all of it arrives."""
    sizes = [300 + number for number in range(10)]
    variants = {f"variant_{number:04}": experiment["variants"]["bpe"] for number in range(1000)}
    many = validate({**experiment, "variants": variants, "sizes": sizes, "runs": []}, "mine")
    expected = json.dumps(dict.fromkeys(stages.targets(many), "0123456789abcdef"))
    written = "".join(re.findall(r'"(.*)"', RULES["tabulate"][1]["shell"]))
    given = SimpleNamespace(experiment="results/experiment/tabulate.json")
    params = SimpleNamespace(job="{}", expected=expected)
    line = filled(written, input=given, output="out.json", log="log", params=params)
    arguments = received(folder, line)
    assert len(expected) > 131_071
    assert arguments == ["tabulate", "--expected", expected, "-o", "out.json", "--", given.experiment]


WRITTEN = {
    "Snakefile",
    "config.yaml",
    "profiles/default/config.yaml",
    "profiles/kubernetes/config.yaml",
    "profiles/local/config.yaml",
    "profiles/slurm/config.yaml",
}


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_package_contains_the_workflow() -> None:
    assert SNAKEFILE.is_file()
    root = Path(__file__).parents[2]
    for name in ("rules", "envs", "profiles", "report"):
        assert files(FILES / name) == files(root / name)


def test_init_writes_a_valid_experiment(tmp_path: Path, tokbench: Tokbench) -> None:
    said = tokbench("init", tmp_path / "mine").stdout.decode()
    assert files(tmp_path / "mine") == WRITTEN
    assert all(name in said for name in WRITTEN)
    assert tokbench("validate", tmp_path / "mine" / "config.yaml").status == 0


def test_init_writes_an_experiment_of_existing_tokenizers(
    tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    merges = [chr(number) + chr(number) for number in range(97, 107)]
    for name in ("a.tiktoken", "b.tiktoken"):
        ranks = [bytes([number]) for number in range(256)] + [one.encode() for one in merges]
        lines = (f"{base64.b64encode(token).decode()} {rank}\n" for rank, token in enumerate(ranks))
        (tmp_path / name).write_text("".join(lines))
    texts = tmp_path / "product.jsonl"
    texts.write_text('{"text": "Hello", "language": "en"}\n')
    place, files_of_tokenizers = tmp_path / "mine", [tmp_path / "a.tiktoken", tmp_path / "b.tiktoken"]
    said = tokbench("init", place, "--existing", *files_of_tokenizers, "--text", texts)
    made = yaml.safe_load((place / "config.yaml").read_text())
    assert made["variants"]["b"] == {"from": "tiktoken", "path": "../b.tiktoken"}
    assert made["corpora"]["text"]["source"] == {"type": "jsonl", "path": ["../product.jsonl"]}
    assert files(place) == WRITTEN
    # It names the settings that the files lack, in the words of `validate`.
    lacking = [line for line in said.stdout.decode().splitlines() if line.startswith(f"{place / 'config.yaml'}: ")]
    assert [line.split(": ")[1] for line in lacking] == ["variants.a.pattern", "variants.b.pattern"]
    monkeypatch.chdir(place)
    rejected = tokbench("validate", place / "config.yaml")
    assert rejected.status == 2
    assert rejected.stderr.replace("tokbench: ", "").splitlines() == lacking
    for words in (["--existing", files_of_tokenizers[0]], [files_of_tokenizers[0]], ["--text", texts]):
        assert "needs files of tokenizers, and a text" in tokbench("init", tmp_path / "other", *words).message


def test_init_of_files_with_a_pattern_leaves_nothing_to_edit(tmp_path: Path, tokbench: Tokbench) -> None:
    for name in ("a.json", "b.json"):
        written(tmp_path / name, byte_level(300))
    (tmp_path / "text.txt").write_text("Hello")
    line = ["--existing", tmp_path / "a.json", tmp_path / "b.json", "--text", tmp_path / "text.txt"]
    said = tokbench("init", tmp_path / "mine", *line).stdout.decode()
    assert said.splitlines()[-1] == f"Run: cd {tmp_path / 'mine'} && snakemake --cores 2"


def test_files_of_init_name_existing_files_only(tmp_path: Path, tokbench: Tokbench) -> None:
    tokbench("init", tmp_path)
    named = re.compile(r"\b(?:docs|envs|experiments|profiles|rules|src)/[\w./]++(?! (?:of|in) Tokbench's repository)")
    for name in WRITTEN:
        for path in named.findall((tmp_path / name).read_text(encoding="utf-8")):
            assert (tmp_path / path.rstrip(".")).exists(), f"{name}: {path}"


def test_a_run_from_there(text: bytes, tmp_path: Path, tokbench: Tokbench) -> None:
    place = tmp_path / "my experiment"
    tokbench("init", place)
    (place / "manual.txt").write_bytes(text)
    (place / "config.yaml").write_text(
        "name: small\nsizes: [300]\n"
        "corpora: {manual: {source: {type: text, path: manual.txt, documents: paragraph, encoding: bytes}}}\n"
        "variants: {bpe: {pretokenization: gpt2, construction: bpe}}\n"
    )
    made = "results/small/tokenizers/bpe/300"
    run = [sys.executable, "-m", "snakemake", "--cores", "1", made]
    said = subprocess.run(run, cwd=place, capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stderr
    assert (place / made / "tokens.vocab").read_text().count("\n") == 300
    assert (place / "results" / "small" / ".lock").exists()
    assert tokbench("status", place / "results" / "small").stdout.decode().splitlines()[0].endswith("jobs done")
    assert (place / "results" / "small" / "run.html").is_file()


@pytest.mark.parametrize("there", ["Snakefile", "config.yaml", "profiles/local/config.yaml"])
def test_nothing_is_replaced(there: str, tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / there).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / there).write_text("mine")
    outcome = tokbench("init", tmp_path)
    assert outcome.message == f"tokbench: {tmp_path / there}: already exists; name another folder, or move it away"
    assert files(tmp_path) == {there}
    assert (tmp_path / there).read_text() == "mine"


def test_make_demo_announces_its_steps() -> None:
    """Each long step has a line before it and its time after it; the last lines are the answer and the next command."""
    listed = subprocess.run(["make", "-n", "-B", "demo"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    said = re.findall(r'^echo "(.*)"$', listed, re.MULTILINE)
    assert [line.split(":")[0] for line in said] == [
        "1 of 3", "2 of 3", "3 of 3", 
        "Language models, 1 of 3", "Language models, 2 of 3", "Language models, 3 of 3",
        "Running the demo with 2 cores", "Open results/demo/report.html", "Next",
        "      or edit config.yaml, then run",
    ]  # fmt: skip
    assert listed.count('; echo "  done in $(($(date +%s) - start)) s"') == 7
    steps = [listed.index(part) for part in (*said[:7], "snakemake --cores", "import answer", *said[7:])]
    assert steps == sorted(steps)
    [shell] = re.findall(r"^set -e; start=.*snakemake.*$", listed, re.MULTILINE)
    for status in (0, 3):
        timed = shell.replace("snakemake --cores 2", f"(exit {status})")
        done = subprocess.run(["sh", "-c", timed], capture_output=True, text=True, check=False)
        assert (done.returncode, "done in" in done.stdout) == (status, status == 0)


SIZES = (0.25, 0.5, 1.0, 2.0)
SHARDS = 17
PLAN = {"count": 60, "merge_part": 4, "score_bytes": 2, "encode_shard": 30, "pack_slice": 4, "measure": 8}


def test_a_planted_power_comes_back() -> None:
    found = fit(SIZES, [0.3 + 2 * size**1.5 for size in SIZES], 0.3)
    assert found.exponent == pytest.approx(1.5)
    assert (found.low, found.high) == pytest.approx((1.5, 1.5))
    assert found.at(800) == pytest.approx(0.3 + 2 * 800**1.5)
    assert found.between(800, 800) == pytest.approx((found.at(800), found.at(800)))


def test_the_interval_is_that_of_students_t() -> None:
    # Least squares of y on x = 0, 1, 2, 3: slope 1.4, residual sum of squares 0.2, standard error sqrt(0.02).
    found = fit([1, math.e, math.e**2, math.e**3], [math.exp(y) for y in (0, 1.4 + 0.2, 2.8 - 0.2, 4.2)])
    slope, error = 1.36, math.sqrt((0.2**2 * 2 - 0.04**2 * 5) / 2 / 5)
    assert found.exponent == pytest.approx(slope)
    assert found.high - found.exponent == pytest.approx(4.303 * error, rel=0.01)
    assert found.low == pytest.approx(2 * found.exponent - found.high)


def test_constant_measurements_have_exponent_zero() -> None:
    found = fit(SIZES, [100, 101, 99, 104], 98)
    assert (found.exponent, found.low, found.high) == (0, 0, 0)
    assert found.at(1e6) == 104


def test_points_near_the_start_up_cost_are_excluded() -> None:
    found = fit(SIZES, [1.01, 1.2, 2.0, 5.0], 1)
    assert found.exponent == pytest.approx(2)
    assert math.isnan(found.low)
    assert fit(SIZES, [1, 1, 1.1, 1.3], 1).exponent == 1


def test_points_above_those_of_larger_sizes_are_excluded() -> None:
    assert fit(SIZES, [50, 4, 8, 16]).exponent == pytest.approx(1)


def test_two_sizes_have_no_interval() -> None:
    found = fit([1, 2], [1, 4])
    assert found.exponent == pytest.approx(2)
    assert math.isnan(found.low)
    assert found.between(4, 4) == pytest.approx((16, 16))


def test_intervals_rest_on_the_scatter_of_all_lines() -> None:
    exact, rough = fit(SIZES, SIZES), fit(SIZES, [0.3, 0.4, 1.3, 1.8])
    one, other = pooled([exact, rough])
    assert (one.exponent, other.exponent) == (exact.exponent, rough.exponent)
    assert one.high - one.low == pytest.approx(other.high - other.low)
    # Four degrees of freedom instead of two share the same scatter.
    assert (other.high - other.low) / (rough.high - rough.low) == pytest.approx(2.7764451 / 4.3026527 / math.sqrt(2))
    assert student(30) == pytest.approx(2.0422725)


def test_nothing_cannot_be_fitted() -> None:
    with pytest.raises(ValueError, match="no points"):
        fit([], [])


def planted() -> list[dict[str, str]]:
    """Processes that take a second and a hundred MB at their start, and what each driver makes of them."""
    rows = []
    for gigabytes in (START, *SIZES):
        for stage in STAGES:
            text = gigabytes * 1e9
            different = 1000 * text**0.5
            jobs = {"count": SHARDS, "encode_shard": SHARDS, "merge_part": 2, "pack_slice": 2}.get(stage.name, 1)
            quantity = {"a shard": text / SHARDS, "16 shards": text * 16 / SHARDS}
            work, held = (
                quantity.get(driver, text if driver == "text" else different)
                for driver in (stage.driver, stage.held or stage.driver)
            )
            rows += [
                {
                    "gigabytes": str(gigabytes),
                    "stage": stage.name,
                    "name": str(number),
                    "text_bytes": str(text),
                    "pretokens": str(different),
                    "jobs": str(jobs),
                    "processor": str(1.0 if gigabytes == START else 1 + 1e-8 * work),
                    "wall": "1",
                    "peak_mb": str(100.0 if gigabytes == START else 100 + 1e-5 * held),
                    "bound_mb": "40000",
                    "disk_bytes": str(0.5 * text / jobs),
                    "error": "",
                }
                for number in range(jobs)
            ]
    return rows


def test_planted_stages_grow_and_are_extrapolated_as_planted() -> None:
    rows = planted()
    heaps, every = vocabulary(rows), growths(rows)
    assert heaps.exponent == pytest.approx(0.5)
    text, shards = 600e9, 30
    for stage in STAGES:
        grown = every[stage.name]
        assert grown.disk.exponent == pytest.approx(1)
        found = expected(stage, grown, heaps, text, shards, PLAN)
        drivers = {"a shard": text / shards, "16 shards": AT_ONCE * text / shards, "text": text}
        work, held = (drivers.get(driver, 1000 * text**0.5) for driver in (stage.driver, stage.held or stage.driver))
        jobs = stage.times or PLAN[stage.rule]
        assert found.hours == pytest.approx(jobs * (1 + 1e-8 * work) / 3600)
        assert found.low <= found.hours * (1 + 1e-9)
        needed = 100 + 1e-5 * held
        assert found.memory_mb == pytest.approx(min(needed, of_rule(stage.rule)) if stage.bounded else needed)
        assert found.disk == pytest.approx(0.5 * text)


def test_levels_run_one_after_another() -> None:
    rows = planted()
    grown, heaps = growths(rows), vocabulary(rows)
    every = [expected(stage, grown[stage.name], heaps, 6e9, 30, PLAN) for stage in STAGES]
    total = math.fsum(one.hours for one in every)
    assert makespan(every, 1) == pytest.approx(total)
    longest = {level: max(one.longest for one in every if one.stage.level == level) for level in range(10)}
    assert makespan(every, 10**9) == pytest.approx(math.fsum(longest.values()))


def facts() -> dict[str, Any]:
    return {
        "about": "planted.",
        "tokens": 32768,
        "machine": {"processor": "any", "cores": 2, "memory_gib": 8, "system": "Linux", "python": "3.11"},
        "texts": {f"{size:g}": {"text_bytes": round(size * 1e9), "documents": 7} for size in SIZES},
        "plans": {str(corpus.shards): {**PLAN, "prepare": 2} for corpus in CORPORA},
    }


def test_page_of_scale_has_every_stage_and_marks_exceeded_bounds(tmp_path: Path) -> None:
    rows = planted()
    rows.append({**rows[-1], "stage": "build sage", "gigabytes": "2.0", "error": "left out: about 1300 s"})
    results = tmp_path / "performance"
    results.mkdir()
    with (results / "scale.csv").open("w", encoding="utf-8") as table:
        print(",".join(rows[0]), file=table)
        for row in rows:
            print(",".join(row.values()), file=table)
    (results / "scale.json").write_text(json.dumps(facts()), encoding="utf-8")
    sys.argv = ["page.py", str(tmp_path)]
    page.main()
    text = (tmp_path / "scale.md").read_text(encoding="utf-8")
    assert "each stayed within its bound" in text
    assert "left out: about 1300 s" in text
    assert all(f"| {stage.name}" in text for stage in STAGES)
    assert all(corpus.name in text for corpus in CORPORA)
    assert (results / "scale.svg").read_text(encoding="utf-8").startswith("<?xml")
    rows[0]["peak_mb"] = "50000"
    assert "1 took more than their bound: prepare (0)" in page.page(rows, facts())


def test_a_stage_that_was_not_measured_is_drawn() -> None:
    rows = [row for row in planted() if row["stage"] != "build sage"]
    sage = next(stage for stage in STAGES if stage.name == "build sage")
    assert taken(rows, sage, 1.0) is None
    assert "build sage" not in growths(rows)
    assert "build sage" not in by_stage(rows, facts()["plans"])


def test_documents_are_drawn_by_lot_and_prefixes_end_with_a_document(tmp_path: Path) -> None:
    folder = tmp_path / "text"
    (folder / "below").mkdir(parents=True)
    for number in range(40):
        (folder / "below" / f"{number}.txt").write_text(f"{number:02}" * 50, encoding="utf-8")
    (folder / "lines.jsonl").write_text("".join(f'{{"text": "line {number}"}}\n' for number in range(40)), "utf-8")
    (folder / "binary").write_bytes(b"a\0b")
    (folder / "latin").write_bytes(b"caf\xe9")
    target = tmp_path / "all.jsonl"
    marks = write(folder, target, [500, 2000])
    lines = target.read_bytes().splitlines(keepends=True)
    texts = [json.loads(line)["text"] for line in lines]
    assert [mark["size"] for mark in marks] == [500, 2000]
    for mark in marks:
        assert mark["end"] == sum(map(len, lines[: mark["documents"]]))
        assert mark["text_bytes"] == sum(len(text.encode()) for text in texts[: mark["documents"]]) >= mark["size"]
    assert len(set(texts)) == len(texts)
    assert texts != sorted(texts)
    assert {text[:4] == "line" for text in texts} == {True, False}
    cut(target, tmp_path / "part.jsonl", marks[0]["end"])
    assert (tmp_path / "part.jsonl").read_bytes() == b"".join(lines[: marks[0]["documents"]])
    with pytest.raises(SystemExit, match="bytes of text, fewer than"):
        write(folder, target, [10**9])


def test_benchmark_parses_stage_outputs_and_memory_of_a_command_line() -> None:
    line = (
        "TOKBENCH_JOB='{}' "
        "tokbench build bpe --recipe '{\"a\":1}' --counts /x/scale/pretokens/text/tokenizer/gpt2.parquet --size 4096"
        " --memory 1287 --name bpe -o /x/scale/tokenizers/bpe/4096 &> /x/scale/logs/build/bpe/4096.log"
    )
    found = job(line)
    assert (found.stage, found.name, found.bound_mb) == ("build bpe", "bpe/4096", 1287)
    assert found.outputs == [Path("/x/scale/tokenizers/bpe/4096")]
    assert found.command[-1] == "/x/scale/tokenizers/bpe/4096"
    line = "tokbench tabulate -o /x/tables &> /x/logs/tabulate/all.log"
    assert job(line).bound_mb == of_rule("tabulate") == of_rule("train_byte_lm") == MEMORY == 4000
    assert of_rule("merge_counts") == 8000
    assert of_rule("prepare", "runtime") == 240
    assert [of_rule(rule, "runtime") for rule in BY_RECIPE] == [MAX_RUNTIME, SCORING]
    with pytest.raises(SystemExit, match="rule pretrain"):
        of_rule("pretrain")


def test_a_construction_that_would_take_too_long_is_drawn(tmp_path: Path) -> None:
    runs = run.Scale(tmp_path / "scale.csv", [], 1200)
    for gigabytes, seconds in ((0.25, 100.0), (0.5, 400.0)):
        runs.add(run.Process(gigabytes, "build x", "x", 1, 1, 1, seconds, 1, 1, 1, 1))
    assert runs.expected("build x", 0.5) == pytest.approx(200)
    assert runs.expected("build x", 1.0) == pytest.approx(1600)
    assert runs.expected("build y", 1.0) == 0
    assert run.read(tmp_path / "scale.csv") == runs.done
    assert [kept.gigabytes for kept in run.Scale(tmp_path / "scale.csv", [0.5], 1200).done] == [0.25]
