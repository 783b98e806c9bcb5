"""What a run says of its jobs on a cluster, a line for each thing that its user would otherwise have to find out."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from snakemake_logger_plugin_lines import reasons, requests, slurm


class Watch:
    """Says everything once."""

    def __init__(self) -> None:
        self.accounts = False
        """Whether `sacct` answers."""
        self._said: set[tuple[str, ...]] = set()
        self._waited: dict[str, str] = {}

    def choose_status(self, settings: Any) -> list[str]:
        """Have the executor ask `squeue` where `sacct` is what it would ask and does not answer."""
        trouble = slurm.status_trouble("sacct")
        self.accounts = not trouble
        if not trouble or getattr(settings, "status_command", None) != "sacct":
            return []
        settings.status_command = "squeue"
        return [f"sacct does not answer ({trouble}): squeue is asked how jobs are"]

    def lost(self, command: str) -> list[str]:
        """The executor asked how its jobs are and was told nothing."""
        trouble = slurm.status_trouble(command)
        why = trouble or "a moment ago it did not"
        line = f"{command} does not answer ({why}): it is asked again, and jobs are waited for"
        return self._once(line, "lost", trouble)

    def refused(self, job: Any, message: str) -> list[str]:
        """`sbatch` did not take a job."""
        found = re.search(r"error message was '(.*?)'\.?\n", f"{message}\n", re.DOTALL)
        said = slurm.one_line(found.group(1) if found else message.strip().partition("\n")[0])
        remedy = reasons.refusal(said)
        line = f"{requests.name(job)} was refused: {said} ({requests.asked(job)})"
        return self._once(f"{line}; {remedy}" if remedy else line, "refused", requests.name(job), said)

    def waiting(self, run: str, jobs: Iterable[tuple[str, Any]]) -> list[str]:
        """Jobs whose turn will not come by itself, once the same reason has been seen twice.

        Args:
            run: the name that all the run's jobs have in SLURM.
            jobs: those submitted and not yet ended, with SLURM's numbers of them.
        """
        seen = slurm.pending(run)
        alike: dict[str, list[tuple[str, Any]]] = {}
        for number, job in jobs:
            reason = seen.get(number, "")
            meaning = reasons.wait(reason) if reason else ""
            if meaning and self._waited.get(number) == reason and self._first("waits", number, reason):
                alike.setdefault(meaning, []).append((number, job))
        self._waited = seen
        return [f"{_all(many)} {'wait' if len(many) > 1 else 'waits'}: {meaning}" for meaning, many in alike.items()]

    def failed(self, job: Any, number: str, log: Path | None) -> list[str]:
        """How the cluster ended a job, if it was the cluster, and with what the job is tried again."""
        state = slurm.end_of(number, log, self.accounts)
        if not state:
            return []
        key = reasons.KEYS.get(state, "")
        had = f"{key} {job.resources.get(key)}" if key else ""
        line = f"{_one(number, job)} {reasons.ENDS[state]}"
        return [f"{line}, it had {had}: {_next(job, key)}" if key else f"{line}: {_next(job, key)}"]

    def _once(self, line: str, *key: str) -> list[str]:
        return [line] if self._first(*key) else []

    def _first(self, *key: str) -> bool:
        new = key not in self._said
        self._said.add(key)
        return new


def _one(number: str, job: Any) -> str:
    return f"{requests.name(job)} (job {number})"


def _all(jobs: list[tuple[str, Any]]) -> str:
    more = len(jobs) - 1
    return _one(*jobs[0]) + (f" and {more} more job{'s' if more > 1 else ''}" if more else "")


def _next(job: Any, key: str) -> str:
    """What becomes of a job that failed, where ``key`` is what it had too little of."""
    attempt, attempts = requests.attempts(job)
    if attempt >= attempts:
        remedy = f"; give its rule more {key}, by set-resources in the profile" if key else ""
        return f"not tried again after attempt {attempt} of {attempts}{remedy}"
    tried = f"tried again, attempt {attempt + 1} of {attempts}"
    more = None
    with suppress(Exception):  # Whatever a rule's own function raises, it will raise where Snakemake asks it.
        more = requests.in_next_attempt(job).resources.get(key)
    if not key or more is None:
        return tried
    if more == job.resources.get(key):
        return f"{tried}, with no more: set {key} by set-resources in the profile, or raise its limit under resources"
    return f"{tried}, with {key} {more}"
