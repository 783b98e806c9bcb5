"""Messages on jobs of a SLURM cluster, with fake programs of SLURM."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines import slurm
from snakemake_logger_plugin_lines.slurm import SlurmLog, end_of, meaning_of, pending_reasons
from tests.support.rules import snakemake

Fake = Callable[[str, str], None]
REFUSED = """SLURM sbatch failed. The error message was 'sbatch: error: Memory specification can not be satisfied
sbatch: error: Batch job submission failed: Requested node configuration is not available'.
    sbatch call:
        sbatch --parsable --comment 'rule_it's'
"""
ENDED = "SLURM-job '7' failed, SLURM status is: 'FAILED'. "
ASKED = {"mem_mb": 100, "_cores": 2, "runtime": 60, "slurm_partition": "cpu"}


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Puts a shell script in the place of a command; no other command is there."""
    folder = tmp_path / "programs"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def put(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)

    return put


def starts(key: int, message: str = "build bpe at 400", **asked: Any) -> Any:
    return SimpleNamespace(event=LogEvent.JOB_INFO, msg="", jobid=key, rule_msg=message, resources=ASKED | asked)


def submitted(key: int, number: int, log: str = "log") -> Any:
    text = f"Job {key} has been submitted with SLURM jobid {number} (log: {log})."
    return SimpleNamespace(event=None, msg=text)


def failed(key: int, message: str | None = None) -> Any:
    return SimpleNamespace(event=LogEvent.JOB_ERROR, msg="Error in rule build", jobid=key, rule_msg=message)


def said(*records: Any) -> list[str]:
    log = SlurmLog()
    return [line for record in records for line in log.lines(record)]


def test_refused_jobs_are_reported_once_with_reason_and_remedy() -> None:
    assert said(starts(3), failed(3, REFUSED), starts(3), failed(3, REFUSED)) == [
        "build bpe at 400 was refused: Memory specification can not be satisfied; Requested node configuration is not"
        " available (mem_mb 100, cores 2, runtime 60, partition cpu); lower cores, or mem_mb under resources, in the"
        " profile: no job may request more than a node has"
    ]


@pytest.mark.parametrize("reason", ["Priority", "Resources", "None", "(Resources)", "Priority,UnavailableNodes:n1", ""])
def test_jobs_that_only_wait_are_not_reported(reason: str) -> None:
    assert meaning_of(reason) == ""


@pytest.mark.parametrize(
    ("reason", "meaning"),
    [
        ("PartitionTimeLimit", "will never start: its runtime is more than its partition allows; give the rule less"),
        ("PartitionNodeLimit", "will never start"),
        ("PartitionConfig", "will never start: it requests more than its partition has; lower cores"),
        ("BadConstraints", "will never start"),
        ("AssocMaxWallDurationPerJobLimit", "will never start: its runtime"),
        ("QOSMaxMemoryPerJob", "will never start: it requests more than one job"),
        ("AssocMaxJobsLimit", "it starts when other jobs have ended"),
        ("QOSMaxJobsPerUserLimit", "it starts when other jobs have ended"),
        ("ReqNodeNotAvail, UnavailableNodes:n2", "are down, drained or reserved; sinfo shows them"),
        ("WhoKnows", "WhoKnows"),
    ],
)
def test_jobs_that_can_never_start_are_reported(reason: str, meaning: str) -> None:
    assert meaning in meaning_of(reason)
    assert meaning_of(reason).startswith(reason)


def test_reasons_to_wait_are_reported_once_after_the_second_sight(fake: Fake) -> None:
    fake(
        "squeue", "echo '7|PartitionTimeLimit'; echo '8|PartitionTimeLimit'; echo '9|Priority'; echo '10|Odd'; echo '?'"
    )
    log = SlurmLog()
    for number in (7, 8, 9, 10, 11):
        assert log.lines(starts(number)) == log.lines(submitted(number, number)) == []
    assert log.waiting("run") == []
    first, second = log.waiting("run")
    assert first.startswith("build bpe at 400 (job 7) and 1 more wait: PartitionTimeLimit: it will never start")
    assert second == "build bpe at 400 (job 10) waits: Odd"
    assert log.waiting("run") == []


def test_a_job_that_has_ended_waits_no_more(fake: Fake) -> None:
    fake("squeue", "echo '7|Odd'")
    log = SlurmLog()
    for record in (starts(3), submitted(3, 7), SimpleNamespace(event=LogEvent.JOB_FINISHED, msg="", job_id=3)):
        log.lines(record)
    assert log.waiting("run") == log.waiting("run") == []


LOGGED = {
    "slurmstepd-n1: error: StepId=1.0 exceeded memory limit (642904064 > 209715200), being killed": "OUT_OF_MEMORY",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch. Some of the step tasks have been": "OUT_OF_MEMORY",
    "slurmstepd: error: Detected 3 oom-kill event(s) in StepId=1.0 cgroup.": "OUT_OF_MEMORY",
    "slurmstepd-n1: error: *** JOB 2 ON n1 CANCELLED AT 2026-11-22T13:58:01 DUE TO TIME LIMIT ***": "TIMEOUT",
    "slurmstepd: error: *** JOB 2 ON n1 CANCELLED AT 2026-11-22T13:58:01 DUE TO PREEMPTION ***": "PREEMPTED",
    "tokbench: out of memory: 8 GB for counts exceeded memory limit": "",
    "slurmstepd-n1: error: *** STEP 1.0 ON n1 CANCELLED AT 2026-11-22T13:56:34 ***": "",
}


