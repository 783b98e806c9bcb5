"""An experiment at a glance: what of its last run's plan is done, running, failed and missing, told from files alone.

A run leaves its plan in the experiment's folder (:mod:`tokbench.workflow.job_states`); outputs, logs, benchmarks, the
workflow engine's marks and the lock say the rest (:mod:`tokbench.workflow.job_states`). The engine itself is not asked:
it would plan again, and can neither while a run is going on nor on a machine that only sees the files.

A plan's jobs and stages with their states and times, as a terminal, a page and JSON show them.
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

FORMAT = 1


@dataclass(frozen=True, slots=True)
class JobReport:
    """A job, its state, its times once it is done, and the last message of its log where it has failed."""

    job: Job
    state: State
    times: Times | None
    message: str | None


@dataclass(frozen=True)
class Stage:
    """A stage, or all of them together.

    Attributes:
        name: its rule.
        counts: jobs in each state.
        wall: seconds that the jobs which are done took, added up.
        cpu: seconds of processors, of those of them whose seconds are known; None where none are.
        cpu_whole: whether they are known of all.
        longest: the one that took longest.
        left: seconds that the others will take, added up: as long as those that are done took on average. Zero where
            none is left, None where there is nothing to go by.
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
        """All of them."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Overview:
    """An experiment at a glance.

    Attributes:
        plan: what its last run meant to do.
        life: whether that run is at work.
        jobs: every job.
        stages: every stage.
        total: all stages together; what is left is left out of it where a stage tells nothing, see ``unknown``.
        unknown: stages of which some jobs are left and none is done.
    """

    plan: Plan
    life: Life
    jobs: list[JobReport]
    stages: list[Stage]
    total: Stage
    unknown: list[str]

    def those(self, state: State) -> list[JobReport]:
        """The jobs in a state."""
        return [told for told in self.jobs if told.state == state]


def overview(plan: Plan, life: Life | None = None) -> Overview:
    """What the files say now.

    Args:
        plan: what the last run meant to do.
        life: whether that run is at work, where the caller knows.
    """
    life = life or life_of(plan)
    told = [_told(plan, job, state) for job, state in zip(plan.jobs, states(plan, life), strict=True)]
    by_stage: dict[str, list[JobReport]] = {name: [] for name in plan.stages}
    for one in told:
        by_stage[one.job.stage].append(one)
    stages = [_stage(name, jobs) for name, jobs in by_stage.items()]
    unknown = [stage.name for stage in stages if stage.left is None]
    known = sum(stage.left for stage in stages if stage.left is not None)
    total = replace(_stage("all", told), left=known or (None if unknown else 0.0))
    return Overview(plan, life, told, stages, total, unknown)


def as_json(seen: Overview) -> dict[str, Any]:
    """The overview as plain values; docs/status.md explains each key."""
    run: PlannedRun = seen.plan.run
    return {
        "format": FORMAT,
        "folder": str(seen.plan.folder),
        "run": {"state": seen.life} | {key: value for key, value in asdict(run).items() if key != "marks"},
        "total": _stage_json(seen.total),
        "left_unknown": seen.unknown,
        "stages": [_stage_json(stage) for stage in seen.stages],
        "jobs": [_job_json(seen.plan, told) for told in seen.jobs],
    }


def _told(plan: Plan, job: Job, state: State) -> JobReport:
    took = times(plan.path(job.benchmark)) if state == "done" and job.benchmark else None
    message = last_message(plan.path(job.log)) if state in ("failed", "interrupted") and job.log else None
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
