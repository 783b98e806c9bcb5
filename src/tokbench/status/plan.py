"""The plan that a run leaves in its experiment's folder: every job with its files, and the run itself."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import Any, NamedTuple

from tokbench.atomic import atomic_file
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json

NAME = "jobs.json"
FORMAT = 1
REMEDY = "a run of snakemake leaves one, 'snakemake -n' shows what it would do"


class Job(NamedTuple):
    """A job of the plan; paths are as the workflow engine names them.

    Attributes:
        stage: its rule.
        wildcards: what tells it from the stage's other jobs.
        outputs: what it makes.
        log: its log, None where the rule has none.
        benchmark: where its times are, None where the rule keeps none.
        planned: whether the run meant to do it, rather than found it done.
        stood: times of change, in nanoseconds, of its first output, its log and its mark where they stood when the run
            began, by ``output``, ``log`` and ``mark``: what still has that time is not of this run. None where nothing
            stood.
        into: the first outputs of the jobs that take its temporary outputs; None where its outputs stay.
    """

    stage: str
    wildcards: Mapping[str, str]
    outputs: tuple[str, ...]
    log: str | None
    benchmark: str | None
    planned: bool
    stood: Mapping[str, int] | None
    into: Sequence[str] | None

    @property
    def name(self) -> str:
        """What a person calls it."""
        return " ".join((self.stage, *self.wildcards.values()))


@dataclass(frozen=True)
class Run:
    """The run that left a plan.

    Attributes:
        started: when, in UTC, as in ISO 8601.
        pid: the process that hands out the jobs.
        host: its machine.
        directory: where it was started.
        folder: the experiment's folder, as the workflow's paths begin with it.
        command: the command line that started it.
        log: the workflow engine's own log.
        marks: folder of the marks that the engine sets while a job is under way; None where it keeps them otherwise.
        slurm: ids of the runs here that went through SLURM, the latest last; its jobs bear them as their name.
    """

    started: str
    pid: int
    host: str
    directory: str
    folder: str
    command: str
    log: str | None
    marks: str | None
    slurm: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """Every job of a run, and the run.

    Attributes:
        folder: the experiment's folder, as it is seen from here.
        stages: the rules that have jobs, in the order of the workflow.
    """

    folder: Path
    run: Run
    stages: tuple[str, ...]
    jobs: tuple[Job, ...]

    def path(self, name: str) -> str:
        """Where a file of the plan lies: below the experiment's folder wherever that is, or where the run began."""
        inside = f"{self.run.folder}/"
        if name.startswith(inside):
            return f"{self.folder}/{name[len(inside) :]}"
        return name if name.startswith("/") else f"{self.run.directory}/{name}"


def write_plan(plan: Plan) -> None:
    """Write the plan into its folder, whole or not at all."""
    by_stage: dict[str, list[Job]] = {stage: [] for stage in plan.stages}
    for job in plan.jobs:
        by_stage[job.stage].append(job)
    stages = {stage: _columns(jobs) for stage, jobs in by_stage.items()}
    content = json.dumps({"format": FORMAT, "run": asdict(plan.run), "stages": stages}, separators=(",", ":"))
    with atomic_file(plan.folder / NAME) as partial:
        partial.write_text(content, encoding="ascii")


def read_plan(folder: Path | str) -> Plan:
    """The plan of the last run in an experiment's folder.

    Raises:
        TokbenchError: there is none, or it is damaged.
    """
    path = Path(folder, NAME)
    if not path.exists():
        raise TokbenchError(f"{folder}: no plan of a run here ({NAME}); {REMEDY}")
    told = read_json(path, REMEDY, lenient=True)
    if told.get("format") != FORMAT:
        raise TokbenchError(f"{path}: another version of Tokbench wrote it; {REMEDY}")
    try:
        run = _run(told["run"])
        jobs = tuple(job for stage, columns in told["stages"].items() for job in _jobs(stage, columns))
    except (TypeError, KeyError, ValueError, AttributeError):
        raise TokbenchError(f"{path}: damaged, or not written by a run; {REMEDY}") from None
    return Plan(Path(folder), run, tuple(told["stages"]), jobs)


def _columns(jobs: list[Job]) -> dict[str, Any]:
    """A stage's jobs as lists of plain values, which are read several times faster than an object a job."""
    return {
        "wildcards": {name: [job.wildcards[name] for job in jobs] for name in jobs[0].wildcards},
        "outputs": [job.outputs[0] if len(job.outputs) == 1 else job.outputs for job in jobs],
        "log": [job.log for job in jobs],
        "benchmark": [job.benchmark for job in jobs],
        "planned": [int(job.planned) for job in jobs],
        "stood": {place: job.stood for place, job in enumerate(jobs) if job.stood},
        "into": {place: job.into for place, job in enumerate(jobs) if job.into},
    }


def _jobs(stage: str, columns: Mapping[str, Any]) -> Iterator[Job]:
    """The jobs of a stage's columns; what is of another type is told before anything is done with it.

    Raises:
        TypeError, KeyError, ValueError, AttributeError: the columns are not what :func:`_columns` makes.
    """
    names, values = tuple(columns["wildcards"]), columns["wildcards"].values()
    stood, into = columns["stood"], columns["into"]
    all_outputs, logs, benchmarks, planned = (columns[key] for key in ("outputs", "log", "benchmark", "planned"))
    for column in values:
        _require(all(map(_is_text, column)))
    for column in (logs, benchmarks):
        _require(all(one is None or _is_text(one) for one in column))
    _require(all(isinstance(one, int) for one in planned))
    _require(all(_are_texts(one) for one in into.values()))
    for times in stood.values():
        _require(all(map(_is_text, times)) and all(isinstance(time, int) for time in times.values()))
    wildcards = zip(*values, strict=True) if names else repeat((), len(all_outputs))
    rows = zip(all_outputs, logs, benchmarks, planned, strict=True)
    for place, (row, own) in enumerate(zip(rows, wildcards, strict=True)):
        _require(_is_text(row[0]) or (_are_texts(row[0]) and bool(row[0])))
        outputs = (row[0],) if isinstance(row[0], str) else tuple(row[0])
        key = str(place)
        more = (stood.get(key), into.get(key)) if stood or into else (None, None)
        yield Job(stage, dict(zip(names, own, strict=True)), outputs, row[1], row[2], bool(row[3]), *more)


def _run(told: Mapping[str, Any]) -> Run:
    """The run as it is written down.

    Raises:
        TypeError, KeyError, ValueError: it is not.
    """
    for key in ("started", "host", "directory", "folder", "command"):
        _require(_is_text(told[key]))
    for key in ("log", "marks"):
        _require(told[key] is None or _is_text(told[key]))
    _require(type(told["pid"]) is int and _are_texts(told["slurm"]))
    return Run(**{**told, "slurm": tuple(told["slurm"])})


def _require(fits: bool) -> None:
    if not fits:
        raise ValueError


def _is_text(value: Any) -> bool:
    """Whether it is text that may be a path."""
    return isinstance(value, str) and "\0" not in value


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))
