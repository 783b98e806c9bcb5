"""A dead run's jobs on SLURM: which there are, and their end.

The executor gives all jobs of a run one name, the run's id, which the run's plan keeps.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Sequence

from tokbench.errors import TokbenchError

TOLD = re.compile(rb"^SLURM run ID: ([\w-]+)\s*$", re.MULTILINE)
"""How the executor tells a run's id in the workflow engine's log."""
LOG_START = 1_000_000
"""Bytes of the log in which it does."""
PATIENCE = 90.0
"""Seconds for cancelled jobs to go; SLURM kills what does not end by itself after 30, unless set otherwise."""
ANSWER = 90.0
"""Seconds for a command of SLURM's to answer."""
MOMENT = 1.0


def told_runs(log: str | None) -> list[str]:
    """Ids of runs that the workflow engine's log tells."""
    try:
        with open(log or "", "rb") as file:
            return [found.decode() for found in TOLD.findall(file.read(LOG_START))]
    except OSError:
        return []


def cancel_jobs(runs: Sequence[str]) -> int:
    """Cancel the jobs of these runs and wait until SLURM has none of them any more.

    Returns:
        How many there were.

    Raises:
        TokbenchError: SLURM's commands are not here or fail, or some jobs do not go.
    """
    for command in ("squeue", "scancel"):
        if shutil.which(command) is None:
            raise TokbenchError(
                f"{command}: not found, and the run went through SLURM; cancel it from a machine that has it, or add "
                "--force once none of its jobs is left"
            )
    jobs = _jobs(runs)
    for run in sorted({name for _, name in jobs}):
        _call("scancel", f"--name={run}")
    left = jobs
    end = time.monotonic() + PATIENCE
    while left and time.monotonic() < end:
        time.sleep(0 if left is jobs else MOMENT)
        left = _jobs(runs)
    if left:
        numbers = ", ".join(sorted({number for number, _ in left})[:10])
        raise TokbenchError(
            f"SLURM: {len(left)} of {len(jobs)} jobs have not gone after {PATIENCE:.0f} s ({numbers}); nothing is "
            "unlocked; see 'squeue', then say it again"
        )
    return len(jobs)


def count_jobs(runs: Sequence[str]) -> int:
    """How many jobs of these runs SLURM has.

    Raises:
        TokbenchError: SLURM does not answer.
        OSError: its commands are not here.
    """
    return len(_jobs(runs))


def _jobs(runs: Sequence[str]) -> list[tuple[str, str]]:
    """Number and name of each job of these runs that SLURM has, elements of arrays by themselves."""
    lines = _call("squeue", "--noheader", "--array", f"--name={','.join(runs)}", "--format=%i %j").splitlines()
    return [(number, name) for number, name in (line.split() for line in lines if line.strip())]


def _call(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER)
    except subprocess.TimeoutExpired:
        raise TokbenchError(f"{command[0]}: no answer within {ANSWER:.0f} s; try again") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise TokbenchError(f"{command[0]}: {said[-1] if said else f'exit status {done.returncode}'}; try again")
    return done.stdout
