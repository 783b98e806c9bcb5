"""Clean up after a run that was killed: cancel its SLURM jobs and remove Snakemake's locks on its files.

The executor gives all jobs of a run one name, the run's id, which the run's plan and Snakemake's log contain.
"""

import re
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.io.locks import held_meanwhile, is_held
from tokbench.workflow.job_states import Plan, life_of
from tokbench.workflow.status import overview
from tokbench.workflow.status_output import summary

RUN_ID = re.compile(rb"^SLURM run ID: ([\w-]+)\s*$", re.MULTILINE)
"""The line of Snakemake's log with a run's id."""
LOG_START = 1_000_000
"""Bytes at the start of the log that are searched for it."""
PATIENCE = 90.0
"""Seconds for cancelled jobs to end; by default SLURM kills a job 30 seconds later."""
ANSWER = 90.0
"""Seconds for a SLURM command to answer."""
MOMENT = 1.0
"""Seconds between two looks at the queue."""


def cancel(plan: Plan, force: bool = False) -> Iterator[str]:
    """Cancel a dead run's jobs, unlock its files, and yield a line about each step, what is left and how to go on.

    The experiment's lock is held meanwhile, so that no run begins in between.

    Args:
        plan: the plan that the run left.
        force: the caller knows that the run is dead, although this machine cannot tell.

    Raises:
        TokbenchError: the run is at work, or may be; its jobs cannot be cancelled, or do not end.
    """
    _check_dead(plan, force)
    runs = list(dict.fromkeys((*plan.run.slurm, *_logged_runs(plan.run.log))))
    with nullcontext() if is_held(plan.folder) else held_meanwhile(plan.folder):
        yield from _cancelled(runs, force)
        yield from _unlocked(plan)
    seen = overview(plan, life="ended")
    yield f"{plan.folder}: {summary(seen)}"
    if seen.total.counts["done"] < seen.total.jobs:
        yield f"Go on with: cd {shlex.quote(plan.run.directory)} && {plan.run.command}"


def _check_dead(plan: Plan, force: bool) -> None:
    run, life = plan.run, life_of(plan)
    here = run.host == socket.gethostname()
    who = f"{plan.folder}: process {run.pid} on {run.host}"
    if life == "running" and (here or not force):
        raise TokbenchError(f"{who} is at work; end it there first, with Ctrl-C or 'kill {run.pid}'")
    if life == "unknown" and not force:
        raise TokbenchError(
            f"{who} holds no lock that is seen from here, but may be at work; say 'tokbench cancel' on {run.host}, or "
            "with --force once it has ended"
        )


def _logged_runs(log: str | None) -> list[str]:
    try:
        with open(log or "", "rb") as file:
            return [run.decode() for run in RUN_ID.findall(file.read(LOG_START))]
    except OSError:
        return []


def _cancelled(runs: list[str], force: bool) -> Iterator[str]:
    if not runs:
        yield "No job of a cluster: the run did not go through SLURM."
    elif force and not shutil.which("squeue"):
        yield "No job of SLURM was cancelled: squeue is not found here."
    else:
        count = _cancel_jobs(runs)
        yield f"Cancelled {count:,} {'job' if count == 1 else 'jobs'} of SLURM, run {', '.join(runs)}."


def _unlocked(plan: Plan) -> Iterator[str]:
    """Remove Snakemake's locks on the experiment's files; those of other experiments stay."""
    directory = Path(plan.run.directory, ".snakemake")
    if not directory.is_dir():
        yield f"{directory}: not seen from here; where it is, say 'snakemake --unlock'."
        return
    prefix = f"{plan.run.folder}/".encode(errors="surrogateescape")
    locks = [
        path
        for path in sorted(directory.glob("locks/*.lock"))
        if any(name.startswith(prefix) for name in path.read_bytes().splitlines())
    ]
    for path in locks:
        path.unlink(missing_ok=True)
    yield f"Unlocked {plan.run.directory}." if locks else f"{plan.run.directory} was not locked."


def _cancel_jobs(runs: Sequence[str]) -> int:
    """Cancel the jobs of these runs and wait until SLURM lists none of them; return their number."""
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


def _jobs(runs: Sequence[str]) -> list[tuple[str, str]]:
    """Number and name of each job of these runs that SLURM lists, elements of arrays one by one."""
    lines = _call("squeue", "--noheader", "--array", f"--name={','.join(runs)}", "--format=%i %j").splitlines()
    return [(number, name) for number, name in (line.split() for line in lines if line.strip())]


def _call(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=ANSWER)
    except subprocess.TimeoutExpired:
        raise TokbenchError(f"{command[0]}: no answer within {ANSWER:.0f} s; try again") from None
    if done.returncode:
        message = (done.stderr or done.stdout).strip().splitlines()
        raise TokbenchError(f"{command[0]}: {message[-1] if message else f'exit status {done.returncode}'}; try again")
    return done.stdout
