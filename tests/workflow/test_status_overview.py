"""The overview of a run: times, what is left, the last messages of logs, and its JSON.

Cancellation of jobs of a dead run, on a fake SLURM.
"""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.rules import BENCHMARK, EXPERIMENT, PATIENCE, job, plan_of, put
from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.errors import TokbenchError
from tokbench.io.locks import folder_lock
from tokbench.workflow.cancel import cancel
from tokbench.workflow.job_states import Times, last_message, read_plan, times
from tokbench.workflow.status import as_json, build_overview
from tokbench.workflow.status_output import overview_text, page


def test_remaining_time_is_the_mean_of_done_jobs(tmp_path: Path) -> None:
    """By the mean of the stage's jobs that are done; nothing is made up where none is."""
    jobs = [*(job(name) for name in "abcd"), replace(job("e"), stage="other", wildcards={})]
    for name, wall in (("a", 1.0), ("b", 4.0)):
        put(tmp_path / f"results/x/made/{name}")
        put(tmp_path / f"results/x/benchmarks/make/{name}.tsv", BENCHMARK.format(wall, wall / 2))
    found = build_overview(plan_of(tmp_path, *jobs))
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
    assert ">make b</td><td>4.0 s</td>" in shown
    assert 'name="viewport"' in shown
    assert shown.count("<main>") == 1
    assert shown.count("<table>") == shown.count('class="scrolls" tabindex="0" role="region" aria-label=') == 2


def test_processors_of_jobs_that_are_too_short(tmp_path: Path) -> None:
    """The engine writes 0: that is not known, and a sum without it a lower bound."""
    jobs = [job("a"), job("b"), replace(job("c"), stage="other")]
    for name, wall, cpu in (("a", "4", "2"), ("b", "0.2", "0.00"), ("c", "0.3", "0.00")):
        put(tmp_path / f"results/x/made/{name}")
        put(tmp_path / f"results/x/benchmarks/make/{name}.tsv", BENCHMARK.format(wall, cpu))
    found = build_overview(plan_of(tmp_path, *jobs))
    assert [(stage.cpu, stage.cpu_complete) for stage in (*found.stages, found.total)] == [
        (2.0, False),
        (None, False),
        (2.0, False),
    ]
    text = overview_text(found)
    assert re.search(r"^make +2 +2 +4\.2 s +>2\.0 s +4\.0 s +–$", text, re.MULTILINE)
    assert re.search(r"^other +1 +1 +0\.3 s +– +0\.3 s +–$", text, re.MULTILINE)
    assert ">make b</td><td>0.2 s</td><td>–</td>" in page(found)
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
    told = as_json(build_overview(plan_of(tmp_path, job("a"))))
    page_text = (ROOT / "docs" / "status.md").read_text()
    documented = re.findall(r"^\| `([\w.\[\]]+)` \|", page_text, re.MULTILINE)
    keys = [*told]
    keys += [f"run.{key}" for key in told["run"]] + [f"stages[].{key}" for key in told["stages"][0]]
    keys += [f"jobs[].{key}" for key in told["jobs"][0]]
    assert sorted(documented) == sorted(keys)
    assert told["total"].keys() == told["stages"][0].keys()


RUN = "5513ee9b-573d-46d5-b990-0aa48c372641"
SQUEUE = """#!/bin/sh
echo "squeue $*" >> {folder}/called
cat {folder}/queue
"""
SCANCEL = """#!/bin/sh
echo "scancel $*" >> {folder}/called
{works}
"""
SBATCH = """#!/bin/sh
while [ "$1" != --job-name ]; do shift; done
echo 77 "$2" > {folder}/queue
echo 77
"""


