"""What a run prints while it works: a line when a job starts, one when it ends."""

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from snakemake_interface_logger_plugins.common import LogEvent

from snakemake_logger_plugin_lines import SLURM, LogHandler


@pytest.fixture
def handler() -> LogHandler:
    quiet = SimpleNamespace(quiet=None, show_failed_logs=True, dryrun=False, stdout=False)
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


def test_an_executor_that_tells_nothing_is_made_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once, however many handlers there are; SLURM's submits from threads and says nothing of a job before."""

    told: list[tuple[str, str]] = []

    class Executor:
        def run_job_pre(self, job: str) -> None:
            told.append(("told", job))

        def run_job(self, job: str) -> None:
            told.append(("submitted", job))

    module = ModuleType(SLURM)
    module.Executor = Executor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, SLURM, module)
    quiet = SimpleNamespace(quiet=None, show_failed_logs=True, dryrun=False, stdout=False)
    for _ in range(2):
        LogHandler(common_settings=quiet, settings=None)
    Executor().run_job("build")
    assert told == [("told", "build"), ("submitted", "build")]
