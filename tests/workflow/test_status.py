"""Progress of a run from its files: before it, during it, killed, after a failure, at the end.

The commands of the runs are fakes; some wait or fail.

The states of jobs by their files: outputs, logs and the engine's marks; and whether a run is at work.

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
from tokbench.io.locks import folder_lock, is_locked
from tokbench.workflow.job_states import STATES, Job, Life, life_of, read_plan, states, write_plan
from tokbench.workflow.status import Overview, build_overview

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
    return build_overview(read_plan(checkout.folder / "results" / "small"))


def by_state(found: Overview) -> dict[str, list[str]]:
    """The jobs in each state, without the stages that follow building."""
    named = {state: [told.job.name for told in found.in_state(state)] for state in STATES}
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
    }
    wait_until(lambda: reads(checkout, expected | {"done": done_but("evaluation")}), process)
    found = seen(checkout)
    assert found.life == "running"
    assert found.plan.run.pid == process.pid
    assert [told.message for told in found.in_state("failed")] == ["tokbench: no such luck"]
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
    written = {f"write_experiment {stage}" for stage in ("analyse", "report", "tabulate")}
    return written | {
        "cite",
        "prepare text",
        "find_leakage text",
        *counted,
        "build unigram 300",
        "count_tokens unigram 300 text",
    }


def killed(checkout: Checkout, tokbench: Tokbench) -> None:
    """Nothing is at work; the engine's locks are those of this experiment alone, and only they go."""
    results = checkout.folder / "results" / "small"
    found = seen(checkout)
    assert found.life == "ended"
    assert by_state(found)["failed"] == ["count_split text evaluation gpt2", "build bpe 300"]
    assert "running" not in by_state(found)
    other = checkout.folder / ".snakemake" / "locks" / "7.output.lock"
    other.write_text("results/other/tables\n")
    said = tokbench("cancel", results).stdout.decode().splitlines()
    assert said[0] == "No cluster jobs: the run did not use SLURM."
    assert said[1] == f"Unlocked {checkout.folder}."
    assert said[2].startswith(f"{results}: 9 of 22 jobs done, 2 failed, ")
    assert said[3] == f"Continue with: cd {checkout.folder} && snakemake --cores 2"
    assert [file.name for file in other.parent.iterdir()] == ["7.output.lock"]
    assert is_locked(results) is False
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
    assert told["left_unknown"] == ["cut_examples", "tabulate", "analyse", "draw", "typeset", "leaderboard", "report"]
    assert "tokbench: no such luck" in (results / "run.html").read_text()


