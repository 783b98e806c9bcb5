"""The plan of a run, and the states of its jobs derived from files.

A run writes its plan into the experiment's folder: every job with its files, and the run itself. Outputs, logs,
benchmarks and the workflow engine's marks show whether a job is done, running, queued, failed, interrupted or missing.
Each folder is listed once, which is faster on a network file system than a query per file. The times of jobs are from
the engine's benchmarks.
"""

import json
import os
import socket
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from itertools import repeat
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.json import read_json
from tokbench.io.locks import is_held

NAME = "jobs.json"
FORMAT = 1
REMEDY = "a run of snakemake leaves one, 'snakemake -n' shows what it would do"


class Job(NamedTuple):
    """A job of the plan; paths are as the workflow engine names them.

    Attributes:
        stage: its rule.
        wildcards: its wildcards, which identify it among the stage's jobs.
        outputs: its outputs.
        log: its log; None if the rule has none.
        benchmark: file of its times; None if the rule has none.
        planned: whether the run planned to execute it; otherwise it was done before.
        stood: times of change in nanoseconds of its first output, its log and its mark before the run, by ``output``,
            ``log`` and ``mark``. A file that still has this time is not from this run. None if no file existed.
        into: the first outputs of the jobs that read its temporary outputs; None if its outputs are kept.
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
        """Readable name: stage and wildcards."""
        return " ".join((self.stage, *self.wildcards.values()))


@dataclass(frozen=True)
class PlannedRun:
    """The run that wrote a plan.

    Attributes:
        started: start time in UTC, ISO 8601.
        pid: process that schedules the jobs.
        host: its machine.
        directory: its working directory.
        folder: the experiment's folder, as the workflow's paths begin with it.
        command: its command line.
        log: the workflow engine's own log.
        marks: folder of the engine's marks of jobs in progress; None if it stores them differently.
        slurm: ids of the runs that used SLURM, the latest last. The names of their jobs are these ids.
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
    """A run, and all of its jobs.

    Attributes:
        folder: path of the experiment's folder on this machine.
        run: the run.
        stages: rules with jobs, in the order of the workflow.
        jobs: all jobs.
    """

    folder: Path
    run: PlannedRun
    stages: tuple[str, ...]
    jobs: tuple[Job, ...]

    def path(self, name: str) -> str:
        """Return the path of a file of the plan: in the experiment's current folder, or relative to the run's
        directory."""
        inside = f"{self.run.folder}/"
        if name.startswith(inside):
            return f"{self.folder}/{name[len(inside) :]}"
        return name if name.startswith("/") else f"{self.run.directory}/{name}"


def write_plan(plan: Plan) -> None:
    """Write the plan into its folder, atomically."""
    by_stage: dict[str, list[Job]] = {stage: [] for stage in plan.stages}
    for job in plan.jobs:
        by_stage[job.stage].append(job)
    stages = {stage: _columns(jobs) for stage, jobs in by_stage.items()}
    content = json.dumps({"format": FORMAT, "run": asdict(plan.run), "stages": stages}, separators=(",", ":"))
    with atomic_file(plan.folder / NAME) as partial:
        partial.write_text(content, encoding="ascii")


def read_plan(folder: Path | str) -> Plan:
    """Read the plan of the last run in an experiment's folder.

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
    """Return a stage's jobs as columns of plain values, which are read several times faster than one object per job."""
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
    """Yield the jobs of a stage's columns, after validating their types.

    Raises:
        TypeError, KeyError, ValueError, AttributeError: the columns are not in the format of :func:`_columns`.
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


def _run(told: Mapping[str, Any]) -> PlannedRun:
    """Parse the run of a plan.

    Raises:
        TypeError, KeyError, ValueError: it is not valid.
    """
    for key in ("started", "host", "directory", "folder", "command"):
        _require(_is_text(told[key]))
    for key in ("log", "marks"):
        _require(told[key] is None or _is_text(told[key]))
    _require(type(told["pid"]) is int and _are_texts(told["slurm"]))
    return PlannedRun(**{**told, "slurm": tuple(told["slurm"])})


def _require(fits: bool) -> None:
    if not fits:
        raise ValueError


def _is_text(value: Any) -> bool:
    """Return whether a value is text that may be a path."""
    return isinstance(value, str) and "\0" not in value


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


class Listing:
    """Cached folder listings: files that exist when their folder is first queried.

    Args:
        place: function that returns the path of a folder from its name in queries.
    """

    def __init__(self, place: Callable[[str], str] = str) -> None:
        self._place = place
        self._names: dict[str, frozenset[str]] = {}

    def exists(self, name: str) -> bool:
        """Return whether a file or a folder exists."""
        folder, _, file = name.rpartition("/")
        if folder not in self._names:
            self._names[folder] = _names(self._place(folder))
        return file in self._names[folder]

    def changed(self, name: str) -> int | None:
        """Return the time of the last change in nanoseconds; None if the file does not exist."""
        if not self.exists(name):
            return None
        folder, _, file = name.rpartition("/")
        try:
            return os.stat(os.path.join(self._place(folder), file)).st_mtime_ns
        except OSError:
            return None


def _names(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder or "."))
    except OSError:
        return frozenset()


LOG_END = 4096
"""Bytes at the end of a log that are searched for its last message."""
SHOWN = 300


class Times(NamedTuple):
    """Wall-clock and CPU seconds of a job; None if it ended before they were measured.

    The engine first measures half a second after a job's start. For shorter jobs it writes 0, which is replaced by
    None.
    """

    wall: float
    cpu: float | None


def times(path: str) -> Times | None:
    """Read the times in a job's benchmark; None if it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        head, row = os.read(descriptor, 4096).split(b"\n")[:2]
        wall, cpu = _times_columns(head)
        values = row.split(b"\t")
        return Times(float(values[wall]), _number(values[cpu]) or None)
    except (OSError, ValueError, IndexError):
        return None
    finally:
        os.close(descriptor)


