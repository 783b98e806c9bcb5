"""How far an experiment is, told from its files: before a run, during it, killed, after a failure, at the end.

The commands of the runs only pretend to work; some are told to wait or to fail.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Tokbench
from tests.workflow.checkout import ROOT, STAND_IN, Checkout
from tokbench.errors import TokbenchError
from tokbench.status.overview import Overview, as_json, overview
from tokbench.status.page import page
from tokbench.status.plan import Job, Plan, Run, read_plan, write_plan
from tokbench.status.terminal import overview_text
from tokbench.status.times import Times, last_message, times
from tokbench.status.traces import STATES, Life, Traces, life_of, mark, marked_outputs, states
from tokbench.workflow.lock import held_meanwhile, is_held

PATIENCE = 120.0
TROUBLE = """
import json, time
trouble = lambda: json.loads(Path("trouble.json").read_text())
while any(part in str(output) for part in trouble()["wait"]):
    time.sleep(0.02)
if any(part in str(output) for part in trouble()["fail"]):
    print("working")
    sys.exit("tokbench: no such luck")
"""
EXPERIMENT = """\
name: small
sizes: [300]
corpora: {text: {source: {type: text, path: text.txt}, shards: 2}}
variants:
  bpe: {pretokenization: gpt2, construction: bpe}
  unigram: {pretokenization: gpt2, construction: unigram}
"""
BENCHMARK = "s\th:m:s\tmax_rss\tcpu_time\n{}\t0:00:00\t1.0\t{}\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    made = Checkout(tmp_path_factory.mktemp("status"), stand_in=True)
    before, after = STAND_IN.split("if output.suffix")
    (made.folder / "src/tokbench/__main__.py").write_text(f"{before}{TROUBLE}if output.suffix{after}")
    (made.folder / "config.yaml").write_text(EXPERIMENT)
    (made.folder / "text.txt").write_text("some text\n")
    yield made
    made.close()


def trouble(checkout: Checkout, wait: tuple[str, ...] = (), fail: tuple[str, ...] = ()) -> None:
    told = checkout.folder / "trouble"
    told.write_text(json.dumps({"wait": wait, "fail": fail}))
    told.replace(checkout.folder / "trouble.json")


def seen(checkout: Checkout) -> Overview:
    return overview(read_plan(checkout.folder / "results" / "small"))


def by_state(found: Overview) -> dict[str, list[str]]:
    """The jobs in each state, without the stages that follow building."""
    named = {state: [told.job.name for told in found.those(state)] for state in STATES}
    return {state: names for state, names in named.items() if names}


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)


def reads(checkout: Checkout, expected: dict[str, set[str]]) -> bool:
    try:
        found = by_state(seen(checkout))
    except TokbenchError:
        return False
    return all(set(found.get(state, ())) == names for state, names in expected.items())


def test_a_run_from_its_beginning_to_its_end(checkout: Checkout, tokbench: Tokbench) -> None:
    results = checkout.folder / "results" / "small"
    results.mkdir(parents=True)
    assert tokbench("status", results).message == (
        f"tokbench: {results}: no plan of a run here (jobs.json); a run of snakemake leaves one, 'snakemake -n' shows "
        "what it would do"
    )
    during(checkout, tokbench)
    after_failure(checkout, tokbench)
    at_the_end(checkout, tokbench)
    outdated(checkout)


def during(checkout: Checkout, tokbench: Tokbench) -> None:
    """One job at work, one failed while the run goes on, and what was taken from temporary files is done."""
    results = checkout.folder / "results" / "small"
    trouble(checkout, wait=("evaluation/gpt2.parquet",), fail=("tokenizers/bpe",))
    process = checkout.start("--cores", "2")
    expected = {
        "running": {"merge_counts text evaluation gpt2"},
        "failed": {"build bpe 300"},
        "queued": set[str](),
        "interrupted": set[str](),
    }
    wait_until(lambda: reads(checkout, expected | {"done": done_but("evaluation")}), process)
    found = seen(checkout)
    assert found.life == "running"
    assert found.plan.run.pid == process.pid
    assert not list(results.glob("pretokens/text/tokenizer/gpt2/*.parquet"))
    assert [told.message for told in found.those("failed")] == ["tokbench: no such luck"]
    said = tokbench("status", results).stdout.decode()
    assert f"  build bpe 300: {results}/logs/build/bpe/300.log: tokbench: no such luck\n" in said
    refused = tokbench("cancel", results)
    assert refused.message == (
        f"tokbench: {results}: process {process.pid} on {socket.gethostname()} is at work; end it there first, with "
        f"Ctrl-C or 'kill {process.pid}'"
    )
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    killed(checkout, tokbench)


def done_but(split: str) -> set[str]:
    counted = {f"count text {one} gpt2 {shard}" for one in ("evaluation", "tokenizer") for shard in ("0000", "0001")}
    merged = {f"merge_counts text {one} gpt2" for one in ("evaluation", "tokenizer")}
    return {"cite", "prepare text", *counted, *merged, "build unigram 300", "count_tokens unigram 300 text"} - {
        f"merge_counts text {split} gpt2"
    }


def killed(checkout: Checkout, tokbench: Tokbench) -> None:
    """Nothing is at work; the engine's locks are those of this experiment alone, and only they go."""
    results = checkout.folder / "results" / "small"
    found = seen(checkout)
    assert found.life == "ended"
    assert by_state(found)["interrupted"] == ["merge_counts text evaluation gpt2"]
    assert by_state(found)["failed"] == ["build bpe 300"]
    other = checkout.folder / ".snakemake" / "locks" / "7.output.lock"
    other.write_text("results/other/tables\n")
    said = tokbench("cancel", results).stdout.decode().splitlines()
    assert said[0] == "No job of a cluster: the run did not go through SLURM."
    assert said[1] == f"Unlocked {checkout.folder}."
    assert said[2].startswith(f"{results}: 9 of 22 jobs done, 1 failed, 1 interrupted, ")
    assert said[3] == f"Go on with: cd {checkout.folder} && snakemake --cores 2"
    assert [file.name for file in other.parent.iterdir()] == ["7.output.lock"]
    assert is_held(results) is False
    other.unlink()


