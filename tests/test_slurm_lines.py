"""What is said of jobs on a SLURM cluster, with programs that only pretend to be SLURM's."""

import asyncio
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

from snakemake_logger_plugin_lines import slurm
from snakemake_logger_plugin_lines.executor import attach, telling
from snakemake_logger_plugin_lines.reasons import wait
from snakemake_logger_plugin_lines.watch import Watch
from tests.support.fake_slurm import snakemake
from tokbench.workflow.resources import double_on_retry, extend_on_retry

Fake = Callable[[str, str], None]
DISABLED = "echo 'Slurm accounting storage is disabled' >&2; exit 1"
REFUSED = """SLURM sbatch failed. The error message was 'sbatch: error: Memory specification can not be satisfied
sbatch: error: Batch job submission failed: Requested node configuration is not available'.
    sbatch call:
        sbatch --parsable --comment 'rule_it's'
"""


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


class Job:
    """As much of a job as is told of."""

    def __init__(
        self, rule: str = "build", message: str = "build bpe at 400", attempt: int = 1, most: int = 500
    ) -> None:
        self.rule = SimpleNamespace(name=rule)
        self.name, self.message, self.attempt, self.restart_times, self.most = rule, message, attempt, 2, most

    @property
    def resources(self) -> dict[str, int | str]:
        memory, time = double_on_retry(100)(None, self.attempt), extend_on_retry(60)(None, self.attempt)
        return {"mem_mb": min(memory, self.most), "runtime": time, "_cores": 2, "slurm_partition": "cpu"}

    def is_group(self) -> bool:
        return False


class Group:
    """A group that asks for what all of its jobs ask for."""

    def __init__(self, *jobs: Job) -> None:
        self.jobs, self.toposorted, self.restart_times = frozenset(jobs), [list(jobs)], 2

    @property
    def attempt(self) -> int:
        return next(iter(self.jobs)).attempt

    @attempt.setter
    def attempt(self, attempt: int) -> None:
        for job in self.jobs:
            job.attempt = attempt

    @property
    def resources(self) -> dict[str, Any]:
        return {"mem_mb": sum(int(job.resources["mem_mb"]) for level in self.toposorted for job in level)}

    def is_group(self) -> bool:
        return True


def test_what_is_refused_is_told_once_with_the_reason_and_what_to_do() -> None:
    watch, job = Watch(), Job()
    [line] = watch.refused(job, REFUSED)
    assert line == (
        "build bpe at 400 was refused: Memory specification can not be satisfied; Requested node configuration is not"
        " available (mem_mb 100, cores 2, runtime 60, partition cpu); what one job may ask for is cores, and mem_mb"
        " under resources, in the profile: no more than a node has"
    )
    assert watch.refused(job, REFUSED) == []


def test_what_cannot_be_submitted_is_told_in_the_words_that_there_are() -> None:
    [line] = Watch().refused(Job(), "The cluster is on holiday.\nmore of it")
    assert line.startswith("build bpe at 400 was refused: The cluster is on holiday. (mem_mb 100,")


@pytest.mark.parametrize("reason", ["Priority", "Resources", "None", "(Resources)", "Priority,UnavailableNodes:n1"])
def test_a_job_whose_turn_will_come_is_not_told_of(reason: str) -> None:
    assert wait(reason) == ""


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("PartitionTimeLimit", "will never start: its runtime is more than its partition allows; give the rule less"),
        ("PartitionNodeLimit", "will never start"),
        ("PartitionConfig", "will never start: it asks for more than its partition gives; what one job may ask for"),
        ("BadConstraints", "will never start"),
        ("AssocMaxWallDurationPerJobLimit", "will never start: its runtime"),
        ("QOSMaxMemoryPerJob", "will never start: it asks for more than one job"),
        ("AssocMaxJobsLimit", "it starts when other jobs have ended"),
        ("QOSMaxJobsPerUserLimit", "it starts when other jobs have ended"),
        ("ReqNodeNotAvail, UnavailableNodes:n2", "are down, drained or reserved; sinfo shows them"),
        ("WhoKnows", "WhoKnows"),
    ],
)
def test_a_job_that_waits_in_vain_is_told_of(reason: str, told: str) -> None:
    assert told in wait(reason)
    assert wait(reason).startswith(reason)


