"""Snakemake's terminal output in lines: one when a job starts, one when it ends, with the count of steps.

On a SLURM cluster, also one when the cluster refuses a job, ends it or keeps it waiting. A dry run lists each job and
the reason to run it. Errors, failed logs and warnings keep Snakemake's own form; its messages about scheduling are left
out. Chosen by ``logger: lines`` in the workflow's profile.
"""

import gc
import logging
import os
import re
import sys
import time
from logging import WARNING, LogRecord
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines.slurm import SlurmLog

SAID = (
    "Nothing to be done",
    "Unlocking",
    "Elapsed time",
    "Exiting because",
    "Congratulations",
    "Lints for",
    "SLURM run",
)
"""Beginnings of the messages that a person waits for."""
REASON = 240
"""Characters of the reason for which a job is planned: it may be a list of thousands of files."""
BLOCK = bytes(1 << 14)
NOTES = ".snakemake"
"""Where Snakemake writes what it names no file of."""
ROOM, ELSEWHERE = "make room there", "let it be written to"
"""What to do about a place that is full, and about one that takes no writes for another reason."""
CACHE = "set HOME or XDG_CACHE_HOME to a folder that can be written to"
"""What to do where Snakemake cannot make its cache, which it needs for a dry run, too."""
CANNOT = re.compile(
    r"(?:OSError: |PermissionError: |\()\[Errno \d+\] (No space left on device|Disk quota exceeded|"
    r"Read-only file system|Permission denied|File too large|Input/output error)(?:: '([^']*)')?"
)
IN_FULL = (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.RUN_INFO, LogEvent.ERROR)


class LogHandler(LogHandlerBase):
    """What Snakemake calls with every record of its log."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.running: dict[int, tuple[str, float]] = {}
        self.finished: list[tuple[str, float]] = []
        self.own = DefaultFormatter(self.common_settings.quiet, self.common_settings.show_failed_logs)
        logging.raiseExceptions = False  # A log file that cannot be written is worth no traceback for every record.
        gc.set_threshold(100_000, 50, 50)  # A plan keeps nearly all of its millions of objects.
        self.slurm = SlurmLog()
        self.brief = self.common_settings.dryrun and not self.common_settings.printshellcmds

    def emit(self, record: LogRecord) -> None:
        stream = sys.stdout if self.common_settings.dryrun or self.common_settings.stdout else sys.stderr
        for line in self.lines(record):
            print(line, file=stream, flush=True)

    def close(self) -> None:
        self.slurm.close()
        super().close()

    def lines(self, record: Any) -> list[str]:
        """What to print for a record; Snakemake tells of a finished job first and of the count of steps after it."""
        dry = self.common_settings.dryrun
        now, clock = time.monotonic(), time.strftime("%H:%M:%S")
        if getattr(record, "slurm", False):
            return [f"{clock}  slurm  {record.msg}"]
        of_slurm = [] if dry else [f"{clock}  slurm  {line}" for line in self.slurm.lines(record)]
        return of_slurm + self._own_lines(record, now, clock)

    def _own_lines(self, record: Any, now: float, clock: str) -> list[str]:
        event, dry = getattr(record, "event", None), self.common_settings.dryrun
        said = str(record.msg).startswith(SAID)
        if event is LogEvent.SHELLCMD and self.brief:
            return []
        if event is LogEvent.JOB_INFO and self.brief:
            reason = record.reason
            return [record.rule_msg or record.rule_name, f"    {reason[:REASON]}{'…' * (len(reason) > REASON)}"]
        if event in IN_FULL or dry or said or record.levelno >= WARNING:
            text = self.own.format(record)
            if event is LogEvent.JOB_ERROR and (line := why_silent(next(iter(record.log or ()), None))):
                return [line]
            if event is not LogEvent.JOB_ERROR and record.levelno >= WARNING and (line := of_engine(text)):
                return [line]
            return [text] if text else []
        if event is LogEvent.JOB_INFO and getattr(record, "rule_msg", None):
            self.running[record.jobid] = (record.rule_msg, now)
            return [f"{clock}  start  {record.rule_msg}"]
        if event is LogEvent.JOB_FINISHED and record.job_id in self.running:
            self.finished.append(self.running.pop(record.job_id))
        elif event is LogEvent.PROGRESS:
            ended, self.finished = self.finished, []
            count = f"{record.done} of {record.total}"
            return [f"{clock}  done   {message} ({now - start:.0f} s; {count})" for message, start in ended]
        return []


def why_silent(log: str | None) -> str | None:
    """A line about a failed job with an empty log, where nothing can be written next to that log; else None."""
    if not log or (os.path.exists(log) and os.path.getsize(log)):
        return None
    folder = next(above for above in Path(log).absolute().parents if above.is_dir())
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(BLOCK)
    except OSError as error:
        return _line(os.path.relpath(folder), error.strerror or "")
    return None


def of_engine(text: str) -> str | None:
    """A line for an error of Snakemake's own, where it is one of writing; else None."""
    match = CANNOT.search(text)
    return _line(match[2] or NOTES, match[1]) if match else None


def _line(path: str, reason: str) -> str:
    remedy = CACHE if _is_of_cache(path) else ELSEWHERE
    if reason.startswith(("No space", "Disk quota")):
        remedy = ROOM
    return f"tokbench: {path}: {reason}; {remedy} and run again: what is finished is kept"


def _is_of_cache(path: str) -> bool:
    """Whether a path is in the folder of caches, or is one in which that folder would be made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")).absolute()
    return path != NOTES and (Path(path).absolute().is_relative_to(cache) or cache.is_relative_to(path))