def after_failure(checkout: Checkout, tokbench: Tokbench) -> None:
    trouble(checkout, fail=("tokenizers/bpe",))
    checkout.snakemake("--cores", "2", status=1)
    results = checkout.folder / "results" / "small"
    told = json.loads(tokbench("status", results, "--json").stdout)
    assert told["run"]["state"] == "ended"
    assert (told["total"]["done"], told["total"]["failed"], told["total"]["missing"]) == (12, 1, 9)
    [failed] = [job for job in told["jobs"] if job["state"] == "failed"]
    assert failed["log"] == f"{results}/logs/build/bpe/300.log"
    assert failed["message"] == "tokbench: no such luck"
    build = next(stage for stage in told["stages"] if stage["stage"] == "build")
    assert build["left_s"] == build["wall_s"] > 0
    assert told["left_unknown"] == ["tabulate", "analyse", "cut_examples", "draw", "typeset", "report", "leaderboard"]
    assert "tokbench: no such luck" in (results / "run.html").read_text()


def at_the_end(checkout: Checkout, tokbench: Tokbench) -> None:
    trouble(checkout)
    checkout.snakemake("--cores", "2")
    results = checkout.folder / "results" / "small"
    found = seen(checkout)
    assert by_state(found).keys() == {"done"}
    assert [stage.name for stage in found.stages] == [
        *("prepare", "count", "merge_counts", "build", "measure", "count_tokens", "bound", "tabulate", "analyse"),
        "cut_examples",
        *("draw", "typeset", "report", "leaderboard", "cite"),
    ]
    assert found.total.left == 0
    assert all(stage.longest is not None for stage in found.stages)
    assert tokbench("cancel", results).stdout.decode().splitlines()[1:] == [
        f"{checkout.folder} was not locked.",
        f"{results}: 22 of 22 jobs done",
    ]
    assert "22 of 22 jobs done" in (results / "run.html").read_text()
    named = subprocess.run(
        ["python", "-m", "tokbench.commands.main", "status", "--configfile", "config.yaml"],
        cwd=checkout.folder,
        env=checkout.environment | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert named.stdout.startswith("results/small: 22 of 22 jobs done\n"), named.stderr
    moved = checkout.folder / "seen elsewhere"
    shutil.copytree(results, moved)
    assert tokbench("status", moved).stdout.decode().startswith(f"{moved}: 22 of 22 jobs done\n")


def outdated(checkout: Checkout) -> None:
    """What a run means to make again is not done before it has been made again."""
    trouble(checkout, wait=("tokenizers/bpe", "tokenizers/unigram"))
    with checkout.edited("config.yaml", "construction: bpe", "construction: {method: bpe, min_pair_count: 3}"):
        process = checkout.start("--cores", "1")
        wait_until(lambda: reads(checkout, {"running": {"build bpe 300"}}), process)
        found = by_state(seen(checkout))
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    assert {"build unigram 300", "measure unigram 300"} <= set(found["done"])
    assert {"measure bpe 300", "tabulate", "report"} <= set(found["missing"])
    assert (checkout.folder / "results/small/tables").exists()


OUTPUT, LOG, MARK = "results/x/made/a", "results/x/logs/make/a.log", "mark"
CASES: list[tuple[str, str, Life, str]] = [
    # What stands, of it what stood when the run began, whether the run is at work, the state.
    ("", "", "running", "missing"),
    ("output log", "", "running", "done"),
    ("output log", "", "ended", "done"),
    ("output log", "output log", "running", "missing"),
    ("output log", "output log", "ended", "missing"),
    ("output log mark", "", "running", "running"),
    ("output log mark", "", "ended", "interrupted"),
    ("log mark", "", "running", "running"),
    ("log mark", "", "ended", "interrupted"),
    ("mark", "", "running", "queued"),
    ("log mark", "log", "running", "queued"),
    ("log mark", "log mark", "running", "missing"),
    ("mark", "mark", "running", "missing"),
    ("log mark", "log mark", "ended", "interrupted"),
    ("log", "", "running", "failed"),
    ("log", "", "ended", "failed"),
    ("log", "log", "running", "missing"),
    ("log", "log", "ended", "failed"),
    ("log", "", "unknown", "failed"),
]


def plan_of(folder: Path, *jobs: Job, marks: str | None = None, **told: Any) -> Plan:
    values: dict[str, Any] = {
        "started": "2026-01-02T03:04:05+00:00",
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "directory": str(folder),
        "folder": "results/x",
        "command": "snakemake --cores 2",
        "log": None,
        "marks": marks,
        "slurm": (),
    }
    stages = tuple(dict.fromkeys(job.stage for job in jobs))
    (folder / "results" / "x").mkdir(parents=True, exist_ok=True)
    return Plan(folder / "results" / "x", Run(**values | told), stages, jobs)


def job(name: str, **more: Any) -> Job:
    told = {"planned": True, "stood": None, "into": None} | more
    return Job(
        "make",
        {"name": name},
        (f"results/x/made/{name}",),
        f"results/x/logs/make/{name}.log",
        f"results/x/benchmarks/make/{name}.tsv",
        **told,
    )


def put(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(("stands", "before", "life", "state"), CASES)
def test_state(stands: str, before: str, life: Life, state: str, tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    places = {"output": tmp_path / OUTPUT, "log": tmp_path / LOG, "mark": Path(mark(str(marks), OUTPUT))}
    times_of = {kind: put(places[kind]).stat().st_mtime_ns for kind in stands.split()}
    stood = {kind: times_of[kind] for kind in before.split()}
    plan = plan_of(tmp_path, job("a", stood=stood or None), marks=str(marks))
    assert states(plan, life) == [state]


@pytest.mark.parametrize("life", ["running", "ended"])
def test_an_output_that_was_removed_has_not_failed(life: Life, tmp_path: Path) -> None:
    """The benchmark is written after a success alone; one that is older than the log is of a success before."""
    log, benchmark = put(tmp_path / LOG, "done"), put(tmp_path / "results/x/benchmarks/make/a.tsv", "s")
    plan = plan_of(tmp_path, job("a"), marks=str(tmp_path))
    for logged, timed, state in ((1, 2, "missing"), (2, 2, "missing"), (3, 2, "failed")):
        os.utime(log, (logged, logged))
        os.utime(benchmark, (timed, timed))
        assert states(plan, life) == [state]
    assert [told.message for told in overview(plan, life).jobs] == ["done"]


def test_a_job_that_has_just_begun_has_not_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine marks it a moment after its log has come to be."""
    marks = tmp_path / "marks"
    marks.mkdir()
    put(tmp_path / LOG)
    plan = plan_of(tmp_path, job("a"), marks=str(marks))
    monkeypatch.setattr("tokbench.status.traces.time.sleep", lambda _: put(Path(mark(str(marks), OUTPUT))))
    assert states(plan, "running") == ["running"]


def test_without_marks_to_be_seen_a_log_means_work(tmp_path: Path) -> None:
    """The engine may keep them in a database, and its folder may not be seen from another machine."""
    put(tmp_path / LOG)
    for marks in (None, str(tmp_path / "nowhere")):
        plan = plan_of(tmp_path, job("a"), marks=marks)
        assert Traces(plan, at_work=True).state(plan.jobs[0]) == "running"


def test_temporary_outputs_are_done_when_what_is_made_of_them_is(tmp_path: Path) -> None:
    """Also where that is temporary itself; not while one of them is to be made."""
    names = [f"results/x/made/{name}" for name in "abcd"]
    chain = (job("a", into=[names[1]]), job("b", into=names[2:]), job("c"), job("d"))
    put(tmp_path / names[2])
    assert states(plan_of(tmp_path, *chain), "ended") == ["missing", "missing", "done", "missing"]
    put(tmp_path / names[3])
    assert states(plan_of(tmp_path, *chain), "ended") == ["done"] * 4


def test_marks_are_those_of_the_engine(tmp_path: Path) -> None:
    """Names too long for a file are spread over folders."""
    from snakemake.persistence.file import FilePersistence

    engine = FilePersistence.__new__(FilePersistence)
    engine._max_len = None
    for output in (OUTPUT, "results/straße/" + "long" * 150, "results/x/" + "y" * 700):
        path = mark(str(tmp_path), output)
        assert path == engine._record_path(str(tmp_path), output)
        put(Path(path))
        assert output in marked_outputs(str(tmp_path))


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    several = Job("gather", {}, ("results/x/one", "results/x/two"), None, None, False, None, None)
    jobs = (job("a", stood={"log": 1}, into=["results/x/b"]), job("b"), several)
    plan = plan_of(tmp_path, *jobs, marks="marks", slurm=("one", "two"), log="engine.log")
    write_plan(plan)
    assert read_plan(plan.folder) == plan


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format":1}', '{"format":1,"run":{},"stages":{}}', '{"format":2}'])
def test_a_damaged_plan_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    put(tmp_path / "jobs.json", text)
    with pytest.raises(TokbenchError, match=r"jobs\.json.*a run of snakemake leaves one"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run.marks", ["x"]),
        ("run.directory", 5),
        ("run.log", 5),
        ("run.pid", "1"),
        ("run.slurm", [5]),
        ("run.slurm", "five"),
        ("run.folder", "a\0b"),
        ("stages.make.outputs", [[]]),
        ("stages.make.outputs", [5]),
        ("stages.make.outputs", [[5]]),
        ("stages.make.outputs", ["a", "b"]),
        ("stages.make.wildcards", {"name": [5]}),
        ("stages.make.wildcards", {"name": 5}),
        ("stages.make.wildcards", {"name": []}),
        ("stages.make.log", [5]),
        ("stages.make.benchmark", [5]),
        ("stages.make.planned", ["yes"]),
        ("stages.make.stood", {"0": {"log": "now"}}),
        ("stages.make.stood", {"0": 5}),
        ("stages.make.into", {"0": [5]}),
        ("stages.make", []),
        ("stages", []),
    ],
)
def test_a_plan_of_wrong_types_is_told_before_anything_is_done(
    key: str, value: Any, tmp_path: Path, tokbench: Tokbench
) -> None:
    plan = plan_of(tmp_path, job("a"))
    write_plan(plan)
    file = plan.folder / "jobs.json"
    told = json.loads(file.read_text())
    *above, last = key.split(".")
    at = told
    for name in above:
        at = at[name]
    at[last] = value
    file.write_text(json.dumps(told))
    line = f"tokbench: {file}: damaged, or not written by a run; a run of snakemake leaves one, "
    for command in ("status", "cancel"):
        found = tokbench(command, plan.folder)
        assert (found.status, found.stdout) == (2, b"")
        assert found.message.startswith(line)


def test_whether_a_run_is_at_work(tmp_path: Path) -> None:
    plan, elsewhere = plan_of(tmp_path, job("a")), plan_of(tmp_path, job("a"), host="elsewhere")
    assert life_of(plan) == "ended"
    assert life_of(elsewhere) == "unknown"
    with held_meanwhile(plan.folder):
        assert life_of(plan) == "running"
        assert life_of(elsewhere) == "running"
    assert life_of(plan) == "ended"


def test_the_lock_is_had_although_others_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks whether a run is at work keeps none from beginning."""
    import fcntl

    with held_meanwhile(tmp_path):
        pass
    looking = os.open(tmp_path / ".lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("tokbench.workflow.lock.time.sleep", lambda _: os.close(looking))
    with held_meanwhile(tmp_path):
        assert is_held(tmp_path) is True


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
