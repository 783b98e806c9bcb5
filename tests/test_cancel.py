"""The end of what a dead run left behind, on a pretended SLURM."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.support.plans import EXPERIMENT, PATIENCE, job, plan_of, put
from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.errors import TokbenchError
from tokbench.status.overview import overview
from tokbench.status.plan import read_plan, write_plan
from tokbench.workflow.cancel import cancel
from tokbench.workflow.lock import held_meanwhile
from tokbench.workflow.plan import _slurm_runs

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
        f"Cancelled 2 jobs of SLURM, run older, {RUN}.",
        f"Unlocked {tmp_path}.",
        f"{plan.folder}: 0 of 1 jobs done, 1 missing",
        f"Go on with: cd {tmp_path} && snakemake --cores 2",
    ]
    assert not lock.exists()
    asked = f"squeue --noheader --array --name=older,{RUN} --format=%i %j"
    assert (queue / "called").read_text().splitlines() == [asked, f"scancel --name={RUN}", asked]


def test_a_run_is_known_by_the_engines_log_too(queue: Path, tmp_path: Path) -> None:
    log = put(tmp_path / "engine.log", f"Building DAG of jobs...\nSLURM run ID: {RUN}\nUsing shell: /usr/bin/bash\n")
    said = list(cancel(plan_of(tmp_path, job("a"), log=str(log))))
    assert said[0] == f"Cancelled 2 jobs of SLURM, run {RUN}."


def test_an_empty_queue(queue: Path, tmp_path: Path) -> None:
    (queue / "queue").write_text("")
    said, *_ = cancel(plan_of(tmp_path, job("a"), slurm=(RUN,)))
    assert said == f"Cancelled 0 jobs of SLURM, run {RUN}."
    assert "scancel" not in (queue / "called").read_text()


def test_nothing_is_unlocked_while_jobs_do_not_go(queue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(queue, works="exit 0")
    monkeypatch.setattr("tokbench.workflow.cancel.PATIENCE", 0.2)
    lock = locked(tmp_path)
    with pytest.raises(TokbenchError, match=r"2 of 2 jobs have not gone .*\(12_1, 12_\[2-5\]\); nothing is unlocked"):
        list(cancel(plan_of(tmp_path, job("a"), slurm=(RUN,))))
    assert lock.exists()


def test_a_command_that_fails_is_told(queue: Path, tmp_path: Path) -> None:
    pretend(queue, works="echo 'scancel: error: no permission' >&2; exit 1")
    with pytest.raises(TokbenchError, match="scancel: scancel: error: no permission"):
        list(cancel(plan_of(tmp_path, job("a"), slurm=(RUN,))))


def test_without_slurm_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    lock = locked(tmp_path)
    plan = plan_of(tmp_path, job("a"), slurm=(RUN,))
    with pytest.raises(TokbenchError, match="squeue: not found, and the run went through SLURM"):
        list(cancel(plan))
    assert lock.exists()
    said, *_ = cancel(plan, force=True)
    assert said == "No job of SLURM was cancelled: squeue is not found here."
    assert not lock.exists()


def test_a_run_of_another_machine(tmp_path: Path) -> None:
    lock = locked(tmp_path)
    plan = plan_of(tmp_path, job("a"), host="login1")
    with pytest.raises(TokbenchError, match="on login1 holds no lock that is seen from here, but may be at work"):
        list(cancel(plan))
    with held_meanwhile(plan.folder), pytest.raises(TokbenchError, match="on login1 is at work"):
        list(cancel(plan))
    assert lock.exists()
    assert list(cancel(plan, force=True))[1] == f"Unlocked {tmp_path}."


def test_force_ends_no_run_of_this_machine(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, job("a"))
    with held_meanwhile(plan.folder), pytest.raises(TokbenchError, match=f"on {socket.gethostname()} is at work"):
        list(cancel(plan, force=True))


def test_the_engines_folder_is_not_seen(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, job("a"), directory="/nowhere")
    assert list(cancel(plan))[1] == "/nowhere/.snakemake: not seen from here; where it is, say 'snakemake --unlock'."


def test_a_run_through_slurm_keeps_its_id(tmp_path: Path) -> None:
    """And those of the runs before it, whose jobs may be at work if they were killed."""
    module = ModuleType("snakemake_executor_plugin_slurm")
    executor: Any = type("Executor", (), {"__module__": module.__name__, "run_uuid": RUN})()
    workflow = SimpleNamespace(scheduler=SimpleNamespace(_executor=executor))
    assert list(_slurm_runs(workflow, str(tmp_path))) == [RUN]
    write_plan(plan_of(tmp_path, job("a"), slurm=("older",)))
    assert list(_slurm_runs(workflow, os.fspath(tmp_path / "results" / "x"))) == ["older", RUN]
    local = SimpleNamespace(scheduler=SimpleNamespace(_executor=object()))
    assert list(_slurm_runs(local, os.fspath(tmp_path / "results" / "x"))) == ["older"]


def test_a_killed_run_of_the_executor(tmp_path: Path) -> None:
    """The executor itself submits to a pretended SLURM, which starts nothing and calls all jobs 77; it is killed with
    the two in the queue that wait for no other, the corpus and the references."""
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
    while not (results / "jobs.json").exists() or len(overview(read_plan(results)).those("queued")) < 2:
        assert process.poll() is None, (tmp_path / "said").read_text()
        assert time.monotonic() < until
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    [run] = read_plan(results).run.slurm
    assert (folder / "queue").read_text() == f"77 {run}\n"
    cancelling = [sys.executable, "-m", "tokbench", "cancel", str(results)]
    sources = {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(cancelling, env=environment | sources, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        f"Cancelled 1 job of SLURM, run {run}.",
        f"Unlocked {checkout.folder}.",
        f"{results}: 0 of 22 jobs done, 2 interrupted, 20 missing",
        f"Go on with: cd {checkout.folder} && snakemake --profile profiles/slurm",
    ], done.stderr