def at_the_end(checkout: Checkout, tokbench: Tokbench) -> None:
    trouble(checkout)
    checkout.snakemake("--cores", "2")
    results = checkout.folder / "results" / "small"
    found = seen(checkout)
    assert by_state(found).keys() == {"done"}
    assert [stage.name for stage in found.stages] == [
        *("prepare", "cite", "write_experiment", "count_split", "find_leakage", "build", "bound"),
        *("measure", "count_tokens", "cut_examples", "tabulate", "analyse"),
        *("draw", "typeset", "leaderboard", "report"),
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
    """Outputs that a run plans to make again are not done before they are made again."""
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
BEFORE, DURING = 0, 2
"""Seconds since the epoch; the run of :func:`plan_of` begins at 1."""
CASES: list[tuple[int | None, int | None, str, Life, str]] = [
    # Time of the output, time and text of the log, whether the run is in progress, the state.
    (None, None, "", "running", "missing"),
    (DURING, DURING, "", "running", "done"),
    (DURING, DURING, "", "ended", "done"),
    (BEFORE, BEFORE, "", "running", "missing"),
    (BEFORE, BEFORE, "", "ended", "missing"),
    (BEFORE, DURING, "", "running", "missing"),
    (None, DURING, "", "running", "running"),
    (None, DURING, "half of it", "running", "running"),
    (None, DURING, "half of it\ntokbench: no room\nthe launcher ends\n", "running", "failed"),
    (None, DURING, "", "ended", "failed"),
    (None, BEFORE, "tokbench: no room\n", "running", "missing"),
    (None, BEFORE, "tokbench: no room\n", "ended", "failed"),
    (None, DURING, "", "unknown", "failed"),
]


@pytest.mark.parametrize(("output", "log", "text", "life", "state"), CASES)
def test_state_follows_from_times_and_the_log(
    output: int | None, log: int | None, text: str, life: Life, state: str, tmp_path: Path
) -> None:
    for name, time_of, content in ((OUTPUT, output, ""), (LOG, log, text)):
        if time_of is not None:
            os.utime(put(tmp_path / name, content), (time_of, time_of))
    assert states(plan_of(tmp_path, job("a")), life) == [state]


def test_an_output_from_before_is_done_if_the_run_does_not_make_it(tmp_path: Path) -> None:
    os.utime(put(tmp_path / OUTPUT), (BEFORE, BEFORE))
    assert states(plan_of(tmp_path, job("a", planned=False)), "running") == ["done"]


@pytest.mark.parametrize("life", ["running", "ended"])
def test_an_output_that_was_removed_has_not_failed(life: Life, tmp_path: Path) -> None:
    """The benchmark is written after a success alone; one that is older than the log is of a success before."""
    log, benchmark = put(tmp_path / LOG, "done"), put(tmp_path / "results/x/benchmarks/make/a.tsv", "s")
    plan = plan_of(tmp_path, job("a"))
    for logged, timed, state in (
        (1, 2, "missing"),
        (2, 2, "missing"),
        (3, 2, "running" if life == "running" else "failed"),
    ):
        os.utime(log, (logged, logged))
        os.utime(benchmark, (timed, timed))
        assert states(plan, life) == [state]
    assert [told.message for told in build_overview(plan, "ended").jobs] == ["done"]


def test_temporary_outputs_are_done_when_dependent_outputs_are(tmp_path: Path) -> None:
    """Also where that is temporary itself; not while one of them is to be made."""
    names = [f"results/x/made/{name}" for name in "abcd"]
    chain = (job("a", into=(names[1],)), job("b", into=tuple(names[2:])), job("c"), job("d"))
    put(tmp_path / names[2])
    assert states(plan_of(tmp_path, *chain), "ended") == ["missing", "missing", "done", "missing"]
    put(tmp_path / names[3])
    assert states(plan_of(tmp_path, *chain), "ended") == ["done"] * 4


def test_whether_a_run_is_at_work(tmp_path: Path) -> None:
    plan, elsewhere = plan_of(tmp_path, job("a")), plan_of(tmp_path, job("a"), host="elsewhere")
    assert life_of(plan) == "ended"
    assert life_of(elsewhere) == "unknown"
    with folder_lock(plan.folder):
        assert life_of(plan) == "running"
        assert life_of(elsewhere) == "running"
    assert life_of(plan) == "ended"


def test_the_lock_is_had_although_others_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who asks whether a run is at work keeps none from beginning."""
    import fcntl

    with folder_lock(tmp_path):
        pass
    looking = os.open(tmp_path / ".lock", os.O_RDONLY)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr("tokbench.io.locks.time.sleep", lambda _: os.close(looking))
    with folder_lock(tmp_path):
        assert is_locked(tmp_path) is True


def test_a_plan_is_read_as_it_was_written(tmp_path: Path) -> None:
    several = Job("gather", {}, ("results/x/one", "results/x/two"), None, None, planned=False)
    jobs = (job("a", into=("results/x/b",)), job("b"), several)
    plan = plan_of(tmp_path, *jobs, slurm=("one", "two"), log="engine.log")
    write_plan(plan)
    assert read_plan(plan.folder) == plan


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format":1}', '{"format":2,"run":{},"jobs":[]}', '{"format":2}'])
def test_damaged_plan_is_one_line_error(text: str, tmp_path: Path) -> None:
    put(tmp_path / "jobs.json", text)
    with pytest.raises(TokbenchError, match=r"jobs\.json.*a run of snakemake leaves one"):
        read_plan(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 1),
        ("run.began", "now"),
        ("run.directory", 5),
        ("run.log", 5),
        ("run.pid", "1"),
        ("run.slurm", [5]),
        ("run.slurm", "five"),
        ("run.folder", "a\0b"),
        ("jobs.0.outputs", []),
        ("jobs.0.outputs", [5]),
        ("jobs.0.wildcards", {"name": 5}),
        ("jobs.0.log", 5),
        ("jobs.0.benchmark", [5]),
        ("jobs.0.planned", "yes"),
        ("jobs.0.into", [5]),
        ("jobs", {}),
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
        at = at[int(name) if name.isdecimal() else name]
    at[last] = value
    file.write_text(json.dumps(told))
    line = f"tokbench: {file}: damaged, or written by another version of Tokbench; a run of snakemake leaves one, "
    for command in ("status", "cancel"):
        found = tokbench(command, plan.folder)
        assert (found.status, found.stdout) == (2, b"")
        assert found.message.startswith(line)
