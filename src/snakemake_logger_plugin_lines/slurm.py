"""Jobs of a run on a SLURM cluster: one line when SLURM rejects, delays or ends one, and the end of a run that hangs.

Sources are the records of Snakemake's log, and the answers of SLURM. SLURM's executor does not notice that a job ended
if it was preempted, if the executor forgot it because SLURM did not answer, or if SLURM forgot it first. Preempted jobs
are requeued. If all jobs that Snakemake waits for have ended and it does not notice, the run is ended.
"""

import os
import re
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import Any

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines.queries import OVER, Queued, end_of, queue_of, requeue
from snakemake_logger_plugin_lines.reasons import ENDS, REFUSALS, meaning_of, one_line
from snakemake_logger_plugin_lines.submission import Submissions

INTERVAL = 30.0
"""Default seconds between two queries of the queue."""
PATIENCE = 20
"""Queries in a row in which all jobs have ended and Snakemake notices nothing, until the run is ended. Snakemake asks
every three minutes or more often."""
REFUSES = 10
"""Queries after which SLURM does not requeue a job that it ended."""
GRACE = (300.0, 60.0)
"""Seconds in which a run must end after each interrupt. Snakemake first ends its pause, of at most three minutes."""
RUN = re.compile(r"SLURM run ID: (\S+)")
SUBMITTED = re.compile(r"Job (\S+) has been submitted with SLURM jobid (\S+) \(log: (.*)\)\.")
REFUSED = re.compile(r"SLURM sbatch failed\. The error message was '(.*?)'\.\n", re.DOTALL)
ENDED = re.compile(r"SLURM-job '(\S+)' failed")
ENDING = ("Terminating processes on user request", "Shutting down")
"""Beginnings of Snakemake's messages after which it starts no more jobs."""
RESOURCES = {"mem_mb": "mem_mb", "cores": "_cores", "runtime": "runtime", "gpu": "gpu", "partition": "slurm_partition"}
"""Snakemake's names of the resources of a job, by their names in the profile."""
EXHAUSTED = {"OUT_OF_MEMORY": "mem_mb", "TIMEOUT": "runtime"}


@dataclass
class _Job:
    name: str
    resources: dict[str, Any]
    number: str = ""
    log: Path | None = None
    waits: str = ""
    preempted: int = 0

    def request(self) -> str:
        return ", ".join(f"{key} {value}" for key, value in self.resources.items() if value)

    def __str__(self) -> str:
        return f"{self.name} (job {self.number})" if self.number else self.name


