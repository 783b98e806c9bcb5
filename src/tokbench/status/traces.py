"""What the files say of each job: done, running, queued, failed, interrupted or missing."""

import os
import socket
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from typing import Literal, get_args

from tokbench.status.listing import Listing
from tokbench.status.plan import Job, Plan
from tokbench.workflow.lock import is_held

State = Literal["done", "running", "queued", "failed", "interrupted", "missing"]
STATES: tuple[State, ...] = get_args(State)
Life = Literal["running", "ended", "unknown"]
MOMENT = 0.2
"""Seconds after which a job that has begun bears its mark."""
LONGEST_NAME = 255
"""Bytes of a file's name; the workflow engine spreads the name of a longer mark over folders."""


def life_of(plan: Plan) -> Life:
    """Whether the run that left the plan is still at work.

    The kernel's lock says so. Where it is free and the run was another machine's, the file system may not carry locks
    from there.
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
    """The state of each job of the plan."""
    traces = Traces(plan, at_work=life == "running")
    told = [traces.state(job) for job in plan.jobs]
    doubtful = [place for place, state in enumerate(told) if state == "failed"] if life == "running" else []
    if doubtful:  # A job's log comes a moment before its mark.
        time.sleep(MOMENT)
        traces = Traces(plan, at_work=True)
        for place in doubtful:
            told[place] = traces.state(plan.jobs[place])
    made = {job.outputs[0]: place for place, job in enumerate(plan.jobs)}
    gone = [place for place, job in enumerate(plan.jobs) if job.into and told[place] in ("missing", "failed")]
    for _ in gone:  # What was taken from a temporary output may be temporary itself.
        settled = [place for place in gone if _taken(plan.jobs[place], made, told)]
        if not settled:
            break
        for place in settled:
            told[place] = "done"
        gone = [place for place in gone if told[place] != "done"]
    return told


def _taken(job: Job, made: dict[str, int], told: Sequence[State]) -> bool:
    """Whether all that is made from a job's temporary outputs is done."""
    return all(name in made and told[made[name]] == "done" for name in job.into or ())


class Traces:
    """The files of a plan's jobs.

    Args:
        plan: the plan.
        at_work: whether its run is.
    """

    def __init__(self, plan: Plan, at_work: bool) -> None:
        self._plan = plan
        self._at_work = at_work
        marks = plan.run.marks
        self._marked = marked_outputs(marks) if marks and os.path.isdir(marks) else None
        self._files = Listing(plan.path)
        self._marks = Listing()

    def state(self, job: Job) -> State:
        """A job's state by its own files."""
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
        """Whether a job's log is that of a success: then alone is the benchmark written, after it.

        One from before a run that failed is older than the log of that.
        """
        timed = self._files.changed(job.benchmark) if job.benchmark else None
        logged = self._files.changed(job.log) if job.log else None
        return timed is not None and logged is not None and timed >= logged

    def _stood(self, job: Job, changed: int | None, kind: str) -> bool:
        return job.stood is not None and kind in job.stood and job.stood[kind] == changed


def mark(marks: str, output: str) -> str:
    """The file by which the workflow engine marks that an output is being made."""
    name = urlsafe_b64encode(os.fsencode(output)).decode()
    parts = [name[start : start + LONGEST_NAME - 1] for start in range(0, len(name), LONGEST_NAME - 1)]
    return "/".join((marks, *(f"@{part}" for part in parts[:-1]), parts[-1]))


def marked_outputs(marks: str) -> frozenset[str]:
    """The outputs that are marked, see :func:`mark`."""
    found = set()
    for folder, _, names in os.walk(marks):
        above = "".join(part.removeprefix("@") for part in folder[len(marks) :].split("/"))
        for name in names:
            with suppress(ValueError):
                found.add(os.fsdecode(urlsafe_b64decode(above + name)))
    return frozenset(found)


def _is_process(pid: int) -> bool:
    """Whether a process of this machine has this id and runs the workflow engine."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as line:
            return b"snakemake" in line.read()
    except OSError:
        return False