def test_reasons_to_wait_are_told_when_seen_twice_and_once_for_all_jobs_alike(fake: Fake) -> None:
    fake(
        "squeue", "echo '7|PartitionTimeLimit'; echo '8|PartitionTimeLimit'; echo '9|Priority'; echo '10|Odd'; echo '?'"
    )
    watch, jobs = Watch(), [(number, Job()) for number in ("7", "8", "9", "10", "11")]
    assert watch.waiting("run", jobs) == []
    first, second = watch.waiting("run", jobs)
    assert first.startswith("build bpe at 400 (job 7) and 1 more job wait: PartitionTimeLimit: it will never start")
    assert second == "build bpe at 400 (job 10) waits: Odd"
    assert watch.waiting("run", jobs) == []


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
def test_a_jobs_log_tells_what_killed_it_where_nothing_else_does(fake: Fake, tmp_path: Path, line: str) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"\xff" * 100_000 + f"\n{line}\n".encode())
    assert slurm.end_of("1", log, accounts=False) == LOGGED[line]
    fake("scontrol", "echo 'JobId=1 JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0'")
    assert slurm.end_of("1", log, accounts=False) == LOGGED[line]


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
def test_sacct_tells_how_a_job_and_its_steps_ended(fake: Fake, lines: str, state: str) -> None:
    text = lines.replace(" by ", "_by_").replace(" ", "\n").replace("_by_", " by ")
    fake("sacct", f"echo '{text}'")
    assert slurm.end_of("1", None, accounts=True) == state


@pytest.mark.parametrize(
    ("fields", "state"),
    [
        ("JobState=TIMEOUT Reason=TimeLimit ExitCode=0:15", "TIMEOUT"),
        ("JobState=FAILED Reason=NonZeroExitCode ExitCode=137:0", "OUT_OF_MEMORY"),
        ("JobState=FAILED Reason=NonZeroExitCode ExitCode=1:0", ""),
    ],
)
def test_scontrol_tells_where_there_are_no_accounts(fake: Fake, fields: str, state: str) -> None:
    fake("sacct", DISABLED)
    fake("scontrol", f"echo 'JobId=1 JobName=x {fields} RunTime=00:00:04'")
    assert slurm.end_of("1", None, accounts=False) == state


@pytest.fixture
def memory(fake: Fake) -> None:
    fake("scontrol", "echo 'JobState=OUT_OF_MEMORY ExitCode=0:125'")


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize(
    ("job", "told"),
    [
        (Job(), "build bpe at 400 (job 7)|100: tried again, attempt 2 of 3, with mem_mb 200"),
        (
            Job(attempt=2, most=200),
            "build bpe at 400 (job 7)|200: tried again, attempt 3 of 3, with no more: set mem_mb by set-resources in"
            " the profile, or raise its limit under resources",
        ),
        (
            Job(attempt=3),
            "build bpe at 400 (job 7)|400: not tried again after attempt 3 of 3; give its rule more mem_mb, by"
            " set-resources in the profile",
        ),
        (
            Group(Job("count"), Job("merge_counts"), Job("count")),
            "group of count x2, merge_counts (job 7)|300: tried again, attempt 2 of 3, with mem_mb 600",
        ),
    ],
)
def test_a_killed_job_is_told_of_with_what_it_had_and_what_it_gets(job: Job, told: str) -> None:
    before = job.attempt
    assert Watch().failed(job, "7", None) == [told.replace("|", " was killed for memory, it had mem_mb ")]
    assert job.attempt == before