class SlurmLog:
    """Follow a run by the records of Snakemake's log. Without SLURM it does nothing.

    Args:
        interval: seconds between two queries of the queue, and between two attempts to submit a job.
    """

    def __init__(self, interval: float = INTERVAL) -> None:
        self._interval = interval
        self._jobs: dict[str, _Job] = {}
        self._open: dict[str, _Job] = {}
        self._unsubmitted: set[str] = set()
        self._reported: set[tuple[str, str]] = set()
        self._unnoticed = 0
        self._submissions: Submissions | None = None
        self._ends = False
        self._ended = Event()

    def lines(self, record: Any) -> list[str]:
        """Return the lines to print for a record, before those of Snakemake."""
        event, text = getattr(record, "event", None), str(record.msg)
        if event in (LogEvent.JOB_INFO, LogEvent.JOB_FINISHED, LogEvent.JOB_ERROR):
            self._unnoticed = 0
        if event is LogEvent.JOB_INFO:
            self._start(str(record.jobid), record)
        elif event is LogEvent.JOB_FINISHED:
            self._close(str(record.job_id))
        elif event is LogEvent.JOB_ERROR:
            return self._fail(str(record.jobid), f"{getattr(record, 'rule_msg', '')}\n")
        elif event is None and (match := SUBMITTED.match(text)):
            return self._submit(match[1], match[2], Path(match[3]))
        elif event is None and (match := RUN.match(text)):
            self._submissions = Submissions.begin(self._interval)
            Thread(target=self._watch, args=(match[1],), daemon=True).start()
        elif event is None and text.startswith(ENDING) and self._submissions:
            self._ends = True
            self._submissions.stop()
        return []

    def close(self) -> None:
        """Stop the queries of the queue, and the attempts to submit jobs."""
        self._ended.set()
        if self._submissions:
            self._submissions.end()

    def _start(self, key: str, record: Any) -> None:
        requested = getattr(record, "resources", None) or {}
        number = self._jobs[key].number if key in self._jobs else ""
        resources = {name: requested.get(key) for name, key in RESOURCES.items()}
        self._jobs[key] = _Job(str(record.rule_msg or record.rule_name), resources, number)
        self._unsubmitted.add(key)

    def _submit(self, key: str, number: str, log: Path) -> list[str]:
        job = self._jobs.setdefault(key, _Job(f"job {key}", {}))
        is_retry, job.number, job.log = bool(job.number), number, log
        self._open[number] = job
        self._unsubmitted.discard(key)
        return [f"{job} is tried again ({job.request()})"] if is_retry else []

    def _close(self, key: str) -> None:
        self._unsubmitted.discard(key)
        if key in self._jobs:
            self._open.pop(self._jobs[key].number, None)

    def _fail(self, key: str, message: str) -> list[str]:
        job = self._jobs.get(key)
        if job is None:
            return []
        self._close(key)
        if self._ends:
            return []
        if match := REFUSED.search(message):
            reason = one_line(match[1])
            hint = next((hint for part, hint in REFUSALS if part in reason.lower()), "")
            line = f"{job.name} was refused: {reason} ({job.request()})"
            repeated = (key, reason) in self._reported
            self._reported.add((key, reason))
            return [] if repeated else [f"{line}; {hint}" if hint else line]
        state = end_of(job.number, job.log) if ENDED.search(message) else ""
        if not state:
            return []
        resource = EXHAUSTED.get(state, "")
        return [f"{job} {ENDS[state]}" + (f", it had {resource} {job.resources.get(resource)}" if resource else "")]

    def _watch(self, run: str) -> None:
        while not self._ended.wait(self._interval):
            messages = self._submissions.notes() if self._submissions else []
            lines = [f"submissions wait: {one_line(message)}; they are tried again" for message in messages]
            queue = queue_of(run)
            if queue is not None:
                lines += self.waiting(queue) + self.preempted(queue)
                ends = self.unnoticed(queue)
                lines += ends
            for line in lines:
                logger.warning(line, extra={"slurm": True})
            if queue is not None and ends:
                self._end_run()

    def waiting(self, queue: Mapping[str, Queued]) -> list[str]:
        """Return a line for the jobs that do not start without a change, when two queries had the same reason."""
        by_meaning: dict[str, list[_Job]] = {}
        for number, job in list(self._open.items()):
            state, reason = queue.get(number, ("", ""))
            reason = reason if state == "PENDING" else ""
            meaning = meaning_of(reason)
            if meaning and job.waits == reason and (number, reason) not in self._reported:
                self._reported.add((number, reason))
                by_meaning.setdefault(meaning, []).append(job)
            job.waits = reason
        return [
            f"{jobs[0]}{f' and {len(jobs) - 1} more wait' if len(jobs) > 1 else ' waits'}: {meaning}"
            for meaning, jobs in by_meaning.items()
        ]

    def preempted(self, queue: Mapping[str, Queued]) -> list[str]:
        """Requeue the jobs that SLURM ended for another one and does not start again; return a line for each.

        They were so in two queries, as SLURM needs a moment to requeue a job by itself. Each query asks it again.
        """
        lines = []
        for number, job in list(self._open.items()):
            is_preempted = number in queue and queue[number].state == "PREEMPTED"
            job.preempted = job.preempted + 1 if is_preempted else 0
            if job.preempted > 1 and requeue(number):
                lines.append(f"{job} {ENDS['PREEMPTED']}, and is requeued")
            elif job.preempted == REFUSES:
                lines.append(f"{job} {ENDS['PREEMPTED']}, and SLURM does not requeue it: the next run repeats it")
        return lines

    def unnoticed(self, queue: Mapping[str, Queued]) -> list[str]:
        """Return the line with which the run ends, if all jobs that it waits for have ended for too many queries."""
        ended = [job for number, job in list(self._open.items()) if number not in queue or queue[number].state in OVER]
        waits_for_these = ended and len(ended) == len(self._open) and not self._unsubmitted
        self._unnoticed = self._unnoticed + 1 if waits_for_these else 0
        if self._unnoticed < PATIENCE:
            return []
        more = f" and {len(ended) - 1} more have" if len(ended) > 1 else " has"
        advice = "the run ends; start it again, it continues with the finished results"
        return [f"{ended[0]}{more} ended, and Snakemake's executor does not notice: {advice}"]

    def _end_run(self) -> None:
        """End this process as Control-C does, or at once if it does not react."""
        for seconds in GRACE:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(seconds)
        os._exit(1)
