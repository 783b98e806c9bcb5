"""What a job asks for when it is tried again: more, since it may have been killed for having too little.

Memory doubles: whoever kills a job for it does not say how much it would have taken, and two retries reach four times
what was asked for first. Time grows by as much as there was at first: models in training go on from their checkpoints,
and the longer a job may take, the longer it waits for its turn. It ends at two days, as many partitions do.
Memory stays within a profile's ``resources``.
"""

from collections.abc import Callable
from typing import Any

BESIDE = 400
"""MB for the two processes of the workflow engine that a cluster's job holds beside its own."""
LONGEST = 2880
"""Minutes that no job asks for more than on its own account."""
START = 30
"""Minutes for imports, checkpoints and what is written at a job's end."""
Request = Callable[[Any, int], int]
"""What Snakemake calls with the wildcards and the attempt."""


def more_memory(mem_mb: int, attempt: int) -> int:
    """Memory that a job's attempt, 1 at first, asks for, where ``mem_mb`` is the first's."""
    return mem_mb * 2 ** (attempt - 1)


def more_time(runtime: int, attempt: int) -> int:
    """Minutes that a job's attempt, 1 at first, asks for, where ``runtime`` is the first's."""
    return min(LONGEST, runtime * attempt)


def reckoned(seconds: float, attempt: int) -> int:
    """Minutes that a job's attempt asks for which should take so many seconds: half more, and its start; two days at
    most."""
    return more_time(min(LONGEST, START + round(1.5 * seconds / 60)), attempt)


def doubling(mem_mb: int) -> Request:
    """Once, twice, four times ``mem_mb``: a rule's memory, in MB."""

    def asked(wildcards: Any, attempt: int) -> int:
        return more_memory(mem_mb, attempt)

    return asked


def lengthening(runtime: int) -> Request:
    """Once, twice, three times ``runtime``, two days at most: a rule's time, in minutes."""

    def asked(wildcards: Any, attempt: int) -> int:
        return more_time(runtime, attempt)

    return asked
