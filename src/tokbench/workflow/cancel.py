"""Cleanup after a killed run: its SLURM jobs are cancelled and Snakemake's locks on its files are removed.

The executor gives all jobs of a run the same name, the run's id. The run's plan and Snakemake's log contain it.
"""

import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.io.locks import folder_lock, is_locked
from tokbench.workflow.job_states import Plan, life_of
from tokbench.workflow.status import build_overview
from tokbench.workflow.status_output import summary

PATIENCE = 90.0
"""Seconds to wait for cancelled jobs to end. By default SLURM kills a job after 30 seconds."""
ANSWER = 90.0
"""Seconds to wait for the answer of a SLURM command."""
MOMENT = 1.0
"""Seconds between two checks of the queue."""


def cancel(plan: Plan, force: bool = False) -> Iterator[str]:
    """Cancel a dead run's jobs, unlock its files, and yield a line for each step, the remaining work and the next
    command.

    The experiment is locked meanwhile, so that no other run starts.

    Args:
        plan: the plan of the run.
        force: the caller knows that the run is dead, although this machine cannot verify it (default: no).

    Raises:
        TokbenchError: the run is or may be in progress; its jobs cannot be cancelled, or do not end.
    """
    _check_dead(plan, force)
    runs = plan.slurm_runs
    with nullcontext() if is_locked(plan.folder) else folder_lock(plan.folder):
        yield from _cancel(runs, force)
        yield from _unlock(plan)
    current = build_overview(plan, life="ended")
    yield f"{plan.folder}: {summary(current)}"
    if current.total.counts["done"] < current.total.jobs:
        yield f"Continue with: cd {shlex.quote(plan.run.directory)} && {plan.run.command}"


def _check_dead(plan: Plan, force: bool) -> None:
    run, life = plan.run, life_of(plan)
    is_local = run.host == socket.gethostname()
    who = f"{plan.folder}: process {run.pid} on {run.host}"
    if life == "running" and (is_local or not force):
        raise TokbenchError(f"{who} is running; end it there first, with Ctrl-C or 'kill {run.pid}'")
    if life == "unknown" and not force:
        raise TokbenchError(
            f"{who} has no lock that is visible here, but may be running; run 'tokbench cancel' on {run.host}, or add "
            "--force after it has ended"
        )


def _cancel(runs: Sequence[str], force: bool) -> Iterator[str]:
    if not runs:
        yield "No cluster jobs: the run did not use SLURM."
    elif force and not shutil.which("squeue"):
        yield "No SLURM job was cancelled: squeue was not found here."
    else:
        count = _cancel_jobs(runs)
        yield f"Cancelled {count:,} {'job' if count == 1 else 'jobs'} of SLURM run {', '.join(runs)}."


def _unlock(plan: Plan) -> Iterator[str]:
    """Remove Snakemake's locks on the experiment's files, and keep those of other experiments."""
    directory = Path(plan.run.directory, ".snakemake")
    if not directory.is_dir():
        yield f"{directory}: not visible here; run 'snakemake --unlock' on a machine that sees it."
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
    """Cancel the jobs of these runs, wait until SLURM lists none of them, and return their number."""
    for command in ("squeue", "scancel"):
        if shutil.which(command) is None:
            raise TokbenchError(
                f"{command}: not found, but the run used SLURM; cancel it from a machine that has it, or add "
                "--force when none of its jobs is left"
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
            f"SLURM: {len(left)} of {len(jobs)} jobs have not ended after {PATIENCE:.0f} s ({numbers}); nothing is "
            "unlocked; check 'squeue', then try again"
        )
    return len(jobs)


def _jobs(runs: Sequence[str]) -> list[tuple[str, str]]:
    """Return number and name of each job of these runs that SLURM lists, with the elements of arrays listed
    separately."""
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
