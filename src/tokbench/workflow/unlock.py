"""The workflow engine's locks that outlive a killed run go where nothing of that run is at work any more."""

import os
import sys
from pathlib import Path

from tokbench.errors import TokbenchError

stays: list[str] = []
"""Why locks of an experiment stay, for whoever tells of them; at most one line."""


def engine_locks(directory: str, folder: str) -> list[Path]:
    """The workflow engine's locks on an experiment's files, in the directory in which its run was started.

    Each names the files that a run reads or writes; those of other experiments stay.
    """
    inside = f"{folder}/".encode(errors="surrogateescape")
    found = []
    for lock in sorted(Path(directory, ".snakemake", "locks").glob("*.lock")):
        with lock.open("rb") as names:
            if any(name.startswith(inside) for name in names):
                found.append(lock)
    return found


def unlock_dead(folder: str) -> None:
    """Unlock an experiment's files in this directory, and say so, if the run that locked them is known to be dead.

    Where it lives, may live, or left jobs on a cluster, the locks stay and :data:`stays` tells why.
    """
    locks = engine_locks(os.getcwd(), folder)
    if not locks:
        return
    from tokbench.workflow.lock import held_meanwhile

    try:
        who = _the_dead(folder)
        with held_meanwhile(folder):
            for lock in locks:
                lock.unlink(missing_ok=True)
    except (TokbenchError, OSError) as error:
        stays[:] = [str(error)]
    else:
        print(f"tokbench: {folder}: unlocked; {who} was killed, and what it finished is kept", file=sys.stderr)


def _the_dead(folder: str) -> str:
    """Who held the locks.

    Raises:
        TokbenchError: it is at work, may be, or has jobs on a cluster.
    """
    from tokbench.status.plan import NAME, read_plan
    from tokbench.workflow.dead import check_dead, runs_of
    from tokbench.workflow.slurm import count_jobs

    if not Path(folder, NAME).exists():
        return "a run that had not begun"
    plan = read_plan(folder)
    check_dead(plan, force=False)
    if runs := runs_of(plan):
        try:
            left = count_jobs(runs)
        except (TokbenchError, OSError):
            left = None
        if left != 0:
            count = "its jobs" if left is None else f"{left:,} of its jobs"
            raise TokbenchError(
                f"{folder}: a run that was killed went through SLURM, and {count} may be at work still; say 'tokbench "
                f"cancel {folder}', then this again"
            )
    return f"process {plan.run.pid}, started {plan.run.started},"
