"""Runs on a SLURM whose controller fails: each ends well, or in bounded time with one line and status 1.

SLURM's programs are fakes, and time is faster: a tenth of a second is the half minute between two queries.
"""

import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from snakemake_logger_plugin_lines import submission
from tests.support.rules import AT_ONCE, HOME
from tests.support.workflow.slurm_programs import Controller

pytestmark = pytest.mark.skipif(find_spec("snakemake_executor_plugin_slurm") is None, reason="not installed")

WORKFLOW = """
rule all:
    input: [f"{number}.txt" for number in range(JOBS)]

rule work:
    output: "{number}.txt"
    message: "work {wildcards.number}"
    resources: runtime=5, mem_mb=100
    shell: "touch {output}"
"""
OPTIONS = (
    "--executor slurm --jobs 6 --retries 2 --latency-wait 1 --slurm-init-seconds-before-status-checks 1"
    " --slurm-status-command squeue --default-resources slurm_account=group slurm_partition=cpu"
    " --logger-lines-slurm-interval 0.1"
)
PATIENT = " --slurm-status-attempts 180 --max-status-checks-per-second 30"
"""The profile's settings, with pauses that are as much shorter."""
TIMED_OUT = "Batch job submission failed: Socket timed out on send/recv operation"
LIMIT = "QOSMaxSubmitJobPerUserLimit"
NO_CONTACT = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)"


class Run:
    """A run of Snakemake that is under way, with a number of jobs that all are ready."""

    def __init__(self, folder: Path, slurm: Controller, jobs: int, options: str) -> None:
        (folder / "Snakefile").write_text(WORKFLOW.replace("JOBS", str(jobs)))
        profile = ["--workflow-profile", str(HOME / "profiles" / "default")]
        path = f"{slurm.bin}{os.pathsep}{os.environ['PATH']}"
        self.process = subprocess.Popen(
            [sys.executable, "-c", AT_ONCE, *profile, *options.split()],
            cwd=folder,
            env=os.environ | {"PATH": path, "PYTHONPATH": str(HOME / "src")},
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )

    def ended(self) -> tuple[int, list[str], str]:
        """Return the exit status, the lines about SLURM without numbers of jobs, and all that was printed."""
        try:
            printed = self.process.communicate(timeout=240)[1]
        except subprocess.TimeoutExpired:
            self.process.kill()
            pytest.fail(f"the run hangs: {self.process.communicate()[1]}")
        lines = [line[17:] for line in printed.splitlines() if line[10:15] == "slurm"]
        return self.process.returncode, [re.sub(r" \(job \d+\)", "", line) for line in lines], printed


def test_a_run_outlives_two_hours_of_faults(tmp_path: Path) -> None:
    """24 seconds in place of two hours: 30 jobs of three seconds, of which at most six run at a time."""
    jobs = {f"rule_work_wildcards_{number}": {"seconds": 3} for number in range(30)}
    jobs["rule_work_wildcards_5"]["ends"] = jobs["rule_work_wildcards_9"]["ends"] = ["PREEMPTED", "COMPLETED"]
    jobs["rule_work_wildcards_7"]["ends"] = ["CANCELLED", "COMPLETED"]
    faults = {
        "sbatch": [
            [3, 5, TIMED_OUT],
            [11, 11, f"taken:{TIMED_OUT}"],
            [14, 16, LIMIT],
            [20, 21, "Batch job submission failed: Unable to contact slurm controller (connect failure)"],
            [26, 26, f"taken:{TIMED_OUT}"],
        ],
        "squeue": [[20, 24, NO_CONTACT], [60, 100, NO_CONTACT], [200, 204, NO_CONTACT]],
        "scontrol": [[10, 12, NO_CONTACT]],
        "sacct": [[1, 5, "Connection refused"]],
    }
    slurm = Controller(tmp_path / "slurm", {"jobs": jobs, "faults": faults})
    status, lines, printed = Run(tmp_path, slurm, 30, OPTIONS + PATIENT).ended()
    assert status == 0, printed
    assert len(list(tmp_path.glob("*.txt"))) == 30
    # The cancelled job fails and is submitted twice, the preempted ones once.
    assert sorted(slurm.submissions()) == sorted([*jobs, "rule_work_wildcards_7"])
    waits = "submissions wait: {}; they are tried again"
    assert sorted(lines) == sorted(
        [
            waits.format(LIMIT),
            waits.format("Socket timed out on send/recv operation"),
            waits.format("Unable to contact slurm controller (connect failure)"),
            "work 5 was stopped for a job that goes first, and is requeued",
            "work 9 was stopped for a job that goes first, and is requeued",
            "work 7 was cancelled",
            "work 7 is tried again (mem_mb 100, cores 1, runtime 5, partition cpu)",
        ]
    )


HANGS = {
    "the executor forgets": ({"faults": {"squeue": [[10, 25, NO_CONTACT]]}}, ""),
    "SLURM requeues no job": ({"jobs": {"rule_work_wildcards_1": {"ends": ["PREEMPTED"]}}, "requeued": False}, PATIENT),
}


@pytest.mark.parametrize("case", HANGS)
def test_a_run_that_would_wait_forever_ends_with_one_line(tmp_path: Path, case: str) -> None:
    """Jobs that were ready have been submitted before."""
    plan, settings = HANGS[case]
    slurm = Controller(tmp_path / "slurm", plan)
    status, lines, printed = Run(tmp_path, slurm, 12, OPTIONS + settings).ended()
    assert status == 1, printed
    end = (
        r"work \d+( and \d+ more have| has) ended, and Snakemake's executor does not notice: the run ends; start it .*"
    )
    assert re.fullmatch(end, lines[-1]), printed
    assert len(slurm.submissions()) == len(set(slurm.submissions()))
    if case == "SLURM requeues no job":
        assert len(slurm.submissions()) == 12
        assert (
            "work 1 was stopped for a job that goes first, and SLURM does not requeue it: the next run repeats it"
            in lines
        )


def test_control_c_ends_a_run_whose_submissions_wait(tmp_path: Path) -> None:
    slurm = Controller(tmp_path / "slurm", {"faults": {"sbatch": [[1, 10_000, TIMED_OUT]]}})
    run = Run(tmp_path, slurm, 12, OPTIONS)
    while run.process.poll() is None and len(slurm.calls("sbatch")) < 8:
        time.sleep(0.1)
    run.process.send_signal(signal.SIGINT)
    status, lines, printed = run.ended()
    assert status == 1, printed
    assert lines == ["submissions wait: Socket timed out on send/recv operation; they are tried again"]
    assert slurm.submissions() == []


@pytest.mark.parametrize(
    ("message", "calls"),
    [
        (TIMED_OUT, 3),
        (LIMIT, 3),
        ("Memory specification can not be satisfied", 1),
    ],
)
def test_a_refusal_is_passed_on_at_once_or_after_many_attempts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], message: str, calls: int
) -> None:
    slurm = Controller(tmp_path / "slurm", {"faults": {"sbatch": [[1, 100, message]]}})
    monkeypatch.setenv("PATH", f"{slurm.bin}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(submission, "ATTEMPTS", dict.fromkeys(submission.ATTEMPTS, 2))
    folder = tmp_path / "submissions"
    folder.mkdir()
    arguments = ["--job-name", "run", "--comment", "rule_work", "--wrap=true"]
    assert submission.submit(folder, str(slurm.bin / "sbatch"), 0.0, arguments) == 1
    assert len(slurm.calls("sbatch")) == calls
    assert capsys.readouterr().err == f"sbatch: error: {message}\n"
