"""Reasons why SLURM rejects, delays or ends a job, one line each.

Sources are the records of Snakemake's log, the commands ``squeue``, ``sacct`` and ``scontrol``, and the logs of jobs.
If a command is missing, hangs or fails, its line is missing and the run continues.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

INTERVAL = 30.0
"""Seconds between two queries of the queue."""
PATIENCE = 20.0
"""Seconds to wait for the answer of a SLURM command."""
LOG_END = 64 * 1024
"""Bytes at the end of a job's log that are searched."""
RUN = re.compile(r"SLURM run ID: (\S+)")
SUBMITTED = re.compile(r"Job (\S+) has been submitted with SLURM jobid (\S+) \(log: (.*)\)\.")
REFUSED = re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'\.\n", re.DOTALL)
ENDED = re.compile(r"SLURM-job '(\S+)' failed")

NODE = "lower cores, or mem_mb under resources, in the profile: no job may request more than a node has"
PARTITION = "set slurm_partition in the profile, under default-resources and set-resources"
TIME = "give the rule less runtime, by set-resources in the profile, or a partition that allows it"
ACCOUNT = "set slurm_account under default-resources in the profile"
SERVICE = "set slurm-qos in the profile"
REFUSALS = (
    ("node configuration", NODE),
    ("memory specification", NODE),
    ("cpu count", NODE),
    ("processors", NODE),
    ("partition name", PARTITION),
    ("partition specified", PARTITION),
    ("time limit", TIME),
    ("account", ACCOUNT),
    ("gres", "set gpu: 0 for the rule, by set-resources in the profile, or a partition with GPUs"),
    ("qos", SERVICE),
)
"""Part of the message of ``sbatch`` in lower case, and a hint; the first match counts."""
ORDINARY = ("None", "Priority", "Resources", "Dependency", "BeginTime", "JobArrayTaskLimit", "Prolog", "Cleaning")
"""Reasons of jobs that will start without a change."""
WAITS = (
    ("PartitionTimeLimit", "it will never start: its runtime is more than its partition allows", TIME),
    ("PartitionNodeLimit", "it will never start: its partition allows no job that many nodes", PARTITION),
    ("PartitionConfig", "it will never start: it requests more than its partition has", NODE),
    ("PartitionDown", "its partition accepts no jobs now", PARTITION),
    ("PartitionInactive", "its partition accepts no jobs now", PARTITION),
    ("BadConstraints", "it will never start: no node has all that it requests", NODE),
    ("ReqNodeNotAvail", "the nodes that it could run on are down, drained or reserved", "sinfo shows them"),
    ("NodeDown", "the nodes that it could run on are down", "sinfo shows them"),
    ("InvalidAccount", "it will never start", ACCOUNT),
    ("AccountNotAllowed", "it will never start: its partition does not accept this account", ACCOUNT),
    ("InvalidQOS", "it will never start", SERVICE),
    ("QOSNotAllowed", "it will never start: its partition does not accept this quality of service", SERVICE),
    ("DependencyNeverSatisfied", "it will never start", "cancel it with scancel"),
    ("JobHeld", "it is held", "release it with scontrol release"),
    ("launch failed", "its node could not start it, and it is held", "release it with scontrol release"),
    ("MaxWallDurationPerJob", "it will never start: its runtime is more than you may request", TIME),
    ("PerJob", "it will never start: it requests more than one job of yours may have", NODE),
    ("MinCpu", "it will never start: it requests less than a job must have", NODE),
    ("Assoc", "your account's limit is reached; it starts when other jobs have ended", ""),
    ("QOS", "the quality of service's limit is reached; it starts when other jobs have ended", ""),
    ("Licenses", "the licences that it requests are in use", ""),
)
"""Part of the reason that ``squeue`` shows, its meaning, and a hint; the first match counts."""
ENDS = {
    "OUT_OF_MEMORY": "was killed for memory",
    "TIMEOUT": "was killed for time",
    "DEADLINE": "was killed at its deadline",
    "NODE_FAIL": "was lost with its node",
    "BOOT_FAIL": "was lost because its node did not start",
    "PREEMPTED": "was stopped for a job that goes first",
    "CANCELLED": "was cancelled",
}
"""States of jobs that SLURM ended. If a job has several, the first one here is the cause of the others."""
STATES_OF_STEPS = ("OUT_OF_MEMORY", "TIMEOUT")
"""States of a step that apply to its job."""
RESOURCES = {"mem_mb": "mem_mb", "cores": "_cores", "runtime": "runtime", "gpu": "gpu", "partition": "slurm_partition"}
"""Snakemake's names of the resources of a job, by their names in the profile."""
EXHAUSTED = {"OUT_OF_MEMORY": "mem_mb", "TIMEOUT": "runtime"}
EXITS = {"0:125": "OUT_OF_MEMORY", "137:0": "OUT_OF_MEMORY"}
"""Exit codes of jobs in state FAILED: SLURM's own for memory, and that of a batch script with a killed process."""
LOGGED = {
    "OUT_OF_MEMORY": r"exceeded (job )?memory limit|oom[-_ ]kill|out[- ]of[- ]memory",
    "TIMEOUT": r"due to time limit",
    "PREEMPTED": r"due to preemption",
    "NODE_FAIL": r"due to node failure",
}
"""Messages of SLURM's daemons in the log of a job, by state."""


