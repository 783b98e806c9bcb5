"""The end of what a dead run left behind: its jobs on a cluster, and the locks on its files."""

import shlex
import shutil
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

from tokbench.status.overview import overview
from tokbench.status.plan import Plan
from tokbench.status.terminal import summary
from tokbench.workflow.dead import check_dead, runs_of
from tokbench.workflow.lock import held_meanwhile, is_held
from tokbench.workflow.slurm import cancel_jobs
from tokbench.workflow.unlock import engine_locks


def cancel(plan: Plan, force: bool = False) -> Iterator[str]:
    """Cancel a dead run's jobs, unlock its files, and say so line by line, with what is left and how to go on.

    The experiment's lock is held meanwhile, so that no run begins in between.

    Args:
        plan: what the run left.
        force: that the run is dead is known, although it cannot be told from here.

    Raises:
        TokbenchError: the run is at work, or may be; its jobs cannot be cancelled, or do not go.
    """
    check_dead(plan, force)
    runs = runs_of(plan)
    with nullcontext() if is_held(plan.folder) else held_meanwhile(plan.folder):
        yield from _cancelled(runs, force)
        yield from _unlocked(plan)
    seen = overview(plan, life="ended")
    yield f"{plan.folder}: {summary(seen)}"
    if seen.total.counts["done"] < seen.total.jobs:
        yield f"Go on with: cd {shlex.quote(plan.run.directory)} && {plan.run.command}"


def _cancelled(runs: list[str], force: bool) -> Iterator[str]:
    if not runs:
        yield "No job of a cluster: the run did not go through SLURM."
    elif force and not shutil.which("squeue"):
        yield "No job of SLURM was cancelled: squeue is not found here."
    else:
        count = cancel_jobs(runs)
        yield f"Cancelled {count:,} {'job' if count == 1 else 'jobs'} of SLURM, run {', '.join(runs)}."


def _unlocked(plan: Plan) -> Iterator[str]:
    directory = Path(plan.run.directory, ".snakemake")
    if not directory.is_dir():
        yield f"{directory}: not seen from here; where it is, say 'snakemake --unlock'."
        return
    locks = engine_locks(plan.run.directory, plan.run.folder)
    for lock in locks:
        lock.unlink(missing_ok=True)
    yield f"Unlocked {plan.run.directory}." if locks else f"{plan.run.directory} was not locked."