@pytest.fixture
def queue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the pretended commands, what they were called with, and the queue."""
    folder = tmp_path / "slurm"
    pretend(folder, works=f": > {folder}/queue")
    put(folder / "queue", f"12_1 {RUN}\n12_[2-5] {RUN}\n")
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")
    monkeypatch.setattr("tokbench.workflow.cancel.MOMENT", 0.01)
    return folder


def pretend(folder: Path, works: str) -> None:
    for name, text in (("squeue", SQUEUE), ("scancel", SCANCEL)):
        put(folder / name, text.format(folder=folder, works=works)).chmod(0o755)


def locked(folder: Path) -> Path:
    return put(folder / ".snakemake" / "locks" / "0.output.lock", "results/x/made/a\n")


def test_jobs_are_cancelled_and_files_unlocked(queue: Path, tmp_path: Path) -> None:
    lock = locked(tmp_path)
    plan = plan_of(tmp_path, job("a"), slurm=("older", RUN))
    assert list(cancel(plan)) == [
        f"Cancelled 2 jobs of SLURM run older, {RUN}.",
        f"Unlocked {tmp_path}.",
        f"{plan.folder}: 0 of 1 jobs done, 1 missing",
        f"Continue with: cd {tmp_path} && snakemake --cores 2",
    ]
    assert not lock.exists()
    asked = f"squeue --noheader --array --name=older,{RUN} --format=%i %j"
    assert (queue / "called").read_text().splitlines() == [asked, f"scancel --name={RUN}", asked]


def test_a_run_is_known_by_the_engines_log_too(queue: Path, tmp_path: Path) -> None:
    log = put(tmp_path / "engine.log", f"Building DAG of jobs...\nSLURM run ID: {RUN}\nUsing shell: /usr/bin/bash\n")
    said = list(cancel(plan_of(tmp_path, job("a"), log=str(log))))
    assert said[0] == f"Cancelled 2 jobs of SLURM run {RUN}."


def test_an_empty_queue(queue: Path, tmp_path: Path) -> None:
    (queue / "queue").write_text("")
    said, *_ = cancel(plan_of(tmp_path, job("a"), slurm=(RUN,)))
    assert said == f"Cancelled 0 jobs of SLURM run {RUN}."
    assert "scancel" not in (queue / "called").read_text()


def test_nothing_is_unlocked_while_jobs_do_not_go(queue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(queue, works="exit 0")
    monkeypatch.setattr("tokbench.workflow.cancel.PATIENCE", 0.2)
    lock = locked(tmp_path)
    with pytest.raises(TokbenchError, match=r"2 of 2 jobs have not ended .*\(12_1, 12_\[2-5\]\); nothing is unlocked"):
        list(cancel(plan_of(tmp_path, job("a"), slurm=(RUN,))))
    assert lock.exists()


def test_failing_scancel_is_an_error(queue: Path, tmp_path: Path) -> None:
    pretend(queue, works="echo 'scancel: error: no permission' >&2; exit 1")
    with pytest.raises(TokbenchError, match="scancel: scancel: error: no permission"):
        list(cancel(plan_of(tmp_path, job("a"), slurm=(RUN,))))


def test_without_slurm_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lock = locked(tmp_path)
    plan = plan_of(tmp_path, job("a"), slurm=(RUN,))
    with pytest.raises(TokbenchError, match="squeue: not found, but the run used SLURM"):
        list(cancel(plan))
    assert lock.exists()
    said, *_ = cancel(plan, force=True)
    assert said == "No SLURM job was cancelled: squeue was not found here."
    assert not lock.exists()


def test_a_run_of_another_machine(tmp_path: Path) -> None:
    lock = locked(tmp_path)
    plan = plan_of(tmp_path, job("a"), host="login1")
    with pytest.raises(TokbenchError, match="on login1 has no lock that is visible here, but may be running"):
        list(cancel(plan))
    with folder_lock(plan.folder), pytest.raises(TokbenchError, match="on login1 is running"):
        list(cancel(plan))
    assert lock.exists()
    assert list(cancel(plan, force=True))[1] == f"Unlocked {tmp_path}."


def test_force_ends_no_run_of_this_machine(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, job("a"))
    with folder_lock(plan.folder), pytest.raises(TokbenchError, match=f"on {socket.gethostname()} is running"):
        list(cancel(plan, force=True))


def test_the_engines_folder_is_not_seen(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, job("a"), directory="/nowhere")
    remedy = "run 'snakemake --unlock' on a machine that sees it."
    assert list(cancel(plan))[1] == f"/nowhere/.snakemake: not visible here; {remedy}"


def test_ids_of_earlier_runs_come_before_that_in_the_log(tmp_path: Path) -> None:
    """Jobs of earlier runs may still be in progress if those were killed."""
    log = put(tmp_path / "engine.log", f"SLURM run ID: {RUN}\n")
    assert plan_of(tmp_path, slurm=("older",), log=str(log)).slurm_runs == ("older", RUN)
    assert plan_of(tmp_path, slurm=("older",), log="no file").slurm_runs == ("older",)
    assert plan_of(tmp_path).slurm_runs == ()


SMALL_JOBS = 4
"""Jobs of rules that are not submitted and wait for no other: the references, and three parts of the configuration."""


def test_a_killed_run_of_the_executor(tmp_path: Path) -> None:
    """The executor itself submits to a pretended SLURM, which starts nothing and calls all jobs 77; it is killed with
    the corpus in the queue. Small rules run where the executor does, and are killed with it."""
    pytest.importorskip("snakemake_executor_plugin_slurm")
    (tmp_path / "checkout").mkdir()
    checkout = Checkout(tmp_path / "checkout", stand_in=True)
    (checkout.folder / "config.yaml").write_text(EXPERIMENT)
    put(checkout.folder / "text.txt", "some text\n")
    folder = tmp_path / "slurm"
    pretend(folder, works=f": > {folder}/queue")
    for name in ("sacct", "sacctmgr", "scontrol", "sinfo"):
        put(folder / name, "#!/bin/sh\n").chmod(0o755)
    put(folder / "sbatch", SBATCH.format(folder=folder)).chmod(0o755)
    environment = checkout.environment | {"PATH": f"{folder}:{os.defpath}"}
    command = [sys.executable, "-m", "snakemake", "--profile", "profiles/slurm"]
    with open(tmp_path / "said", "w") as said:
        process = subprocess.Popen(
            command, cwd=checkout.folder, env=environment, start_new_session=True, stdout=said, stderr=said
        )
    results = checkout.folder / "results" / "small"
    until = time.monotonic() + PATIENCE
    while not (folder / "queue").exists() or not (results / "jobs.json").exists():
        assert process.poll() is None, (tmp_path / "said").read_text()
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    [run] = read_plan(results).slurm_runs
    assert (folder / "queue").read_text() == f"77 {run}\n"
    cancelling = [sys.executable, "-m", "tokbench", "cancel", str(results)]
    sources = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(cancelling, env=environment | sources, capture_output=True, text=True)
    first, second, state, last = done.stdout.splitlines()
    assert (first, second, last) == (
        f"Cancelled 1 job of SLURM run {run}.",
        f"Unlocked {checkout.folder}.",
        f"Continue with: cd {checkout.folder} && snakemake --profile profiles/slurm",
    ), done.stderr
    counts = re.fullmatch(rf"{re.escape(str(results))}: (\d+) of 22 jobs done(?:, (\d+) failed)?, (\d+) missing", state)
    assert counts is not None, state
    done_jobs, killed, missing = (int(count or 0) for count in counts.groups())
    assert done_jobs + killed <= SMALL_JOBS
    assert done_jobs + killed + missing == 22
