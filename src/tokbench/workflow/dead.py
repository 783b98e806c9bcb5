"""Whether the run that left a plan is dead, and what it may have left on a cluster."""

import socket

from tokbench.errors import TokbenchError
from tokbench.status.plan import Plan
from tokbench.status.traces import life_of
from tokbench.workflow.slurm import told_runs


def runs_of(plan: Plan) -> list[str]:
    """Ids of the runs here that went through SLURM."""
    return list(dict.fromkeys((*plan.run.slurm, *told_runs(plan.run.log))))


def check_dead(plan: Plan, force: bool) -> None:
    """Reject a run that is at work, or may be.

    Raises:
        TokbenchError: it is, or nothing here tells that it is not and ``force`` is not given.
    """
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
