"""Writer of a run's plan, taken from the workflow engine, for ``tokbench status``."""

import os
import shlex
import socket
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.workflow.job_states import Job, Listing, Plan, PlannedRun, mark, marked_outputs, read_plan, write_plan

REMEMBERED = 20
"""Maximum number of ids of SLURM runs to keep."""


class Before:
    """Files that exist before a run.

    Args:
        marks: folder of the engine's marks.
    """

    def __init__(self, marks: str | None) -> None:
        self._files = Listing()
        self._marks = marks
        self._marked = marked_outputs(marks) if marks else frozenset()

    def stood(self, output: str, log: str | None) -> dict[str, int] | None:
        """Return the times of change of a job's output, log and mark that exist already; None if none exists."""
        found = {"output": self._files.changed(output), "log": self._files.changed(log) if log else None}
        if self._marks and output in self._marked:
            found["mark"] = self._files.changed(mark(self._marks, output))
        return {kind: time for kind, time in found.items() if time is not None} or None


def leave_plan(workflow: Any, folder: str, log: Sequence[str]) -> None:
    """Write the plan of the run that is about to start into its experiment's folder.

    Args:
        workflow: the engine's workflow, planned and with an executor.
        folder: the experiment's folder, as the rules' paths begin with it.
        log: the engine's logs.
    """
    run = PlannedRun(
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        pid=os.getpid(),
        host=socket.gethostname(),
        directory=os.getcwd(),
        folder=folder,
        command=shlex.join(["snakemake", *sys.argv[1:]]),
        log=os.path.abspath(log[0]) if log else None,
        marks=_marks(workflow),
        slurm=tuple(_slurm_runs(workflow, folder)),
    )
    before = Before(run.marks)
    jobs = [_job(workflow.dag, job, before) for job in workflow.dag.jobs if job.output]
    order = [rule.name for rule in workflow.rules]
    jobs.sort(key=lambda job: (order.index(job.stage), *job.wildcards.values()))
    stages = tuple(dict.fromkeys(job.stage for job in jobs))
    write_plan(Plan(Path(folder), run, stages, tuple(jobs)))


def _job(dag: Any, job: Any, before: Before) -> Job:
    outputs = tuple(str(output) for output in job.output)
    log = str(job.log[0]) if job.log else None
    planned = bool(dag.needrun(job))
    stood = before.stood(outputs[0], log) if planned else None
    temporary = any("temp" in output.flags for output in job.output)
    into = tuple(str(other.output[0]) for other in dag.depending[job] if other.output) if temporary else None
    benchmark = str(job.benchmark) if job.benchmark else None
    return Job(job.rule.name, dict(job.wildcards_dict), outputs, log, benchmark, planned, stood, into or None)


def _marks(workflow: Any) -> str | None:
    """Return the folder in which the engine marks jobs in progress; None if it uses a database."""
    folder = getattr(workflow.persistence, "_incomplete_path", None)
    return os.path.abspath(folder) if folder else None


def _slurm_runs(workflow: Any, folder: str) -> Iterable[str]:
    """Return the ids of this run and of earlier runs, whose jobs may still be in progress if they were killed."""
    known: list[str] = []
    with suppress(TokbenchError):
        known += read_plan(folder).run.slurm
    executor: Any = getattr(workflow.scheduler, "_executor", None)
    if type(executor).__module__.startswith("snakemake_executor_plugin_slurm"):
        known.append(executor.run_uuid)
    return dict.fromkeys(known[-REMEMBERED:])