@cache
def _times_columns(head: bytes) -> tuple[int, int]:
    """Return the indices of the two times in a benchmark's rows."""
    names = head.rstrip().split(b"\t")
    return names.index(b"s"), names.index(b"cpu_time")


def last_message(path: str) -> str | None:
    """Return the last non-empty line of a log; None if there is none."""
    try:
        with open(path, "rb") as log:
            log.seek(max(os.fstat(log.fileno()).st_size - LOG_END, 0))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    said = [line.strip() for line in lines if line.strip()]
    plain = "".join(letter if letter.isprintable() else "?" for letter in said[-1]) if said else None
    return plain if plain is None or len(plain) <= SHOWN else f"{plain[:SHOWN]}..."


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


State = Literal["done", "running", "queued", "failed", "interrupted", "missing"]
STATES: tuple[State, ...] = get_args(State)
Life = Literal["running", "ended", "unknown"]
MOMENT = 0.2
"""Seconds after which a job that has started is marked."""
LONGEST_NAME = 255
"""Maximum bytes of a file name; the workflow engine splits longer marks into folders."""


def life_of(plan: Plan) -> Life:
    """Return whether the run of a plan is in progress.

    This is determined by the operating system's lock. If it is free and the run was on another machine, the file system
    may not share locks with that machine.
    """
    held = is_held(plan.folder)
    if held:
        return "running"
    if plan.run.host != socket.gethostname():
        return "unknown"
    if held is None:  # No locks on this file system.
        return "running" if _is_process(plan.run.pid) else "ended"
    return "ended"


def states(plan: Plan, life: Life) -> list[State]:
    """Return the state of each job of the plan."""
    traces = Traces(plan, at_work=life == "running")
    told = [traces.state(job) for job in plan.jobs]
    doubtful = [place for place, state in enumerate(told) if state == "failed"] if life == "running" else []
    if doubtful:  # A job's log is created a moment before its mark.
        time.sleep(MOMENT)
        traces = Traces(plan, at_work=True)
        for place in doubtful:
            told[place] = traces.state(plan.jobs[place])
    made = {job.outputs[0]: place for place, job in enumerate(plan.jobs)}
    gone = [place for place, job in enumerate(plan.jobs) if job.into and told[place] in ("missing", "failed")]
    for _ in gone:  # Outputs made from a temporary output may be temporary, too.
        settled = [place for place in gone if _taken(plan.jobs[place], made, told)]
        if not settled:
            break
        for place in settled:
            told[place] = "done"
        gone = [place for place in gone if told[place] != "done"]
    return told


def _taken(job: Job, made: dict[str, int], told: Sequence[State]) -> bool:
    """Return whether all outputs made from a job's temporary outputs are done."""
    return all(name in made and told[made[name]] == "done" for name in job.into or ())


class Traces:
    """Files of a plan's jobs.

    Args:
        plan: the plan.
        at_work: whether its run is in progress.
    """

    def __init__(self, plan: Plan, at_work: bool) -> None:
        self._plan = plan
        self._at_work = at_work
        marks = plan.run.marks
        self._marked = marked_outputs(marks) if marks and os.path.isdir(marks) else None
        self._files = Listing(plan.path)
        self._marks = Listing()

    def state(self, job: Job) -> State:
        """Return a job's state, from its own files."""
        first = job.outputs[0]
        present = all(map(self._files.exists, job.outputs))
        made = present and not (job.stood and self._stood(job, self._files.changed(first), "output"))
        marked = self._marked is not None and first in self._marked
        if marked and self._at_work:
            marked = not self._stood(job, self._marks.changed(mark(str(self._plan.run.marks), first)), "mark")
        if made and not marked:
            return "done"
        logged = job.log is not None and self._files.exists(job.log) and not self._succeeded(job)
        if not self._at_work:
            return "interrupted" if marked else "failed" if logged and not present else "missing"
        begun = logged and not self._stood(job, self._files.changed(str(job.log)), "log")
        if marked:
            return "running" if begun or job.log is None else "queued"
        if begun and not present:
            return "running" if self._marked is None else "failed"
        return "missing"

    def _succeeded(self, job: Job) -> bool:
        """Return whether a job's log is from a success, after which the engine writes a benchmark.

        A benchmark from before a failed run is older than the log of that run.
        """
        timed = self._files.changed(job.benchmark) if job.benchmark else None
        logged = self._files.changed(job.log) if job.log else None
        return timed is not None and logged is not None and timed >= logged

    def _stood(self, job: Job, changed: int | None, kind: str) -> bool:
        return job.stood is not None and kind in job.stood and job.stood[kind] == changed


def mark(marks: str, output: str) -> str:
    """Return the file by which the workflow engine marks that an output is in progress."""
    name = urlsafe_b64encode(os.fsencode(output)).decode()
    parts = [name[start : start + LONGEST_NAME - 1] for start in range(0, len(name), LONGEST_NAME - 1)]
    return "/".join((marks, *(f"@{part}" for part in parts[:-1]), parts[-1]))


def marked_outputs(marks: str) -> frozenset[str]:
    """Return the marked outputs, see :func:`mark`."""
    found = set()
    for folder, _, names in os.walk(marks):
        above = "".join(part.removeprefix("@") for part in folder[len(marks) :].split("/"))
        for name in names:
            with suppress(ValueError):
                found.add(os.fsdecode(urlsafe_b64decode(above + name)))
    return frozenset(found)


def _is_process(pid: int) -> bool:
    """Return whether a process on this machine has this id and runs the workflow engine."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return b"snakemake" in line.read()
    except OSError:
        return False
