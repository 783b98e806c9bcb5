"""Snakemake's executor for SLURM, telling what it otherwise keeps to itself, and starting Snakemake once in a job.

It hands jobs to threads of its own, which say nothing of a job before they submit it, and whose failures nobody hears
of: a job that could not be submitted would be waited for, for ever. Of a group it leaves out why it failed. Where the
status command does not answer, it forgets the jobs that it asked about. Within a job of the cluster it starts
Snakemake anew for each job of a group, one after the other, whatever the group asked for at once. What is here stands
between it and Snakemake, on the methods that every executor has.
"""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from snakemake_interface_executor_plugins.executors.base import SubmittedJobInfo
from snakemake_interface_executor_plugins.registry import ExecutorPluginRegistry

from snakemake_logger_plugin_lines.requests import within
from snakemake_logger_plugin_lines.watch import Watch


def attach() -> None:
    """Have Snakemake take :func:`telling` of its executor for SLURM, where there is one."""
    plugin: Any = ExecutorPluginRegistry().plugins.get("slurm")
    if plugin is not None and not hasattr(plugin.executor, "telling"):
        plugin.executor = telling(plugin.executor)


def telling(executor: Any) -> Any:
    """A subclass of an executor for SLURM that tells of its jobs through its logger."""

    class Telling(executor):
        telling = True

        def __init__(self, *told: Any, **named: Any) -> None:
            self.watch = Watch()
            self._settled: set[int] = set()
            super().__init__(*told, **named)  # From here on a thread asks how jobs are.

        def __post_init__(self, *told: Any, **named: Any) -> None:
            self._say("choose_status", self.workflow.executor_settings)
            super().__post_init__(*told, **named)

        def additional_general_args(self) -> str:
            """Arguments of Snakemake in a job of the cluster: it does the work itself, as anywhere."""
            return "--executor local"

        def get_job_args(self, job: Any, **named: Any) -> str:
            """Those of one job: of a group as much at a time as the cluster was asked for."""
            return f"{super().get_job_args(job, **named)} {within(job)}"

        def run_job(self, job: Any) -> None:
            if "run_jobs" in vars(executor):  # Else every executor's does it.
                self.run_job_pre(job)
            try:
                super().run_job(job)
            except Exception as error:
                report = getattr(self, "_report_job_error_threadsafe", self.report_job_error)
                report(SubmittedJobInfo(job), f"{error}")

        async def check_active_jobs(self, active_jobs: list[Any]) -> AsyncIterator[Any]:
            self._settled.clear()
            kept: set[int] = set()
            async for one in super().check_active_jobs(active_jobs):
                kept.add(id(one))
                yield one
            lost = [one for one in active_jobs if id(one) not in kept | self._settled]
            if lost:
                self._say("lost", getattr(self.workflow.executor_settings, "status_command", None) or "squeue")
            for one in lost:
                yield one
            open_jobs = [one for one in active_jobs if id(one) not in self._settled]
            if open_jobs and not lost:
                self._say("waiting", self.run_uuid, [(one.external_jobid, one.job) for one in open_jobs])

        def report_job_success(self, job_info: Any, *told: Any, **named: Any) -> None:
            self._settled.add(id(job_info))
            super().report_job_success(job_info, *told, **named)

        def report_job_error(self, job_info: Any, msg: str | None = None, **named: Any) -> None:
            self._settled.add(id(job_info))
            number = job_info.external_jobid
            if number is None:
                self._say("refused", job_info.job, msg or "")
            else:
                log = (job_info.aux or {}).get("slurm_logfile")
                self._say("failed", job_info.job, number, Path(log) if log else None)
            super().report_job_error(job_info, msg, **named)

        def _say(self, what: str, *told: Any) -> None:
            """Nothing that goes wrong here may end a run: what cannot be found out is not said."""
            with suppress(Exception):
                for line in getattr(self.watch, what)(*told):
                    self.logger.warning(line, extra={"slurm": True})

    # Whoever asks which executor this is shall know it again.
    Telling.__module__, Telling.__qualname__ = executor.__module__, executor.__qualname__
    return Telling