def test_a_job_cut_off_by_its_time_and_one_that_was_cancelled(fake: Fake) -> None:
    fake("scontrol", "echo 'JobState=TIMEOUT ExitCode=0:15'")
    [line] = Watch().failed(Job(), "7", None)
    assert line.endswith("was killed for time, it had runtime 60: tried again, attempt 2 of 3, with runtime 120")
    fake("scontrol", "echo 'JobState=CANCELLED ExitCode=0:15'")
    assert Watch().failed(Job(), "7", None) == ["build bpe at 400 (job 7) was cancelled: tried again, attempt 2 of 3"]


@pytest.mark.usefixtures("fake")
def test_a_job_that_failed_by_itself_is_nothing_that_a_cluster_did() -> None:
    assert Watch().failed(Job(), "7", Path("absent")) == []


def test_squeue_is_asked_where_sacct_does_not_answer(fake: Fake) -> None:
    settings = SimpleNamespace(status_command="sacct")
    fake("sacct", DISABLED)
    [line] = Watch().choose_status(settings)
    assert line == "sacct does not answer (Slurm accounting storage is disabled): squeue is asked how jobs are"
    assert settings.status_command == "squeue"
    assert Watch().choose_status(settings) == []


def test_sacct_is_asked_where_it_answers(fake: Fake) -> None:
    settings = SimpleNamespace(status_command="sacct")
    fake("sacct", "true")
    assert Watch().choose_status(settings) == []
    assert settings.status_command == "sacct"


def test_a_command_that_hangs_counts_as_one_that_is_not_there(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slurm, "PATIENCE", 0.2)
    fake("squeue", "while :; do :; done")
    assert slurm.status_trouble("squeue") == "no answer in 0 s"
    assert slurm.pending("run") == {}
    assert slurm.status_trouble("sacct") == "No such file or directory"


class Executor:
    """As much of SLURM's executor as stands in the way; ``answers`` are the jobs that it is told of when it asks."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.reported: list[tuple[str, Any]] = []
        self.run_uuid, self.answers = "run", list[str]()
        self.logger = SimpleNamespace(warning=lambda line, extra: self.said.append(line))
        self.workflow = SimpleNamespace(executor_settings=SimpleNamespace(status_command="squeue"))
        checked(self)
        self.__post_init__()

    def __post_init__(self) -> None:
        self.refuses = ""

    def run_jobs(self, jobs: list[Any]) -> None:
        for job in jobs:
            self.run_job(job)

    def run_job_pre(self, job: Any) -> None:
        self.said.append(f"start {job.message}")

    def run_job(self, job: Any) -> None:
        if self.refuses:
            raise RuntimeError(self.refuses)
        self.said.append(f"submitted {job.message}")

    async def check_active_jobs(self, active_jobs: list[Any]) -> Any:
        for one in active_jobs:
            if one.external_jobid in self.answers:
                if one.external_jobid == "1":
                    self.report_job_success(one)
                elif one.external_jobid == "2":
                    self.report_job_error(one, msg="failed", aux_logs=["log"])
                else:
                    yield one

    def report_job_success(self, job_info: Any) -> None:
        self.reported.append(("success", job_info.external_jobid))

    def report_job_error(self, job_info: Any, msg: str | None = None, **named: Any) -> None:
        self.reported.append((f"error {msg} {named}", job_info.external_jobid))


@pytest.fixture
def executor() -> Iterator[Any]:
    return telling(Executor)()


def test_each_job_is_told_of_before_it_is_submitted(executor: Any) -> None:
    """SLURM's executor submits from threads and says nothing of a job before."""
    executor.run_jobs([Job()])
    assert executor.said == ["start build bpe at 400", "submitted build bpe at 400"]


@pytest.mark.usefixtures("fake")
def test_a_job_that_cannot_be_submitted_has_failed_and_is_not_waited_for(executor: Any) -> None:
    executor.refuses = "The given account appears to be invalid."
    executor.run_jobs([Job()])
    assert executor.reported == [("error The given account appears to be invalid. {}", None)]
    assert "was refused: The given account appears to be invalid. (mem_mb 100" in executor.said[-1]


