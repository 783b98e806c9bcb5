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
        cpu_complete: whether the CPU times of all timed jobs are known.
        longest: its longest job.
        left: estimated total seconds of the remaining jobs, from the mean of the finished ones. 0 if none remains, None
            if no estimate is possible.
    """

    name: str
    counts: Mapping[State, int]
    wall: float
    cpu: float | None
    cpu_complete: bool
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
        return [report for report in self.jobs if report.state == state]


def build_overview(plan: Plan, life: Life | None = None) -> Overview:
    """Build the overview from the current files.

    Args:
        plan: plan of the last run.
        life: whether that run is in progress, if known to the caller (default: determined from the lock).
    """
    life = life or life_of(plan)
    reports = [_report_of(plan, job, state) for job, state in zip(plan.jobs, states(plan, life), strict=True)]
    by_stage: dict[str, list[JobReport]] = {name: [] for name in plan.stages}
    for report in reports:
        by_stage[report.job.stage].append(report)
    stages = [_stage(name, jobs) for name, jobs in by_stage.items()]
    unknown = [stage.name for stage in stages if stage.left is None]
    seconds = sum(stage.left for stage in stages if stage.left is not None)
    total = replace(_stage("all", reports), left=seconds or (None if unknown else 0.0))
    return Overview(plan, life, reports, stages, total, unknown)


def as_json(overview: Overview) -> dict[str, Any]:
    """Return the overview as plain values; docs/status.md explains each key."""
    run: PlannedRun = overview.plan.run
    return {
        "format": FORMAT,
        "folder": str(overview.plan.folder),
        "run": {"state": overview.life}
        | {key: value for key, value in asdict(run).items() if key != "began"}
        | {"slurm": list(overview.plan.slurm_runs)},
        "total": _stage_json(overview.total),
        "left_unknown": overview.unknown,
        "stages": [_stage_json(stage) for stage in overview.stages],
        "jobs": [_job_json(overview.plan, report) for report in overview.jobs],
    }


def _report_of(plan: Plan, job: Job, state: State) -> JobReport:
    took = times(plan.path(job.benchmark)) if state == "done" and job.benchmark else None
    message = last_message(plan.path(job.log)) if state == "failed" and job.log else None
    return JobReport(job, state, took, message)


def _stage(name: str, jobs: list[JobReport]) -> Stage:
    occurrences = Counter(report.state for report in jobs)
    counts = {state: occurrences[state] for state in STATES}
    timed = [report for report in jobs if report.times]
    wall = sum(report.times.wall for report in timed if report.times)
    cpu = [report.times.cpu for report in timed if report.times and report.times.cpu is not None]
    longest = max(timed, key=lambda report: report.times.wall if report.times else 0.0, default=None)
    remaining = len(jobs) - counts["done"]
    left = 0.0 if not remaining else wall / len(timed) * remaining if timed else None
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


def _job_json(plan: Plan, report: JobReport) -> dict[str, Any]:
    job, took = report.job, report.times
    return {
        "stage": job.stage,
        "wildcards": dict(job.wildcards),
        "state": report.state,
        "outputs": [plan.path(output) for output in job.outputs],
        "log": plan.path(job.log) if job.log else None,
        "message": report.message,
        "wall_s": took.wall if took else None,
        "cpu_s": took.cpu if took else None,
    }
