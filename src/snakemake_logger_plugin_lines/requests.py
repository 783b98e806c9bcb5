"""Jobs and groups of jobs: what a person calls them, what they ask a cluster for, and what they ask for next time."""

import copy
from collections import Counter
from typing import Any


def name(job: Any) -> str:
    """A job's message; of a group the rules, and how many jobs of each."""
    if job.is_group():
        rules = Counter(one.rule.name for one in job.jobs)
        counted = (f"{rule} x{count}" if count > 1 else rule for rule, count in sorted(rules.items()))
        return f"group of {', '.join(counted)}"
    return str(job.message or job.name)


def asked(job: Any) -> str:
    """What a job asks for, in the profile's words."""
    keys = ("mem_mb", "_cores", "runtime", "gpu", "gres", "nodes", "slurm_partition")
    words = {"_cores": "cores", "slurm_partition": "partition"}
    found = {key: job.resources.get(key) for key in keys}
    return ", ".join(f"{words.get(key, key)} {value}" for key, value in found.items() if value)


def within(job: Any) -> str:
    """Arguments that hold Snakemake to what a job of the cluster was asked for."""
    asked = {key: job.resources.get(key) for key in ("_cores", "mem_mb")}
    cores, memory = (int(value) if isinstance(value, int | float) else 0 for value in asked.values())
    return f"--cores {cores or 'all'}" + (f" --resources mem_mb={memory}" if memory and job.is_group() else "")


def attempts(job: Any) -> tuple[int, int]:
    """Which attempt this is, and how many there are."""
    return int(job.attempt), int(job.restart_times) + 1


def in_next_attempt(job: Any) -> Any:
    """The job as it will be when it is tried again; it itself stays as it is."""
    again = copy.copy(job)
    if job.is_group():
        copies = {one: copy.copy(one) for one in job.jobs}
        again.toposorted = [[copies[one] for one in level] for level in job.toposorted]
        again.jobs = frozenset(copies.values())
    again.attempt = job.attempt + 1
    return again
