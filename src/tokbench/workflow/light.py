"""Plans of tens of thousands of jobs take less time and memory: what the engine makes anew for each job is shared.

Nothing of a plan goes by it: what is shared cannot be changed, and an attempt to change it is an error.
"""

import gc
from typing import Any

COLLECTED = (200_000, 50, 100)
"""Objects after which the youngest generation is collected, and collections of it after which the next is: a plan keeps
nearly all of its millions of objects, and looking through them again and again takes a fifth of its time."""
SETS = ("_queue_input", "pipe_or_service_output", "protected_output", "temp_output", "touch_output")
"""Sets of a job that are filled while it is made, and that hardly any job has something in."""
NOTHING: frozenset[Any] = frozenset()


def lighten(containers: Any, jobs: Any, rules: Any) -> None:
    """Have the engine share what is the same for all jobs; once in a process.

    Args:
        containers: its module ``snakemake.iocontainers``.
        jobs: its module ``snakemake.jobs``.
        rules: its module ``snakemake.rules``.
    """
    gc.set_threshold(*COLLECTED)
    if not issubclass(containers.AttributeGuard, _Shared):
        containers.AttributeGuard = type("AttributeGuard", (_Shared, containers.AttributeGuard), {"made": {}})
        jobs.Job.__init__ = _with_shared_sets(jobs.Job.__init__)
        jobs.Job.conda_env_spec = _by_rule(jobs.Job.conda_env_spec, rules._NOT_CACHED)


class _Shared:
    """One object for each name."""

    made: dict[str, Any]

    def __new__(cls, name: str) -> Any:
        if name not in cls.made:
            cls.made[name] = super().__new__(cls)
        return cls.made[name]


def _with_shared_sets(made: Any) -> Any:
    def make(job: Any, *arguments: Any, **named: Any) -> None:
        made(job, *arguments, **named)
        for name in SETS:
            if not getattr(job, name):
                setattr(job, name, NOTHING)

    return make


def _by_rule(found: Any, unknown: Any) -> property:
    """A job's environment as its rule knows it, where it does.

    The engine asks every job, and works out all of its parameters first, which the rule then has no use for: a tenth of
    the time of a plan, in which nothing else needs them.
    """

    def environment(job: Any) -> Any:
        known = job.rule._expanded_conda_env
        return found.fget(job) if known is unknown else known

    return property(environment)
