"""Questions to SLURM: the queue, and how a job ended.

They are asked by ``squeue``, ``sacct`` and ``scontrol``, and of the logs of jobs. A command that is missing, hangs or
fails gives no answer.
"""

import re
import subprocess
from pathlib import Path
from typing import NamedTuple

from snakemake_logger_plugin_lines.reasons import ENDS

PATIENCE = 20.0
"""Seconds to wait for the answer of a SLURM command."""
LOG_END = 64 * 1024
"""Bytes at the end of a job's log that are searched."""
STATES_OF_STEPS = ("OUT_OF_MEMORY", "TIMEOUT")
"""States of a step that apply to its job."""
EXITS = {"0:125": "OUT_OF_MEMORY", "137:0": "OUT_OF_MEMORY"}
"""Exit codes of jobs in state FAILED: SLURM's own for memory, and that of a batch script with a killed process."""
LOGGED = {
    "OUT_OF_MEMORY": r"oom[-_ ]kill|out[- ]of[- ]memory",
    "TIMEOUT": r"due to time limit",
    "PREEMPTED": r"due to preemption",
    "NODE_FAIL": r"due to node failure",
}
"""Messages of SLURM's daemons in the log of a job, by state."""
OVER_LIMIT, BY_ITSELF = r"exceeded (job )?memory limit", r"exited with exit code"
"""Message before SLURM kills a step for memory, and that of a step that ended by itself nevertheless."""
OVER = (
    "BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT",
)  # fmt: skip
"""States of jobs that have ended."""


class Queued(NamedTuple):
    """A job in SLURM's queue: its state, and the reason why it waits."""

    state: str
    reason: str


def queue_of(run: str) -> dict[str, Queued] | None:
    """Return the jobs of a run by number, also those that ended a short time ago; None without an answer."""
    text = _ask("squeue", "--noheader", "--states=all", "--format=%i|%T|%r", "--name", run)
    if text is None:
        return None
    rows = (line.strip().split("|", 2) for line in text.splitlines())
    return {row[0]: Queued(row[1], row[2]) for row in rows if len(row) == 3}


def requeue(number: str) -> bool:
    """Let SLURM start an ended job again under the same number; return whether it does."""
    return _ask("scontrol", "requeue", number) is not None


def end_of(number: str, log: Path | None) -> str:
    """Return a key of :data:`ENDS`; empty if SLURM did not end the job, or nothing is known."""
    states = {*_states_by_sacct(number), *_states_by_scontrol(number), *_states_by_log(log)}
    return next((state for state in ENDS if state in states), "")


def _states_by_sacct(number: str) -> list[str]:
    """Return the states of a job and its steps. A cancelled job's has the user, too, after a space."""
    states = []
    text = _ask("sacct", "-j", number, "--noheader", "--parsable2", "--format=JobID,State,ExitCode")
    for line in (text or "").splitlines():
        job, state, code, *_ = (*line.split("|"), "", "", "")
        name = (state.split() or [""])[0]
        if "." not in job:
            states += [name, EXITS.get(code, "")]
        elif name in STATES_OF_STEPS:
            states.append(name)
    return states


def _states_by_scontrol(number: str) -> list[str]:
    fields = dict(
        re.findall(r"\b(JobState|ExitCode)=(\S+)", _ask("scontrol", "show", "job", "--oneliner", number) or "")
    )
    return [fields.get("JobState", ""), EXITS.get(fields.get("ExitCode", ""), "")]


def _states_by_log(log: Path | None) -> list[str]:
    try:
        text = log.read_bytes()[-LOG_END:].decode("utf-8", "replace") if log else ""
    except OSError:
        return []
    lines = [line for line in text.splitlines() if line.startswith(("slurmstepd", "srun: error", "slurmd"))]
    daemons = "\n".join(lines).lower()
    states = [state for state, words in LOGGED.items() if re.search(words, daemons)]
    if re.search(OVER_LIMIT, daemons) and not re.search(BY_ITSELF, daemons):
        states.append("OUT_OF_MEMORY")
    return states


def _ask(*command: str) -> str | None:
    """Return the output of a command; None if it is missing, hangs or fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, encoding="utf-8", errors="replace", timeout=PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return None if done.returncode else done.stdout
