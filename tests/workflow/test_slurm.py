"""Messages on jobs of a SLURM cluster, with fake programs of SLURM."""

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines import queries, without_empty_logs
from snakemake_logger_plugin_lines.queries import Queued, end_of, queue_of
from snakemake_logger_plugin_lines.reasons import meaning_of
from snakemake_logger_plugin_lines.slurm import PATIENCE, SlurmLog
from tests.support.rules import snakemake
from tokbench.errors import TokbenchError
from tokbench.workflow.run import check_python

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


def follows(*numbers: int) -> SlurmLog:
    """A log of jobs that were submitted, each with its number as its key."""
    log = SlurmLog()
    for number in numbers:
        assert log.lines(starts(number)) == log.lines(submitted(number, number)) == []
    return log


def test_reasons_to_wait_are_reported_once_after_the_second_sight(fake: Fake) -> None:
    reasons = {7: "PartitionTimeLimit", 8: "PartitionTimeLimit", 9: "Priority", 10: "Odd"}
    rows = "".join(f"echo '{key}|PENDING|{reason}';" for key, reason in reasons.items())
    fake("squeue", f"echo '?'; {rows}")
    queue = queue_of("run")
    assert queue == {str(key): Queued("PENDING", reason) for key, reason in reasons.items()}
    log = follows(7, 8, 9, 10, 11)
    assert log.waiting(queue) == []
    first, second = log.waiting(queue)
    assert first.startswith("build bpe at 400 (job 7) and 1 more wait: PartitionTimeLimit: it will never start")
    assert second == "build bpe at 400 (job 10) waits: Odd"
    assert log.waiting(queue) == []


def test_a_job_that_has_ended_waits_no_more() -> None:
    log = follows(7)
    log.lines(SimpleNamespace(event=LogEvent.JOB_FINISHED, msg="", job_id=7))
    queue = {"7": Queued("PENDING", "Odd")}
    assert log.waiting(queue) == log.waiting(queue) == []


def test_a_preempted_job_that_slurm_does_not_requeue_by_itself_is_requeued(fake: Fake, tmp_path: Path) -> None:
    fake("scontrol", f"echo $* >> {tmp_path}/asked; test $2 != 8")
    log = follows(7, 8)
    stopped, back = ({key: Queued(state, "") for key in ("7", "8")} for state in ("PREEMPTED", "PENDING"))
    assert log.preempted(stopped) == log.preempted(back) == log.preempted(stopped) == []
    ends = "build bpe at 400 (job {}) was stopped for a job that goes first, and "
    assert log.preempted(stopped) == [ends.format(7) + "is requeued"]
    assert (tmp_path / "asked").read_text() == "requeue 7\nrequeue 8\n"
    later = [line for _ in range(20) for line in log.preempted(back | {"8": stopped["8"]})]
    assert later == [ends.format(8) + "SLURM does not requeue it: the next run repeats it"]


ENDED_UNNOTICED = {"7": Queued("COMPLETED", "None")}


def test_a_run_ends_if_all_its_jobs_have_ended_and_nothing_happens() -> None:
    """Number 8 has left the queue."""
    log = follows(7, 8)
    told = [log.unnoticed(ENDED_UNNOTICED) for _ in range(PATIENCE)]
    assert told[:-1] == [[]] * (PATIENCE - 1)
    assert told[-1] == [
        "build bpe at 400 (job 7) and 1 more have ended, and Snakemake's executor does not notice: the run ends; start"
        " it again, it continues with the finished results"
    ]


@pytest.mark.parametrize("sign", ["none", "another job runs", "a job is not yet submitted", "a job ends"])
def test_a_run_goes_on_as_long_as_something_happens(sign: str) -> None:
    log = follows() if sign == "none" else follows(7)
    queue = ENDED_UNNOTICED | {"8": Queued("RUNNING", "None")}
    for turn in range(3 * PATIENCE):
        if sign == "another job runs":
            log.lines(submitted(8, 8))
        if sign == "a job is not yet submitted" and not turn:
            log.lines(starts(9))
        if sign == "a job ends" and turn % (PATIENCE - 1) == 0:
            log.lines(SimpleNamespace(event=LogEvent.JOB_FINISHED, msg="", job_id=100))
        assert log.unnoticed(queue) == []


LOGGED = {
    "slurmstepd-n1: error: StepId=1.0 exceeded memory limit (642904064 > 209715200), being killed": "OUT_OF_MEMORY",
    "slurmstepd: error: Detected 1 oom_kill event in StepId=1.batch. Some of the step tasks have been": "OUT_OF_MEMORY",
    "slurmstepd: error: Detected 3 oom-kill event(s) in StepId=1.0 cgroup.": "OUT_OF_MEMORY",
    "slurmstepd-n1: error: *** JOB 2 ON n1 CANCELLED AT 2026-11-22T13:58:01 DUE TO TIME LIMIT ***": "TIMEOUT",
    "slurmstepd: error: *** JOB 2 ON n1 CANCELLED AT 2026-11-22T13:58:01 DUE TO PREEMPTION ***": "PREEMPTED",
    "slurmstepd-n1: error: Exceeded job memory limit\nsrun: error: n1: task 0: Killed": "OUT_OF_MEMORY",
    "slurmstepd-n1: error: Exceeded job memory limit\nsrun: error: n1: task 0: Exited with exit code 1": "",
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


def test_log_of_slurm_is_shown_if_that_of_the_job_is_empty_or_missing(tmp_path: Path) -> None:
    paths = {name: str(tmp_path / name) for name in ("empty", "slurm", "missing")}
    Path(paths["empty"]).touch()
    Path(paths["slurm"]).write_text("slurm_script: not found")
    for own in ("empty", "missing"):
        record = SimpleNamespace(log=[paths[own], paths["slurm"]])
        assert without_empty_logs(record).log == [paths["slurm"]]
        assert record.log == [paths[own], paths["slurm"]]
        assert without_empty_logs(SimpleNamespace(log=[paths[own]])).log == [paths[own]]


@pytest.mark.parametrize("where", ["cluster", "cluster without a blank", "cloud", "here"])
def test_a_python_in_a_path_with_a_blank_is_rejected_on_a_cluster(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/a/bin/python" if where == "cluster without a blank" else "/a b/bin/python")
    settings = SimpleNamespace(implies_no_shared_fs=where == "cloud")
    plugin = SimpleNamespace(common_settings=settings)
    workflow = SimpleNamespace(non_local_exec=where != "here", executor_plugin=plugin)
    if where == "cluster":
        with pytest.raises(TokbenchError, match=r"^/a b/bin/python: this path has a blank, so no"):
            check_python(workflow)
    else:
        check_python(workflow)


def test_a_command_that_hangs_counts_as_one_that_is_not_there(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "PATIENCE", 0.2)
    fake("squeue", "while :; do :; done")
    assert queue_of("run") is None
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
