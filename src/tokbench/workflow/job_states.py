"""The plan of a run, and the states of its jobs derived from files.

A run writes its plan into the experiment's folder: every job with its files, and the run itself. Outputs, logs and
benchmarks show whether a job is done, running, failed or missing. Each folder is listed once, which is faster on a
network file system than a query per file. The times of jobs are from the engine's benchmarks.
"""

import os
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Literal, NamedTuple, get_args

from pydantic import Field, StringConstraints, TypeAdapter, ValidationError

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.locks import is_locked
from tokbench.io.output_place import is_dead

NAME = "jobs.json"
FORMAT: Literal[2] = 2
REMEDY = "a run of snakemake leaves one, 'snakemake -n' shows what it would do"
SLURM_RUN = re.compile(rb"^SLURM run ID: ([\w-]+)\s*$", re.MULTILINE)
"""Line of Snakemake's log with the id of a run, which is the name of all its jobs on the cluster."""
LOG_START = 1_000_000
"""Bytes at the start of Snakemake's log that are searched for the id."""
LOG_END = 4096
"""Bytes at the end of a job's log that are searched for its last message."""
ERROR = "tokbench: "
"""Start of the line by which a command reports an error."""
MAX_MESSAGE = 300
"""Maximum characters of a message that are shown."""

State = Literal["done", "running", "failed", "missing"]
STATES: tuple[State, ...] = get_args(State)
Life = Literal["running", "ended", "unknown"]
FileName = Annotated[str, StringConstraints(pattern=r"^[^\x00]+$")]


@dataclass(frozen=True, slots=True)
class Job:
    """A job of the plan; paths are as the workflow engine names them.

    Attributes:
        stage: its rule.
        wildcards: its wildcards, which identify it among the stage's jobs.
        outputs: its outputs.
        log: its log; None if the rule has none.
        benchmark: file of its times; None if the rule has none.
        planned: whether the run planned to execute it; otherwise it was done before.
        into: the first outputs of the jobs that read its temporary outputs; empty if its outputs are kept.
    """

    stage: str
    wildcards: Mapping[str, str]
    outputs: Annotated[tuple[FileName, ...], Field(min_length=1)]
    log: FileName | None
    benchmark: FileName | None
    planned: bool
    into: tuple[FileName, ...] = ()

    @property
    def name(self) -> str:
        """Readable name: stage and wildcards."""
        return " ".join((self.stage, *self.wildcards.values()))


@dataclass(frozen=True)
class PlannedRun:
    """The run that wrote a plan.

    Attributes:
        started: start time in UTC, ISO 8601.
        began: time of change of the lock that the run took, in nanoseconds, by the clock of the file system. Files that
            are older are not from this run.
        pid: process that schedules the jobs.
        host: its machine.
        directory: its working directory.
        folder: the experiment's folder, as the workflow's paths begin with it.
        command: its command line.
        log: the workflow engine's own log.
        slurm: ids of the earlier runs that used SLURM, the latest last.
    """

    started: str
    began: int
    pid: int
    host: str
    directory: FileName
    folder: FileName
    command: str
    log: FileName | None
    slurm: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """A run, and all of its jobs.

    Attributes:
        folder: path of the experiment's folder on this machine.
        run: the run.
        jobs: all jobs, by stage in the order of the workflow.
    """

    folder: Path
    run: PlannedRun
    jobs: tuple[Job, ...]

    @property
    def stages(self) -> tuple[str, ...]:
        """Rules with jobs, in the order of the workflow."""
        return tuple(dict.fromkeys(job.stage for job in self.jobs))

    def path(self, name: str) -> str:
        """Return the path of a file of the plan: in the experiment's current folder, or relative to the run's
        directory."""
        inside = f"{self.run.folder}/"
        if name.startswith(inside):
            return f"{self.folder}/{name[len(inside) :]}"
        return name if name.startswith("/") else f"{self.run.directory}/{name}"

    @cached_property
    def slurm_runs(self) -> tuple[str, ...]:
        """Ids of this run and earlier ones that used SLURM, the latest last; this run's is from Snakemake's log."""
        try:
            with open(self.run.log or "", "rb") as log:
                runs = [run.decode() for run in SLURM_RUN.findall(log.read(LOG_START))]
        except OSError:
            runs = []
        return tuple(dict.fromkeys((*self.run.slurm, *runs)))


@dataclass(frozen=True)
class _PlanFile:
    """Content of a plan's file."""

    format: Literal[2]
    run: PlannedRun
    jobs: tuple[Job, ...]


_FILE = TypeAdapter(_PlanFile)


def write_plan(plan: Plan) -> None:
    """Write the plan into its folder, atomically."""
    content = _FILE.dump_json(_PlanFile(FORMAT, plan.run, plan.jobs))
    with atomic_file(plan.folder / NAME) as partial:
        partial.write_bytes(content)


