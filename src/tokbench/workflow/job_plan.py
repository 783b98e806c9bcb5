"""Writer of a run's plan, taken from the workflow engine, for ``tokbench status``."""

import os
import shlex
import socket
import sys
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.io.locks import lock_time
from tokbench.workflow.job_states import Job, Plan, PlannedRun, read_plan, write_plan

MAX_SLURM_RUNS = 20
"""Maximum number of ids of earlier SLURM runs to keep."""


def leave_plan(workflow: Any, folder: str, log: Sequence[str]) -> None:
    """Write the plan of the run that is about to start into its experiment's folder, which the run has locked.

    Args:
        workflow: the engine's workflow, planned.
        folder: the experiment's folder, as the rules' paths begin with it.
        log: the engine's logs.
    """
    earlier: tuple[str, ...] = ()
    with suppress(TokbenchError):
        earlier = read_plan(folder).slurm_runs[-MAX_SLURM_RUNS:]
    run = PlannedRun(
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        began=lock_time(folder),
        pid=os.getpid(),
        host=socket.gethostname(),
        directory=os.getcwd(),
        folder=folder,
        command=shlex.join(["snakemake", *sys.argv[1:]]),
        log=os.path.abspath(log[0]) if log else None,
        slurm=earlier,
    )
    jobs = [_job(workflow.dag, job, folder) for job in workflow.dag.jobs if job.output]
    order = _levels(workflow.dag, folder)
    jobs.sort(key=lambda job: (order[job.stage], *job.wildcards.values()))
    write_plan(Plan(Path(folder), run, tuple(jobs)))


def stage_of(job: Any, folder: str) -> str:
    """Return the stage of a job: its rule, without the prefix that a workflow gave it which imports the rules.

    The log of a stage has its name.

    Args:
        job: the engine's job.
        folder: the experiment's folder.
    """
    _, logs, path = str(next(iter(job.log), "")).rpartition(f"{folder}/logs/")
    return path.partition("/")[0].removesuffix(".log") if logs else str(job.rule.name)


def _levels(dag: Any, folder: str) -> dict[str, tuple[int, int]]:
    """Return the sort key of each stage: its largest number of steps from a start of the workflow, then its place."""
    levels: dict[Any, int] = {}

    def level(job: Any) -> int:
        if job not in levels:
            levels[job] = 1 + max((level(earlier) for earlier in dag.dependencies[job]), default=-1)
        return levels[job]

    order: dict[str, tuple[int, int]] = {}
    places = {rule.name: place for place, rule in enumerate(dag.workflow.rules)}
    for job in dag.jobs:
        stage = stage_of(job, folder)
        steps, place = order.get(stage, (0, places[job.rule.name]))
        order[stage] = max(steps, level(job)), place
    return order


def _job(dag: Any, job: Any, folder: str) -> Job:
    temporary = any("temp" in output.flags for output in job.output)
    return Job(
        stage=stage_of(job, folder),
        wildcards=dict(job.wildcards_dict),
        outputs=tuple(map(str, job.output)),
        log=str(job.log[0]) if job.log else None,
        benchmark=str(job.benchmark) if job.benchmark else None,
        planned=bool(dag.needrun(job)),
        into=tuple(str(other.output[0]) for other in dag.depending[job] if other.output) if temporary else (),
    )
