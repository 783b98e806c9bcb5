"""What SLURM does with a run's jobs, one line for each job that it refuses, keeps waiting or ends.

All of it is read: from the records of Snakemake's log, from ``squeue``, ``sacct`` and ``scontrol``, and from the logs
of jobs. Where one of the commands is missing, hangs or fails, its line is missing and the run goes on.
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
"""Seconds between two looks at the queue."""
PATIENCE = 20.0
"""Seconds for a SLURM command to answer."""
LOG_END = 64 * 1024
"""Bytes at the end of a job's log that are searched."""
RUN = re.compile(r"SLURM run ID: (\S+)")
SUBMITTED = re.compile(r"Job (\S+) has been submitted with SLURM jobid (\S+) \(log: (.*)\)\.")
REFUSED = re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'\.\n", re.DOTALL)
ENDED = re.compile(r"SLURM-job '(\S+)' failed")

NODE = "what one job may ask for is cores, and mem_mb under resources, in the profile: no more than a node has"
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
    ("gres", "set gpu: 0 for the rule, by set-resources in the profile, or a partition that has what it asks for"),
    ("qos", SERVICE),
)
"""Part of the message of ``sbatch`` in lower case, and what to do; the first match counts."""
ORDINARY = ("None", "Priority", "Resources", "Dependency", "BeginTime", "JobArrayTaskLimit", "Prolog", "Cleaning")
"""Reasons of jobs that start without help."""
WAITS = (
    ("PartitionTimeLimit", "it will never start: its runtime is more than its partition allows", TIME),
    ("PartitionNodeLimit", "it will never start: its partition gives no job so many nodes", PARTITION),
    ("PartitionConfig", "it will never start: it asks for more than its partition gives", NODE),
    ("PartitionDown", "its partition takes no jobs now", PARTITION),
    ("PartitionInactive", "its partition takes no jobs now", PARTITION),
    ("BadConstraints", "it will never start: no node has all that it asks for", NODE),
    ("ReqNodeNotAvail", "the nodes that it could run on are down, drained or reserved", "sinfo shows them"),
    ("NodeDown", "the nodes that it could run on are down", "sinfo shows them"),
    ("InvalidAccount", "it will never start", ACCOUNT),
    ("AccountNotAllowed", "it will never start: its partition does not take this account", ACCOUNT),
    ("InvalidQOS", "it will never start", SERVICE),
    ("QOSNotAllowed", "it will never start: its partition does not take this quality of service", SERVICE),
    ("DependencyNeverSatisfied", "it will never start", "cancel it with scancel"),
    ("JobHeld", "it is held", "scontrol release lets it go"),
    ("launch failed", "its node could not start it, and it is held", "scontrol release lets it go"),
    ("MaxWallDurationPerJob", "it will never start: its runtime is more than you may ask for", TIME),
    ("PerJob", "it will never start: it asks for more than one job of yours may have", NODE),
    ("MinCpu", "it will never start: it asks for less than a job must have", NODE),
    ("Assoc", "your account's limit is reached; it starts when other jobs have ended", ""),
    ("QOS", "the quality of service's limit is reached; it starts when other jobs have ended", ""),
    ("Licenses", "licences that it asks for are in use", ""),
)
"""Part of the reason that ``squeue`` shows, its meaning, and what to do; the first match counts."""
ENDS = {
    "OUT_OF_MEMORY": "was killed for memory",
    "TIMEOUT": "was killed for time",
    "DEADLINE": "was killed at its deadline",
    "NODE_FAIL": "was lost with its node",
    "BOOT_FAIL": "was lost with its node, which did not start",
    "PREEMPTED": "was stopped for a job that goes first",
    "CANCELLED": "was cancelled",
}
"""Ends that SLURM causes; of several that are reported of one job, the first is the cause of the others."""
OF_STEPS = ("OUT_OF_MEMORY", "TIMEOUT")
"""Those that mean the job where one of its steps has them: what ends a job cancels its other steps."""
RESOURCES = {"mem_mb": "mem_mb", "cores": "_cores", "runtime": "runtime", "gpu": "gpu", "partition": "slurm_partition"}
"""Snakemake's names of what a job asks for, by the words of the profile."""
LACKING = {"OUT_OF_MEMORY": "mem_mb", "TIMEOUT": "runtime"}
EXITS = {"0:125": "OUT_OF_MEMORY", "137:0": "OUT_OF_MEMORY"}
"""Exit codes of jobs in state FAILED: SLURM's own for memory, and that of a batch script with a killed process."""
LOGGED = {
    "OUT_OF_MEMORY": r"exceeded (job )?memory limit|oom[-_ ]kill|out[- ]of[- ]memory",
    "TIMEOUT": r"due to time limit",
    "PREEMPTED": r"due to preemption",
    "NODE_FAIL": r"due to node failure",
}
"""What SLURM's daemons write into a job's log."""


@dataclass
class _Job:
    name: str
    resources: dict[str, Any]
    number: str = ""
    log: Path | None = None
    waits: str = ""

    def asked(self) -> str:
        return ", ".join(f"{key} {value}" for key, value in self.resources.items() if value)

    def __str__(self) -> str:
        return f"{self.name} (job {self.number})" if self.number else self.name