def read_plan(folder: Path | str) -> Plan:
    """Read the plan of the last run in an experiment's folder.

    Raises:
        TokbenchError: there is none, or it is damaged.
    """
    path = Path(folder, NAME)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise TokbenchError(f"{folder}: no plan of a run here ({NAME}); {REMEDY}") from None
    try:
        plan = _FILE.validate_json(content, strict=True)
    except ValidationError:
        raise TokbenchError(f"{path}: damaged, or written by another version of Tokbench; {REMEDY}") from None
    return Plan(Path(folder), plan.run, plan.jobs)


class Listing:
    """Cached folder listings: files that exist when their folder is first queried.

    Args:
        plan: plan whose names of files are queried.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._names: dict[str, frozenset[str]] = {}

    def exists(self, name: str) -> bool:
        """Return whether a file or a folder exists."""
        folder, _, file = name.rpartition("/")
        if folder not in self._names:
            self._names[folder] = _names(self._plan.path(folder))
        return file in self._names[folder]

    def change_time(self, name: str) -> int | None:
        """Return the time of the last change in nanoseconds; None if the file does not exist."""
        if not self.exists(name):
            return None
        try:
            return os.stat(self._plan.path(name)).st_mtime_ns
        except OSError:
            return None


def _names(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder or "."))
    except OSError:
        return frozenset()


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
        with open(path, "rb") as benchmark:
            head, row = benchmark.read(LOG_END).split(b"\n")[:2]
        wall, cpu = _times_columns(head)
        values = row.split(b"\t")
        return Times(float(values[wall]), _number(values[cpu]) or None)
    except (OSError, ValueError, IndexError):
        return None


@cache
def _times_columns(head: bytes) -> tuple[int, int]:
    """Return the indices of the two times in a benchmark's rows."""
    names = head.rstrip().split(b"\t")
    return names.index(b"s"), names.index(b"cpu_time")


def _number(text: bytes) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def last_message(path: str) -> str | None:
    """Return the last non-empty line of a log; None if there is none."""
    lines = _last_lines(path)
    if not lines:
        return None
    plain = "".join(letter if letter.isprintable() else "?" for letter in lines[-1])
    return plain if len(plain) <= MAX_MESSAGE else f"{plain[:MAX_MESSAGE]}..."


def _last_lines(path: str) -> list[str]:
    """Return the last non-empty lines of a log."""
    try:
        with open(path, "rb") as log:
            log.seek(max(os.fstat(log.fileno()).st_size - LOG_END, 0))
            lines = log.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return []
    return [line.strip() for line in lines if line.strip()]


def life_of(plan: Plan) -> Life:
    """Return whether the run of a plan is in progress.

    This is determined by the operating system's lock. If it is free and the run was on another machine, the file system
    may not share locks with that machine.
    """
    locked = is_locked(plan.folder)
    if locked:
        return "running"
    if plan.run.host != socket.gethostname():
        return "unknown"
    if locked is None:  # No locks on this file system.
        return "running" if _is_process(plan.run.pid) else "ended"
    return "ended"


def _is_process(pid: int) -> bool:
    """Return whether a process on this machine has this id and runs the workflow engine, as far as the system says."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return b"snakemake" in line.read()
    except OSError:
        return not os.path.exists("/proc/self") and not is_dead(pid)  # macOS has no /proc


def states(plan: Plan, life: Life) -> list[State]:
    """Return the state of each job of the plan."""
    files = Listing(plan)
    current = [_state(plan, job, files, active=life == "running") for job in plan.jobs]
    places = {job.outputs[0]: place for place, job in enumerate(plan.jobs)}
    # A temporary output is done if all outputs made from it are; these may be temporary, too.
    gone = [place for place, job in enumerate(plan.jobs) if job.into and current[place] in ("missing", "failed")]
    while settled := [place for place in gone if _is_used(plan.jobs[place], places, current)]:
        for place in settled:
            current[place] = "done"
        gone = [place for place in gone if current[place] != "done"]
    return current


def _is_used(job: Job, places: Mapping[str, int], current: Sequence[State]) -> bool:
    """Return whether all outputs made from a job's temporary outputs are done."""
    return all(name in places and current[places[name]] == "done" for name in job.into)


def _state(plan: Plan, job: Job, files: Listing, active: bool) -> State:
    """Return a job's state, from its own files; ``active`` if the run is in progress."""

    def is_new(name: str) -> bool:
        """Return whether a file is from this run, or the run did not plan to make it."""
        changed = files.change_time(name)
        return changed is not None and (not job.planned or changed >= plan.run.began)

    present = all(map(files.exists, job.outputs))
    if present and is_new(job.outputs[0]):
        return "done"
    if present or job.log is None or not files.exists(job.log) or _has_succeeded(job, files):
        return "missing"
    if not active:
        return "failed"
    if not is_new(job.log):
        return "missing"
    return "failed" if any(line.startswith(ERROR) for line in _last_lines(plan.path(job.log))) else "running"


def _has_succeeded(job: Job, files: Listing) -> bool:
    """Return whether a job's log is from a success, after which the engine writes a benchmark.

    A benchmark from before a failed run is older than the log of that run.
    """
    timed = files.change_time(job.benchmark) if job.benchmark else None
    logged = files.change_time(job.log) if job.log else None
    return timed is not None and logged is not None and timed >= logged
