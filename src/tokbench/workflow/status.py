"""Overview of an experiment: which jobs of its last run are done, running, failed or missing, from files only.

A run writes its plan into the experiment's folder (:mod:`tokbench.workflow.job_states`). Outputs, logs, benchmarks and
the lock provide the rest. The workflow engine is not used: it would plan again, and works neither
during a run nor on a machine that only sees the files.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from tokbench.workflow.job_states import (
    STATES,
    Job,
    Life,
    Plan,
    PlannedRun,
    State,
    Times,
    last_message,
    life_of,
    states,
    times,
)

FORMAT = 2


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job, its state, its times if it is done, and the last message of its log if it failed."""

    job: Job
    state: State
    times: Times | None
    message: str | None


@dataclass(frozen=True)
class Stage:
    """Summary of a stage, or of all stages.

    Attributes:
        name: its rule.
        counts: number of jobs by state.
        wall: total wall-clock seconds of its finished jobs.
        cpu: total CPU seconds of the jobs with known CPU times; None if there are none.
        cpu_whole: whether the CPU times of all timed jobs are known.
        longest: its longest job.
        left: estimated total seconds of the remaining jobs, from the mean of the finished ones. 0 if none remains, None
            if no estimate is possible.
    """

    name: str
    counts: Mapping[State, int]
    wall: float
    cpu: float | None
    cpu_whole: bool
    longest: JobReport | None
    left: float | None

    @property
    def jobs(self) -> int:
        """Number of all jobs."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Overview:
    """Overview of an experiment.

    Attributes:
        plan: plan of its last run.
        life: whether that run is in progress.
        jobs: all jobs.
        stages: all stages.
        total: all stages together; its ``left`` excludes the stages in ``unknown``.
        unknown: stages with remaining jobs and no finished job to estimate from.
    """

    plan: Plan
    life: Life
    jobs: list[JobReport]
    stages: list[Stage]
    total: Stage
    unknown: list[str]

    def in_state(self, state: State) -> list[JobReport]:
        """Return the jobs in a state."""
        return [told for told in self.jobs if told.state == state]


def overview(plan: Plan, life: Life | None = None) -> Overview:
    """Build the overview from the current files.

    Args:
        plan: plan of the last run.
        life: whether that run is in progress, if known to the caller (default: determined from the lock).
    """
    life = life or life_of(plan)
    told = [_report_of(plan, job, state) for job, state in zip(plan.jobs, states(plan, life), strict=True)]
    by_stage: dict[str, list[JobReport]] = {name: [] for name in plan.stages}
    for one in told:
        by_stage[one.job.stage].append(one)
    stages = [_stage(name, jobs) for name, jobs in by_stage.items()]
    unknown = [stage.name for stage in stages if stage.left is None]
    known = sum(stage.left for stage in stages if stage.left is not None)
    total = replace(_stage("all", told), left=known or (None if unknown else 0.0))
    return Overview(plan, life, told, stages, total, unknown)


def as_json(seen: Overview) -> dict[str, Any]:
    """Return the overview as plain values; docs/status.md explains each key."""
    run: PlannedRun = seen.plan.run
    return {
        "format": FORMAT,
        "folder": str(seen.plan.folder),
        "run": {"state": seen.life}
        | {key: value for key, value in asdict(run).items() if key != "began"}
        | {"slurm": list(seen.plan.slurm_runs)},
        "total": _stage_json(seen.total),
        "left_unknown": seen.unknown,
        "stages": [_stage_json(stage) for stage in seen.stages],
        "jobs": [_job_json(seen.plan, told) for told in seen.jobs],
    }


def _report_of(plan: Plan, job: Job, state: State) -> JobReport:
    took = times(plan.path(job.benchmark)) if state == "done" and job.benchmark else None
    message = last_message(plan.path(job.log)) if state == "failed" and job.log else None
    return JobReport(job, state, took, message)


def _stage(name: str, jobs: list[JobReport]) -> Stage:
    found = Counter(told.state for told in jobs)
    counts = {state: found[state] for state in STATES}
    timed = [told for told in jobs if told.times]
    wall = sum(told.times.wall for told in timed if told.times)
    cpu = [told.times.cpu for told in timed if told.times and told.times.cpu is not None]
    longest = max(timed, key=lambda told: told.times.wall if told.times else 0.0, default=None)
    rest = len(jobs) - counts["done"]
    left = 0.0 if not rest else wall / len(timed) * rest if timed else None
    return Stage(name, counts, wall, sum(cpu) if cpu else None, len(cpu) == len(timed), longest, left)


def _stage_json(stage: Stage) -> dict[str, Any]:
    return {
        "stage": stage.name,
        "jobs": stage.jobs,
        **{str(state): count for state, count in stage.counts.items()},
        "wall_s": round(stage.wall, 2),
        "cpu_s": None if stage.cpu is None else round(stage.cpu, 2),
        "longest": None if stage.longest is None else stage.longest.job.name,
        "longest_s": None if stage.longest is None or stage.longest.times is None else stage.longest.times.wall,
        "left_s": None if stage.left is None else round(stage.left, 2),
    }


def _job_json(plan: Plan, told: JobReport) -> dict[str, Any]:
    job, took = told.job, told.times
    return {
        "stage": job.stage,
        "wildcards": dict(job.wildcards),
        "state": told.state,
        "outputs": [plan.path(output) for output in job.outputs],
        "log": plan.path(job.log) if job.log else None,
        "message": told.message,
        "wall_s": took.wall if took else None,
        "cpu_s": took.cpu if took else None,
    }
