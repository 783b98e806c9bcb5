"""Snakemake's terminal output in lines: one when a job starts, and one with the count of steps when it ends.

On a SLURM cluster, also one when the cluster rejects, ends or delays a job, and one before a run ends that would wait
forever (:mod:`.slurm`). A dry run prints a table of rules and counts; it lists each job and the reason to run it if
there are few, or with ``--printshellcmds``. Errors, failed logs and warnings keep Snakemake's own form; its messages
about scheduling are left out. The profile of the workflow selects it by ``logger: lines``.
"""

import gc
import logging
import os
import re
import sys
import time
import warnings
from copy import copy
from dataclasses import dataclass, field
from logging import WARNING, LogRecord
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent
from snakemake_interface_logger_plugins.settings import LogHandlerSettingsBase

from snakemake_logger_plugin_lines.slurm import INTERVAL, SlurmLog

# Snakemake imports Google's library, if it is installed, which warns of Python versions that it will support for years.
# Every Snakemake process imports this module first, those of jobs included.
warnings.filterwarnings("ignore", category=FutureWarning, module=r"google\.")

SHOWN = (
    "Nothing to be done",
    "Unlocking",
    "Elapsed time",
    "Exiting because",
    "Congratulations",
    "Lints for",
    "SLURM run",
)
"""Beginnings of the messages that are printed as they are."""
TEMPORARY = "Would remove temporary output"
"""Beginning of messages that a dry run leaves out; there is one for each temporary file."""
MOST_LISTED = 20
"""Maximum jobs of a plan that a dry run lists."""
MAX_REASON = 240
"""Maximum characters of the reason to run a job, which may be a list of thousands of files."""
TRIAL = bytes(1 << 14)
"""Bytes written to find out whether a folder accepts writes."""
SNAKEMAKE_FOLDER = ".snakemake"
"""Folder of Snakemake's own files, for errors that name no file."""
IF_FULL = "make room there"
IF_READ_ONLY = "allow writing there"
IF_CACHE = "set HOME or XDG_CACHE_HOME to a folder that can be written to"
"""Hint if Snakemake cannot create its cache, which it needs for a dry run, too."""
WRITE_ERROR = re.compile(
    r"(?:OSError: |PermissionError: |\()\[Errno \d+\] (No space left on device|Disk quota exceeded|"
    r"Read-only file system|Permission denied|File too large|Input/output error)(?:: '([^']*)')?"
)
IN_FULL = (LogEvent.JOB_ERROR, LogEvent.GROUP_ERROR, LogEvent.RUN_INFO, LogEvent.ERROR)


@dataclass
class LogHandlerSettings(LogHandlerSettingsBase):
    """Options of the plug-in: ``--logger-lines-slurm-interval``, or this key of a profile."""

    slurm_interval: float = field(
        default=INTERVAL,
        metadata={
            "help": "Seconds between two queries of SLURM's queue, and between two attempts to submit a job that SLURM "
            "does not accept for a moment",
            "type": float,
        },
    )