@pytest.mark.parametrize("line", LOGGED)
def test_log_of_a_job_gives_its_end_without_accounting(fake: Fake, tmp_path: Path, line: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff" * 100_000 + f"\n{line}\n".encode())
    assert end_of("1", log) == LOGGED[line]
    fake("scontrol", "echo 'JobId=1 JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0'")
    assert end_of("1", log) == LOGGED[line]


@pytest.mark.parametrize(
    ("lines", "state"),
    [
        ("1|OUT_OF_MEMORY|0:125", "OUT_OF_MEMORY"),
        ("1|FAILED|1:0 1.batch|FAILED|1:0 1.0|OUT_OF_MEMORY|0:125", "OUT_OF_MEMORY"),
        ("1|TIMEOUT|0:0 1.batch|CANCELLED|0:15", "TIMEOUT"),
        ("1|CANCELLED by 0|0:0 1.0|CANCELLED|0:15", "CANCELLED"),
        ("1|FAILED|1:0 1.0|CANCELLED|0:15", ""),
        ("1|FAILED|137:0", "OUT_OF_MEMORY"),
        ("nonsense", ""),
    ],
)
def test_sacct_gives_the_end_of_a_job_and_its_steps(fake: Fake, lines: str, state: str) -> None:
    text = lines.replace(" by ", "_by_").replace(" ", "\n").replace("_by_", " by ")
    fake("sacct", f"echo '{text}'")
    assert end_of("1", None) == state


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ("JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15", "TIMEOUT"),
        ("JobState=FAILED Reason=NonZeroExitCode ExitCode=137:0", "OUT_OF_MEMORY"),
        ("JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0", ""),
    ],
)
def test_scontrol_gives_the_end_without_accounting(fake: Fake, fields: str, state: str) -> None:
    fake("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1")
    fake("scontrol", f"echo 'JobId=1 JobName=x {fields} RunTime=00:00:04'")
    assert end_of("1", None) == state


@pytest.mark.parametrize(
    ("state", "line"),
    [
        ("OUT_OF_MEMORY", "was killed for memory, it had mem_mb 100"),
        ("TIMEOUT", "was killed for time, it had runtime 60"),
        ("CANCELLED", "was cancelled"),
    ],
)
def test_killed_job_is_reported_with_old_and_new_resources(fake: Fake, state: str, line: str) -> None:
    fake("scontrol", f"echo 'JobState={state} ExitCode=0:15'")
    records = (starts(3), submitted(3, 7), failed(3, ENDED), starts(3, mem_mb=200), submitted(3, 8))
    assert said(*records) == [
        f"build bpe at 400 (job 7) {line}",
        "build bpe at 400 (job 8) is tried again (mem_mb 200, cores 2, runtime 60, partition cpu)",
    ]


@pytest.mark.usefixtures("fake")
def test_a_job_that_failed_by_itself_is_nothing_that_a_cluster_did() -> None:
    assert said(starts(3), submitted(3, 7, "absent"), failed(3, ENDED)) == []
    assert said(starts(3), failed(3)) == []


def test_a_command_that_hangs_counts_as_one_that_is_not_there(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "PATIENCE", 0.2)
    fake("squeue", "while :; do :; done")
    assert pending_reasons("run") == {}
    assert end_of("1", None) == ""


WORKFLOW = """
from tokbench.workflow.resources import double_on_retry

rule part:
    output: "part"
    resources: mem_mb=double_on_retry(200), runtime=5
    message: "count"
    shell: "touch {output}"
"""


@pytest.mark.skipif(find_spec("snakemake_executor_plugin_slurm") is None, reason="not installed")
def test_a_job_that_slurms_own_executor_has_submitted_is_killed_for_memory(fake: Fake, tmp_path: Path) -> None:
    """Through Snakemake itself, whose records have more than those above."""
    fake("sbatch", f'echo "$*" >> {tmp_path}/asked; echo 7')
    fake("squeue", "case \"$*\" in *%T*) echo '7|OUT_OF_MEMORY';; esac")
    fake("scontrol", "echo 'MinJobAge = 300 sec'; echo 'JobState=OUT_OF_MEMORY ExitCode=0:125'")
    fake("sinfo", "true")
    fake("sacct", "exit 1")
    (tmp_path / "Snakefile").write_text(WORKFLOW)
    options = "--executor slurm --jobs 2 --retries 1 --slurm-init-seconds-before-status-checks 1 --resources mem_mb=500"
    options += " --slurm-status-command squeue"
    done = snakemake(tmp_path, f"{os.environ['PATH']}:{os.defpath}", options)
    assert done.returncode == 1
    lines = [line[17:] for line in done.stderr.splitlines() if line[10:15] == "slurm"]
    assert lines == [
        "count (job 7) was killed for memory, it had mem_mb 200",
        "count (job 7) is tried again (mem_mb 400, cores 1, runtime 5)",
        "count (job 7) was killed for memory, it had mem_mb 400",
    ], done.stderr
    asked = (tmp_path / "asked").read_text()
    assert ["--mem 200" in line for line in asked.splitlines() if "--mem" in line] == [True, False]
    assert "--attempt 2" in asked.splitlines()[-1]
