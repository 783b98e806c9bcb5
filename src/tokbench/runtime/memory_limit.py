"""Memory limit of a command, and the check that its work fits into it."""

import os
import resource
import sys
from dataclasses import dataclass

from tokbench.errors import TokbenchError

MEGABYTE = 1_000_000
DEFAULT = 2_000
"""Default limit in megabytes (10**6 bytes, as ``mem_mb`` of a workflow)."""
RESERVE = 40_000_000
"""Bytes reserved for libraries at first use and for allocators."""
SPREAD = 8_000_000
"""Bytes by which processes with the same work differ. It is added to requests, so that the requested memory is
sufficient."""
LEAST = 50_000_000
"""Minimum bytes for any stage that reads text, in addition to the process."""


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """Memory limit of a command.

    Attributes:
        megabytes: resident memory of the process.
        room: bytes of it that are available, without the current use of the process and a reserve.
    """

    megabytes: int
    room: int

    def require(self, task: str, size: int, remedy: str) -> None:
        """Raise an error if ``size`` more bytes do not fit, before they are allocated; see :func:`require`."""
        require(task, self.megabytes * MEGABYTE - self.room + size, self.megabytes, remedy)


def allowance(megabytes: int = DEFAULT, minimum: int = LEAST) -> MemoryLimit:
    """Return the memory that is available to the process. Call it after all imports.

    Args:
        megabytes: limit on the resident memory of the process, in units of 10**6 bytes (default: 2,000).
        minimum: bytes that the work needs (default: 50 million).

    Raises:
        TokbenchError: less is available.
    """
    used = resident_bytes() + RESERVE
    room = megabytes * MEGABYTE - used
    if room < minimum:
        needed = megabytes_to_allow(used + minimum)
        raise TokbenchError(f"--memory {megabytes}: too little for this command; allow it {needed:,} MB or more")
    return MemoryLimit(megabytes, room)


def check_memory(megabytes: int | None, size: int = 0) -> None:
    """Check that a limit leaves room for texts and ``size`` more bytes. Call it after all imports.

    Args:
        megabytes: limit in units of 10**6 bytes; None for no limit.
        size: bytes in addition to texts (default: 0).

    Raises:
        TokbenchError: it does not; the message says how much is needed.
    """
    if megabytes is not None:
        allowance(megabytes, LEAST + size)


def require(task: str, size: float, megabytes: int | None, remedy: str = "") -> None:
    """Raise an error if the process would need more memory than allowed, before it is allocated.

    Args:
        task: purpose of the memory.
        size: peak size of the process in bytes.
        megabytes: limit; None for no limit.
        remedy: alternative that needs less memory; empty if none is known.

    Raises:
        TokbenchError: it would need more.
    """
    if megabytes is not None and size > megabytes * MEGABYTE:
        message = f"--memory {megabytes}: {task} needs about {megabytes_to_allow(int(size)):,} MB"
        raise TokbenchError(f"{message}; allow that much{f', or {remedy}' if remedy else ''}")


def megabytes_to_allow(size: int) -> int:
    """Return the limit in megabytes to request for a process of this size in bytes."""
    return -(-(size + SPREAD) // MEGABYTE)


def resident_bytes() -> int:
    """Return the bytes of this process in memory now, or their maximum so far if the system does not report them."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak_resident_bytes()


def peak_resident_bytes() -> int:
    """Return the maximum bytes of this process in memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
