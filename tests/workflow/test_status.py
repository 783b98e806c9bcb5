"""How far a run is, told from its files: before it, during it, killed, after a failure, at the end.

The commands of the runs only pretend to work; some are told to wait or to fail.

The states of jobs by what they left: outputs, logs and the engine's marks; and whether a run is at work.

The plan that a run leaves: read as it was written, and rejected where it is damaged.
"""

import json
import os
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
from tests.support.rules import EXPERIMENT, PATIENCE, job, plan_of, put
from tests.support.workflow.checkout import STAND_IN, Checkout
from tokbench.errors import TokbenchError
from tokbench.io.locks import held_meanwhile, is_held
from tokbench.workflow.job_states import (
    STATES,
    Job,
    Life,
    Traces,
    life_of,
    mark,
    marked_outputs,
    read_plan,
    states,
    write_plan,
)
from tokbench.workflow.status import Overview, overview

TROUBLE = """
import json, time
trouble = lambda: json.loads(Path("trouble.json").read_text())
while any(part in str(output) for part in trouble()["wait"]):
    time.sleep(0.02)
if any(part in str(output) for part in trouble()["fail"]):
    print("working", flush=True)
    sys.exit("tokbench: no such luck")
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    made = Checkout(tmp_path_factory.mktemp("status"), stand_in=True)
    before, after = STAND_IN.split("leave(output")
    (made.folder / "src/tokbench/__main__.py").write_text(f"{before}{TROUBLE}leave(output{after}")
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
    """One job is at work and one has failed while the run goes on."""
    results = checkout.folder / "results" / "small"
    trouble(checkout, wait=("evaluation/gpt2.parquet",), fail=("tokenizers/bpe",))
    process = checkout.start("--cores", "2")
    expected = {
        "running": {"count_split text evaluation gpt2"},
        "failed": {"build bpe 300"},
        "queued": set[str](),
        "interrupted": set[str](),
    }
    wait_until(lambda: reads(checkout, expected | {"done": done_but("evaluation")}), process)
    found = seen(checkout)
    assert found.life == "running"
    assert found.plan.run.pid == process.pid
    assert [told.message for told in found.those("failed")] == ["tokbench: no such luck"]
    said = tokbench("status", results).stdout.decode()
    assert f"  build bpe 300: {results}/logs/build/bpe/300.log: tokbench: no such luck\n" in said
    refused = tokbench("cancel", results)
    assert refused.message == (
        f"tokbench: {results}: process {process.pid} on {socket.gethostname()} is running; end it there first, with "
        f"Ctrl-C or 'kill {process.pid}'"
    )
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate()
    killed(checkout, tokbench)


def done_but(split: str) -> set[str]:
    counted = {f"count_split text {one} gpt2" for one in ("evaluation", "tokenizer") if one != split}
    return {"cite", "prepare text", "find_leakage text", *counted, "build unigram 300", "count_tokens unigram 300 text"}


def killed(checkout: Checkout, tokbench: Tokbench) -> None:
    """Nothing is at work; the engine's locks are those of this experiment alone, and only they go."""
    results = checkout.folder / "results" / "small"
    found = seen(checkout)
    assert found.life == "ended"
    assert by_state(found)["interrupted"] == ["count_split text evaluation gpt2"]
    assert by_state(found)["failed"] == ["build bpe 300"]
    other = checkout.folder / ".snakemake" / "locks" / "7.output.lock"
    other.write_text("results/other/tables\n")
    said = tokbench("cancel", results).stdout.decode().splitlines()
    assert said[0] == "No cluster jobs: the run did not use SLURM."
    assert said[1] == f"Unlocked {checkout.folder}."
    assert said[2].startswith(f"{results}: 6 of 19 jobs done, 1 failed, 1 interrupted, ")
    assert said[3] == f"Continue with: cd {checkout.folder} && snakemake --cores 2"
    assert [file.name for file in other.parent.iterdir()] == ["7.output.lock"]
    assert is_held(results) is False
    other.unlink()


def after_failure(checkout: Checkout, tokbench: Tokbench) -> None:
    trouble(checkout, fail=("tokenizers/bpe",))
    checkout.snakemake("--cores", "2", status=1)
    results = checkout.folder / "results" / "small"
    told = json.loads(tokbench("status", results, "--json").stdout)
    assert told["run"]["state"] == "ended"
    assert (told["total"]["done"], told["total"]["failed"], told["total"]["missing"]) == (9, 1, 9)
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
        *("prepare", "count_split", "build", "measure", "count_tokens", "bound", "find_leakage", "tabulate", "analyse"),
        "cut_examples",
        *("draw", "typeset", "report", "leaderboard", "cite"),
    ]
    assert found.total.left == 0
    assert all(stage.longest is not None for stage in found.stages)
    assert tokbench("cancel", results).stdout.decode().splitlines()[1:] == [
        f"{checkout.folder} was not locked.",
        f"{results}: 19 of 19 jobs done",
    ]
    assert "19 of 19 jobs done" in (results / "run.html").read_text()
    named = subprocess.run(
        ["python", "-m", "tokbench.commands.main", "status", "--configfile", "config.yaml"],
        cwd=checkout.folder,
        env=checkout.environment | {"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert named.stdout.startswith("results/small: 19 of 19 jobs done\n"), named.stderr
    moved = checkout.folder / "seen elsewhere"
    shutil.copytree(results, moved)
    assert tokbench("status", moved).stdout.decode().startswith(f"{moved}: 19 of 19 jobs done\n")


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


OUTPUT, LOG = "results/x/made/a", "results/x/logs/make/a.log"
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
    monkeypatch.setattr("tokbench.workflow.job_states.time.sleep", lambda _: put(Path(mark(str(marks), OUTPUT))))
    assert states(plan, "running") == ["running"]


def test_without_marks_to_be_seen_a_log_means_work(tmp_path: Path) -> None:
    """The engine may keep them in a database, and its folder may not be seen from another machine."""
    put(tmp_path / LOG)
    for marks in (None, str(tmp_path / "nowhere")):
        plan = plan_of(tmp_path, job("a"), marks=marks)
        assert Traces(plan, at_work=True).state(plan.jobs[0]) == "running"


def test_temporary_outputs_are_done_when_dependent_outputs_are(tmp_path: Path) -> None:
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
    monkeypatch.setattr("tokbench.io.locks.time.sleep", lambda _: os.close(looking))
    with held_meanwhile(tmp_path):
        assert is_held(tmp_path) is True


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    several = Job("gather", {}, ("results/x/one", "results/x/two"), None, None, False, None, None)
    jobs = (job("a", stood={"log": 1}, into=["results/x/b"]), job("b"), several)
    plan = plan_of(tmp_path, *jobs, marks="marks", slurm=("one", "two"), log="engine.log")
    write_plan(plan)
    assert read_plan(plan.folder) == plan


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format":1}', '{"format":1,"run":{},"stages":{}}', '{"format":2}'])
def test_damaged_plan_is_one_line_error(text: str, tmp_path: Path) -> None:
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
def test_plan_with_wrong_types_is_rejected_before_any_action(
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
