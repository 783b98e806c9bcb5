"""What a run prints while it works: a line when a job starts, one when it ends."""

from types import SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines import LogHandler


@pytest.fixture
def handler() -> LogHandler:
    quiet = SimpleNamespace(quiet=None, show_failed_logs=True, dryrun=False, stdout=False, printshellcmds=False)
    return LogHandler(common_settings=quiet, settings=None)


def record(event: LogEvent | None, message: str = "", **told: Any) -> Any:
    return SimpleNamespace(event=event, msg=message, levelno=20, **told)


def said(handler: LogHandler, *records: Any) -> list[str]:
    """What is printed for records, without the time."""
    return [line.partition("  ")[2] for one in records for line in handler.lines(one)]


def test_a_line_when_a_job_starts_and_one_when_it_ends(handler: LogHandler) -> None:
    lines = said(
        handler,
        record(LogEvent.JOB_INFO, jobid=3, rule_msg="build bpe at 400"),
        record(None, "Select jobs to execute..."),
        record(LogEvent.JOB_INFO, jobid=4, rule_msg="build unigram at 400"),
        record(LogEvent.JOB_FINISHED, job_id=3),
        record(LogEvent.PROGRESS, done=1, total=2),
    )
    assert lines == ["start  build bpe at 400", "start  build unigram at 400", "done   build bpe at 400 (0 s; 1 of 2)"]


def test_what_a_cluster_does_is_a_line_with_the_time(handler: LogHandler) -> None:
    assert said(handler, record(None, "squeue does not answer", slurm=True)) == ["slurm  squeue does not answer"]


def test_a_dry_run_says_why_and_not_at_any_length() -> None:
    dry = SimpleNamespace(quiet=None, show_failed_logs=True, dryrun=True, stdout=False, printshellcmds=False)
    handler = LogHandler(common_settings=dry, settings=None)
    reason = "Missing output files: " + ", ".join(f"results/{number}" for number in range(1000))
    [message, why] = handler.lines(record(LogEvent.JOB_INFO, jobid=1, rule_msg="gather the tables", reason=reason))
    assert message == "gather the tables"
    assert why.startswith("    Missing output files: results/0, results/1")
    assert len(why) < 250
    assert why.endswith("…")