@dataclass
class _Job:
    name: str
    resources: dict[str, Any]
    number: str = ""
    log: Path | None = None
    waits: str = ""

    def request(self) -> str:
        return ", ".join(f"{key} {value}" for key, value in self.resources.items() if value)

    def __str__(self) -> str:
        return f"{self.name} (job {self.number})" if self.number else self.name


class SlurmLog:
    """Follow a run by the records of Snakemake's log. Without SLURM it does nothing."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._open: dict[str, _Job] = {}
        self._reported: set[tuple[str, str]] = set()
        self._ended = Event()

    def lines(self, record: Any) -> list[str]:
        """Return the lines to print for a record, before those of Snakemake."""
        event, text = getattr(record, "event", None), str(record.msg)
        if event is LogEvent.JOB_INFO:
            self._start(str(record.jobid), record)
        elif event is LogEvent.JOB_FINISHED:
            self._close(str(record.job_id))
        elif event is LogEvent.JOB_ERROR:
            return self._fail(str(record.jobid), f"{getattr(record, 'rule_msg', '')}\n")
        elif event is None and (match := SUBMITTED.match(text)):
            return self._submit(match[1], match[2], Path(match[3]))
        elif event is None and (match := RUN.match(text)):
            Thread(target=self._watch, args=(match[1],), daemon=True).start()
        return []

    def close(self) -> None:
        """Stop the queries of the queue."""
        self._ended.set()

    def _start(self, key: str, record: Any) -> None:
        requested = getattr(record, "resources", None) or {}
        number = self._jobs[key].number if key in self._jobs else ""
        resources = {name: requested.get(key) for name, key in RESOURCES.items()}
        self._jobs[key] = _Job(str(record.rule_msg or record.rule_name), resources, number)

    def _submit(self, key: str, number: str, log: Path) -> list[str]:
        job = self._jobs.setdefault(key, _Job(f"job {key}", {}))
        is_retry, job.number, job.log = bool(job.number), number, log
        self._open[number] = job
        return [f"{job} is tried again ({job.request()})"] if is_retry else []

    def _close(self, key: str) -> None:
        if key in self._jobs:
            self._open.pop(self._jobs[key].number, None)

    def _fail(self, key: str, message: str) -> list[str]:
        job = self._jobs.get(key)
        if job is None:
            return []
        self._close(key)
        if match := REFUSED.search(message):
            reason = one_line(match[1])
            hint = next((hint for part, hint in REFUSALS if part in reason.lower()), "")
            line = f"{job.name} was refused: {reason} ({job.request()})"
            repeated = (key, reason) in self._reported
            self._reported.add((key, reason))
            return [] if repeated else [f"{line}; {hint}" if hint else line]
        state = end_of(job.number, job.log) if ENDED.search(message) else ""
        if not state:
            return []
        resource = EXHAUSTED.get(state, "")
        return [f"{job} {ENDS[state]}" + (f", it had {resource} {job.resources.get(resource)}" if resource else "")]

    def _watch(self, run: str) -> None:
        while not self._ended.wait(INTERVAL):
            for line in self.waiting(run):
                logger.warning(line, extra={"slurm": True})

    def waiting(self, run: str) -> list[str]:
        """Return a line for the jobs that do not start without a change, when two queries had the same reason."""
        pending = pending_reasons(run)
        by_meaning: dict[str, list[_Job]] = {}
        for number, job in list(self._open.items()):
            reason = pending.get(number, "")
            meaning = meaning_of(reason)
            if meaning and job.waits == reason and (number, reason) not in self._reported:
                self._reported.add((number, reason))
                by_meaning.setdefault(meaning, []).append(job)
            job.waits = reason
        return [
            f"{jobs[0]}{f' and {len(jobs) - 1} more wait' if len(jobs) > 1 else ' waits'}: {meaning}"
            for meaning, jobs in by_meaning.items()
        ]


def meaning_of(reason: str) -> str:
    """Return the meaning of a reason to wait, with a hint; empty if the job will start without a change."""
    if not reason or reason.strip("()").partition(",")[0] in ORDINARY:
        return ""
    for part, meaning, hint in WAITS:
        if part in reason:
            return f"{reason}: {meaning}; {hint}" if hint else f"{reason}: {meaning}"
    return reason


def pending_reasons(run: str) -> dict[str, str]:
    """Return SLURM's reason for each pending job of a run, by the job's number."""
    text = _ask("squeue", "--noheader", "--states=PENDING", "--format=%i|%r", "--name", run)
    pairs = (line.strip().partition("|") for line in text.splitlines())
    return {number: reason for number, _, reason in pairs if number and reason}


def end_of(number: str, log: Path | None) -> str:
    """Return a key of :data:`ENDS`; empty if SLURM did not end the job, or nothing is known."""
    states = {*_states_by_sacct(number), *_states_by_scontrol(number), *_states_by_log(log)}
    return next((state for state in ENDS if state in states), "")


def _states_by_sacct(number: str) -> list[str]:
    """Return the states of a job and its steps. A cancelled job's has the user, too, after a space."""
    states = []
    for line in _ask("sacct", "-j", number, "--noheader", "--parsable2", "--format=JobID,State,ExitCode").splitlines():
        job, state, code, *_ = (*line.split("|"), "", "", "")
        name = (state.split() or [""])[0]
        if "." not in job:
            states += [name, EXITS.get(code, "")]
        elif name in STATES_OF_STEPS:
            states.append(name)
    return states


def _states_by_scontrol(number: str) -> list[str]:
    fields = dict(re.findall(r"\b(JobState|ExitCode)=(\S+)", _ask("scontrol", "show", "job", "--oneliner", number)))
    return [fields.get("JobState", ""), EXITS.get(fields.get("ExitCode", ""), "")]


def _states_by_log(log: Path | None) -> list[str]:
    try:
        text = log.read_bytes()[-LOG_END:].decode("utf-8", "replace") if log else ""
    except OSError:
        return []
    daemons = [line for line in text.splitlines() if line.startswith(("slurmstepd", "srun: error", "slurmd"))]
    return [state for state, words in LOGGED.items() if any(re.search(words, line, re.IGNORECASE) for line in daemons)]


def _ask(*command: str) -> str:
    """Return the output of a command; empty if it is missing, hangs or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace", timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def one_line(text: str) -> str:
    """Return the messages of a SLURM command without their prefixes, in one line."""
    messages = [re.sub(r"^\w+: (error|fatal): ", "", line.strip()) for line in text.splitlines()]
    return "; ".join(line.removeprefix("Batch job submission failed: ") for line in messages if line)