class LogHandler(LogHandlerBase):
    """Handler that Snakemake calls with every record of its log."""

    writes_to_stream = True
    writes_to_file = False
    has_filter = False
    has_formatter = False
    needs_rulegraph = False

    def __post_init__(self) -> None:
        self.running: dict[int, tuple[str, float]] = {}
        self.finished: list[tuple[str, float]] = []
        self.default = DefaultFormatter(self.common_settings.quiet, self.common_settings.show_failed_logs)
        logging.raiseExceptions = False  # No traceback for every record if a log file cannot be written.
        gc.set_threshold(100_000, 50, 50)  # A plan keeps nearly all of its millions of objects.
        self.slurm = SlurmLog(getattr(self.settings, "slurm_interval", INTERVAL))
        self.planned = 0
        self.brief = self.common_settings.dryrun and not self.common_settings.printshellcmds

    def emit(self, record: LogRecord) -> None:
        stream = sys.stdout if self.common_settings.dryrun or self.common_settings.stdout else sys.stderr
        for line in self.lines(record):
            print(line, file=stream, flush=True)

    def close(self) -> None:
        self.slurm.close()
        super().close()

    def lines(self, record: Any) -> list[str]:
        """Return the lines to print for a record. Snakemake reports a finished job first, then the count of steps."""
        dry = self.common_settings.dryrun
        now, clock = time.monotonic(), time.strftime("%H:%M:%S")
        if getattr(record, "slurm", False):
            return [f"{clock}  slurm  {record.msg}"]
        slurm_lines = [] if dry else [f"{clock}  slurm  {line}" for line in self.slurm.lines(record)]
        return slurm_lines + self._job_lines(record, now, clock)

    def _job_lines(self, record: Any, now: float, clock: str) -> list[str]:
        event, dry = getattr(record, "event", None), self.common_settings.dryrun
        is_shown = str(record.msg).startswith(SHOWN)
        if self.brief and (lines := self._plan_lines(record, event)) is not None:
            return lines
        if event in IN_FULL or dry or is_shown or record.levelno >= WARNING:
            text = self.default.format(without_empty_logs(record) if event is LogEvent.JOB_ERROR else record)
            if event is LogEvent.JOB_ERROR and (line := write_error_next_to(next(iter(record.log or ()), None))):
                return [line]
            if event is not LogEvent.JOB_ERROR and record.levelno >= WARNING and (line := write_error_in(text)):
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

    def _plan_lines(self, record: Any, event: Any) -> list[str] | None:
        """Return the lines of a dry run for a record of the plan; None for other records.

        The table of rules and counts is printed once; Snakemake repeats it after the jobs.
        """
        if event is LogEvent.SHELLCMD or str(record.msg).startswith(TEMPORARY):
            return []
        if event is LogEvent.RUN_INFO:
            if self.planned:
                return []
            self.planned = int(record.stats.get("total", 0))
            hint = ["snakemake -n -p lists each job, and the reason to run it."]
            return [self.default.format(record), *hint * (self.planned > MOST_LISTED)]
        if event is not LogEvent.JOB_INFO:
            return None
        if self.planned > MOST_LISTED:
            return []
        reason = record.reason
        return [record.rule_msg or record.rule_name, f"    {reason[:MAX_REASON]}{'…' * (len(reason) > MAX_REASON)}"]


def without_empty_logs(record: Any) -> Any:
    """Return the record of a failed job without empty or missing logs, if it has others.

    Snakemake shows no log after an empty one, and that of a cluster is after the job's own.
    """
    logs = list(record.log or ())
    filled = [log for log in logs if os.path.exists(log) and os.path.getsize(log)]
    if filled and len(filled) < len(logs):
        record = copy(record)
        record.log = filled
    return record


def write_error_next_to(log: str | None) -> str | None:
    """Return a line on a failed job with an empty log if nothing can be written next to that log; else None."""
    if not log or (os.path.exists(log) and os.path.getsize(log)):
        return None
    folder = next(above for above in Path(log).absolute().parents if above.is_dir())
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(TRIAL)
    except OSError as error:
        return _line(os.path.relpath(folder), error.strerror or "")
    return None


def write_error_in(text: str) -> str | None:
    """Return a line on an error of Snakemake itself if it could not write a file; else None."""
    match = WRITE_ERROR.search(text)
    return _line(match[2] or SNAKEMAKE_FOLDER, match[1]) if match else None


def _line(path: str, reason: str) -> str:
    hint = IF_CACHE if _is_cache(path) else IF_READ_ONLY
    if reason.startswith(("No space", "Disk quota")):
        hint = IF_FULL
    return f"tokbench: {path}: {reason}; {hint} and run again: finished outputs are kept"


def _is_cache(path: str) -> bool:
    """Return whether a path is in the cache folder, or contains it."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")).absolute()
    return path != SNAKEMAKE_FOLDER and (Path(path).absolute().is_relative_to(cache) or cache.is_relative_to(path))