class SlurmLog:
    """Follows a run through the records of Snakemake's log; does nothing where the run uses no SLURM."""

    def __init__(self) -> None:
        self._jobs: dict[str, _Job] = {}
        self._open: dict[str, _Job] = {}
        self._reported: set[tuple[str, str]] = set()
        self._ended = Event()

    def lines(self, record: Any) -> list[str]:
        """What to print of a record, before what Snakemake itself says."""
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
        """Stop looking at the queue."""
        self._ended.set()

    def _start(self, key: str, record: Any) -> None:
        asked = getattr(record, "resources", None) or {}
        number = self._jobs[key].number if key in self._jobs else ""
        resources = {word: asked.get(name) for word, name in RESOURCES.items()}
        self._jobs[key] = _Job(str(record.rule_msg or record.rule_name), resources, number)

    def _submit(self, key: str, number: str, log: Path) -> list[str]:
        job = self._jobs.setdefault(key, _Job(f"job {key}", {}))
        again, job.number, job.log = bool(job.number), number, log
        self._open[number] = job
        return [f"{job} is tried again ({job.asked()})"] if again else []

    def _close(self, key: str) -> None:
        if key in self._jobs:
            self._open.pop(self._jobs[key].number, None)

    def _fail(self, key: str, message: str) -> list[str]:
        job = self._jobs.get(key)
        if job is None:
            return []
        self._close(key)
        if match := REFUSED.search(message):
            said = one_line(match[1])
            remedy = next((remedy for part, remedy in REFUSALS if part in said.lower()), "")
            line = f"{job.name} was refused: {said} ({job.asked()})"
            repeated = (key, said) in self._reported
            self._reported.add((key, said))
            return [] if repeated else [f"{line}; {remedy}" if remedy else line]
        state = end_of(job.number, job.log) if ENDED.search(message) else ""
        if not state:
            return []
        lacking = LACKING.get(state, "")
        return [f"{job} {ENDS[state]}" + (f", it had {lacking} {job.resources.get(lacking)}" if lacking else "")]

    def _watch(self, run: str) -> None:
        while not self._ended.wait(INTERVAL):
            for line in self.waiting(run):
                logger.warning(line, extra={"slurm": True})

    def waiting(self, run: str) -> list[str]:
        """A line for each job that does not start by itself, once the same reason was seen twice."""
        pending = pending_reasons(run)
        alike: dict[str, list[_Job]] = {}
        for number, job in list(self._open.items()):
            reason = pending.get(number, "")
            meaning = meaning_of(reason)
            if meaning and job.waits == reason and (number, reason) not in self._reported:
                self._reported.add((number, reason))
                alike.setdefault(meaning, []).append(job)
            job.waits = reason
        return [
            f"{jobs[0]}{f' and {len(jobs) - 1} more wait' if len(jobs) > 1 else ' waits'}: {meaning}"
            for meaning, jobs in alike.items()
        ]


def meaning_of(reason: str) -> str:
    """What a reason to wait means and what to do; empty where a job starts without help."""
    if not reason or reason.strip("()").partition(",")[0] in ORDINARY:
        return ""
    for part, meaning, remedy in WAITS:
        if part in reason:
            return f"{reason}: {meaning}; {remedy}" if remedy else f"{reason}: {meaning}"
    return reason


def pending_reasons(run: str) -> dict[str, str]:
    """SLURM's reason why each pending job of a run waits, by the job's number."""
    text = _ask("squeue", "--noheader", "--states=PENDING", "--format=%i|%r", "--name", run)
    pairs = (line.strip().partition("|") for line in text.splitlines())
    return {number: reason for number, _, reason in pairs if number and reason}


def end_of(number: str, log: Path | None) -> str:
    """A key of :data:`ENDS`; empty where a job failed by itself, or nothing is known."""
    states = {*_of_accounts(number), *_of_controller(number), *_of_log(log)}
    return next((state for state in ENDS if state in states), "")


def _of_accounts(number: str) -> list[str]:
    """States of a job and its steps; that of a cancelled job says by whom, after a blank."""
    states = []
    for line in _ask("sacct", "-j", number, "--noheader", "--parsable2", "--format=JobID,State,ExitCode").splitlines():
        job, state, code, *_ = (*line.split("|"), "", "", "")
        name = (state.split() or [""])[0]
        if "." not in job:
            states += [name, EXITS.get(code, "")]
        elif name in OF_STEPS:
            states.append(name)
    return states


def _of_controller(number: str) -> list[str]:
    fields = dict(re.findall(r"\b(JobState|ExitCode)=(\S+)", _ask("scontrol", "show", "job", "--oneliner", number)))
    return [fields.get("JobState", ""), EXITS.get(fields.get("ExitCode", ""), "")]


def _of_log(log: Path | None) -> list[str]:
    try:
        text = log.read_bytes()[-LOG_END:].decode("utf-8", "replace") if log else ""
    except OSError:
        return []
    daemons = [line for line in text.splitlines() if line.startswith(("slurmstepd", "srun: error", "slurmd"))]
    return [state for state, words in LOGGED.items() if any(re.search(words, line, re.IGNORECASE) for line in daemons)]


def _ask(*command: str) -> str:
    """What a command prints; empty where it is missing, hangs or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace", timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return "" if done.returncode else done.stdout


def one_line(text: str) -> str:
    """The messages of a SLURM command without their prefixes, in one line."""
    messages = [re.sub(r"^\w+: (error|fatal): ", "", line.strip()) for line in text.splitlines()]
    return "; ".join(line.removeprefix("Batch job submission failed: ") for line in messages if line)
