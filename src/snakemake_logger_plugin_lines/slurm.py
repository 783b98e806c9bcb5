"""What SLURM's own commands say of jobs. None of them is needed: where one is missing, hangs or says what nobody
expected, nothing is known, and a run goes on without it."""

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

PATIENCE = 20.0
"""Seconds until a command that has not answered counts as one that never does."""
STATES = ("OUT_OF_MEMORY", "TIMEOUT", "DEADLINE", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED", "CANCELLED")
"""Ends that are the cluster's doing; of several that are told of one job, the first is the cause of the others."""
OF_ITS_STEPS = ("OUT_OF_MEMORY", "TIMEOUT")
"""Those that also mean the job where they are told of one of its steps: what ends a job cancels its steps."""
EXITS = {"0:125": "OUT_OF_MEMORY", "137:0": "OUT_OF_MEMORY"}
"""Exit codes of jobs whose state is no more than FAILED: SLURM's own for memory, and a batch script's whose process was
killed."""
SAID = {
    "OUT_OF_MEMORY": r"exceeded (job )?memory limit|oom[-_ ]kill|out[- ]of[- ]memory",
    "TIMEOUT": r"due to time limit",
    "PREEMPTED": r"due to preemption",
    "NODE_FAIL": r"due to node failure",
}
"""What SLURM itself writes into a job's log, whatever the job's own programs write."""
STATUS = {
    "sacct": ("-X", "--parsable2", "--clusters", "all", "--noheader", "--format=JobIdRaw,State"),
    "squeue": ("--noheader", "--states=all", "--format=%i|%T"),
}
END = 64 * 1024
"""Bytes at the end of a log that are looked through."""


class Answer(NamedTuple):
    """A command's output, and why there is none."""

    text: str
    trouble: str


def ask(command: Sequence[str]) -> Answer:
    """Run a command that answers at once or not at all."""
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace", timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        return Answer("", f"no answer in {PATIENCE:.0f} s")
    except OSError as error:
        return Answer("", error.strerror or str(error))
    if done.returncode:
        return Answer("", one_line(done.stderr) or f"exit status {done.returncode}")
    return Answer(done.stdout, "")


def status_trouble(command: str) -> str:
    """Why the executor learns nothing of its jobs from ``sacct`` or ``squeue``, asked as it asks; else empty."""
    return ask((command, *STATUS[command], "--name", "none")).trouble


def pending(run: str) -> dict[str, str]:
    """The reason why each of a run's jobs waits, in SLURM's word for it."""
    command = ("squeue", "--noheader", "--states=PENDING", "--format=%i|%r", "--name", run)
    pairs = (line.strip().partition("|") for line in ask(command).text.splitlines())
    return {job: reason for job, _, reason in pairs if job and reason}


def end_of(job: str, log: Path | None, accounts: bool) -> str:
    """One of :data:`STATES`; empty where a job failed by itself, or nobody knows why.

    Args:
        job: SLURM's number of it.
        log: what it printed. On some clusters no other trace of memory is left.
        accounts: whether ``sacct`` answers; ``scontrol``, which forgets a job after some minutes, is asked otherwise.
    """
    told = {*(_of_accounts(job) if accounts else _of_controller(job)), *_of_log(log)}
    return next((state for state in STATES if state in told), "")


def _of_accounts(job: str) -> list[str]:
    """States of a job and its steps; a cancelled job's says by whom, after a blank."""
    command = ("sacct", "-j", job, "--noheader", "--parsable2", "--format=JobID,State,ExitCode")
    told = []
    for line in ask(command).text.splitlines():
        one, state, code, *_ = (*line.split("|"), "", "", "")
        name = (state.split() or [""])[0]
        if "." not in one:
            told += [name, EXITS.get(code, "")]
        elif name in OF_ITS_STEPS:
            told.append(name)
    return told


def _of_controller(job: str) -> list[str]:
    text = ask(("scontrol", "show", "job", "--oneliner", job)).text
    fields = dict(re.findall(r"\b(JobState|ExitCode)=(\S+)", text))
    return [fields.get("JobState", ""), EXITS.get(fields.get("ExitCode", ""), "")]


def _of_log(log: Path | None) -> list[str]:
    if log is None:
        return []
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - END))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    own = [line for line in text.splitlines() if line.startswith(("slurmstepd", "srun: error", "slurmd"))]
    return [state for state, words in SAID.items() if any(re.search(words, line, re.IGNORECASE) for line in own)]


def one_line(text: str) -> str:
    """What a SLURM command complains of, without saying each time that it complains."""
    said = [re.sub(r"^\w+: (error|fatal): ", "", line.strip()) for line in text.splitlines()]
    said = [line.removeprefix("Batch job submission failed: ") for line in said]
    return "; ".join(line for line in said if line)