def checked(executor: Any, *numbers: str) -> list[str]:
    """The jobs that are open after a check."""

    async def check() -> list[Any]:
        jobs = [SubmittedJobInfo(Job(), number, {"slurm_logfile": Path("absent")}) for number in numbers]
        return [one.external_jobid async for one in executor.check_active_jobs(jobs)]

    return asyncio.run(check())


def test_a_job_that_nobody_tells_of_stays_open(executor: Any, fake: Fake) -> None:
    fake("squeue", "echo 'squeue: error: Unable to contact slurm controller' >&2; exit 1")
    told = "squeue does not answer (Unable to contact slurm controller): it is asked again, and jobs are waited for"
    assert checked(executor, "1", "2", "3") == ["1", "2", "3"]
    assert checked(executor, "1", "2", "3") == ["1", "2", "3"]
    assert executor.said == [told]
    fake("squeue", "true")
    executor.answers = ["1", "2", "3"]
    assert checked(executor, "1", "2", "3") == ["3"]
    assert executor.reported == [("success", "1"), ("error failed {'aux_logs': ['log']}", "2")]
    assert executor.said == [told]


def test_a_run_goes_on_whatever_its_jobs_are(executor: Any, fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake("scontrol", "echo JobState=TIMEOUT")
    executor.answers = ["2"]
    monkeypatch.setattr(Job, "resources", None)
    assert checked(executor, "2") == []
    assert executor.reported[0][1] == "2"
    assert executor.said == []


def test_snakemake_takes_it_instead_of_slurms_own() -> None:
    pytest.importorskip("snakemake_executor_plugin_slurm")
    plugin = ExecutorPluginRegistry().plugins["slurm"]
    attach()
    once = plugin.executor
    attach()
    assert once.telling
    assert once.__module__ == "snakemake_executor_plugin_slurm"
    assert plugin.executor is once


GROUPED = """
from tokbench.workflow.resources import double_on_retry

rule merge:
    input: "part"
    output: "whole"
    group: "both"
    resources: mem_mb=double_on_retry(300), runtime=5
    message: "merge"
    shell: "cp {input} {output}"

rule part:
    output: "part"
    group: "both"
    resources: mem_mb=double_on_retry(200), runtime=5
    message: "count"
    shell: "touch {output}"
"""


@pytest.mark.skipif(find_spec("snakemake_executor_plugin_slurm") is None, reason="not installed")
def test_a_group_that_slurms_own_executor_has_submitted_is_killed_for_memory(fake: Fake, tmp_path: Path) -> None:
    """Through Snakemake itself, whose jobs and groups are more than those above."""
    fake("sbatch", f'echo "$*" >> {tmp_path}/asked; echo 7')
    fake("squeue", "case \"$*\" in *%T*) echo '7|OUT_OF_MEMORY';; esac")
    fake("scontrol", "echo 'MinJobAge = 300 sec'; echo 'JobState=OUT_OF_MEMORY ExitCode=0:125'")
    fake("sinfo", "true")
    (tmp_path / "Snakefile").write_text(GROUPED)
    fake("sacct", DISABLED)
    options = "--executor slurm --jobs 2 --retries 1 --slurm-init-seconds-before-status-checks 1 --resources mem_mb=500"
    done = snakemake(tmp_path, f"{os.environ['PATH']}:{os.defpath}", options)
    assert done.returncode == 1
    told = [line[17:].partition(", by set-resources")[0] for line in done.stderr.splitlines() if line[10:15] == "slurm"]
    killed = "group of merge, part (job 7) was killed for memory, it had mem_mb"
    assert told == [
        "sacct does not answer (Slurm accounting storage is disabled): squeue is asked how jobs are",
        f"{killed} 300: tried again, attempt 2 of 2, with mem_mb 500",
        f"{killed} 500: not tried again after attempt 2 of 2; give its rule more mem_mb",
    ]
    asked = (tmp_path / "asked").read_text()
    assert ["--mem 300" in line for line in asked.splitlines() if "--mem" in line] == [True, False]
    assert "--attempt 2" in asked.splitlines()[-1]
