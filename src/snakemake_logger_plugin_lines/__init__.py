"""Snakemake's terminal output in lines: one when a job starts, one when it ends, with the count of steps.

On a SLURM cluster, one when the cluster refuses a job, ends it or keeps it waiting for ever. A dry run tells of each
job what it is and why it is to run. Errors, failed logs and warnings keep Snakemake's own form; its talk of scheduling
is left out. Chosen by ``logger: lines`` in the workflow's profile.
"""

import gc
import logging
import sys
import time
from logging import WARNING, LogRecord
from typing import Any

from snakemake.logging import DefaultFormatter
from snakemake_interface_logger_plugins.base import LogHandlerBase
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines.disk import of_engine, why_silent
from snakemake_logger_plugin_lines.executor import attach

# What is imported stays, and so do a plan's jobs: nothing is won by looking through them for garbage again and again.
gc.set_threshold(100_000, 50, 50)
gc.freeze()

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
        attach()
        self.brief = self.common_settings.dryrun and not self.common_settings.printshellcmds

    def emit(self, record: LogRecord) -> None:
        stream = sys.stdout if self.common_settings.dryrun or self.common_settings.stdout else sys.stderr
        for line in self.lines(record):
            print(line, file=stream, flush=True)

    def lines(self, record: Any) -> list[str]:
        """What to print for a record; Snakemake tells of a finished job first and of the count of steps after it."""
        event = getattr(record, "event", None)
        dry = self.common_settings.dryrun
        now, clock = time.monotonic(), time.strftime("%H:%M:%S")
        if getattr(record, "slurm", False):
            return [f"{clock}  slurm  {record.msg}"]
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
