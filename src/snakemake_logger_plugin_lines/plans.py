"""What a plan of tens of thousands of jobs need not do again for each.

Snakemake takes the signature of every function of a rule for every job, and for a job that a dry run shows it writes
out shell commands, files and resources, whatever is printed of them.
"""

from functools import cache
from types import ModuleType
from typing import Any

from snakemake.logging import logger
from snakemake_interface_logger_plugins.common import LogEvent


def remember_signatures(*modules: ModuleType) -> None:
    """Have the functions' parameters looked up once, wherever a module of Snakemake does it."""
    for module in modules:
        known = module.get_function_params
        if not hasattr(known, "cache_info"):
            module.get_function_params = cache(known)  # type: ignore[attr-defined]


def tell_briefly(job_class: Any) -> None:
    """Have jobs of a dry run tell no more than their message and why they are to run."""

    def log_info(self: Any, indent: bool = False, printshellcmd: bool = True) -> None:
        logger.info(
            self.rule.name,
            extra={
                "event": LogEvent.JOB_INFO,
                "jobid": self.dag.jobid(self),
                "rule_msg": (self.rule.message or self.rule.name).format(wildcards=self._format_wildcards),
                "reason": str(self.dag.reason(self)),
            },
        )

    job_class.log_info = log_info
