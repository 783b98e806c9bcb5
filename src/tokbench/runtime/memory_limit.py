"""Memory limit of a command, and the longest text that fits into it."""

import os
import resource
import sys
from dataclasses import dataclass, replace

from tokbench.errors import TokbenchError

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
class DocumentLimit:
    """Limit on the length of a text.

    Attributes:
        size: maximum length in bytes.
        copies: copies of the text in memory at peak.
        beside: bytes of memory that do not depend on texts.
        megabytes: memory limit of the process.
    """

    size: int
    copies: int
    beside: int
    megabytes: int

    def of_copies(self, copies: int) -> "DocumentLimit":
        """Return the limit for a reader with this number of copies."""
        return replace(self, size=self.size * self.copies // copies, copies=copies)

    def check(self, place: str, size: int, *, more: bool = False) -> None:
        """Reject a text for which there is not enough memory, before the memory is allocated.

        Args:
            place: where the text is from, for messages.
            size: bytes of the text.
            more: the text is longer than ``size``, but its length is unknown (default: no).

        Raises:
            TokbenchError: it is longer than the limit.
        """
        if size > self.size:
            needed = to_allow(self.beside + self.copies * size)
            raise TokbenchError(
                f"{place}: a document of {'more than ' * more}{size:,} bytes needs {'more than' if more else 'about'} "
                f"{needed:,} MB of memory, and {self.megabytes:,} are allowed; allow it more (--memory), or cut it "
                "into shorter documents"
            )


@dataclass(frozen=True, slots=True)
class MemoryLimit:
    """Memory limit of a command.

    Attributes:
        megabytes: resident memory of the process.
        room: bytes of it that are available, without the current use of the process and a reserve.
    """

    megabytes: int
    room: int

    def largest(self, copies: int, held: int = 0) -> DocumentLimit:
        """Return the length of the longest text of which ``copies`` copies fit, in addition to ``held`` bytes of other
        data."""
        size = max(0, self.room - held) // copies
        return DocumentLimit(size, copies, self.megabytes * 1_000_000 - self.room + held, self.megabytes)


def allowance(megabytes: int = DEFAULT, least: int = LEAST) -> MemoryLimit:
    """Return the memory that is available to the process. Call it after all imports.

    Args:
        megabytes: limit on the resident memory of the process, in units of 10**6 bytes (default: 2,000).
        least: bytes that the work needs (default: 50 million).

    Raises:
        TokbenchError: less is available.
    """
    taken = resident() + RESERVE
    room = megabytes * 1_000_000 - taken
    if room < least:
        needed = to_allow(taken + least)
        raise TokbenchError(f"--memory {megabytes}: too little for this command; allow it {needed:,} MB or more")
    return MemoryLimit(megabytes, room)


def require(what: str, size: float, megabytes: int | None, remedy: str = "") -> None:
    """Raise an error if the process would need more memory than allowed, before it is allocated.

    Args:
        what: purpose of the memory.
        size: peak size of the process in bytes.
        megabytes: limit; None for no limit.
        remedy: alternative that needs less memory; empty if none is known.

    Raises:
        TokbenchError: it would need more.
    """
    if megabytes is not None and size > megabytes * 1_000_000:
        message = f"--memory {megabytes}: {what} needs about {to_allow(int(size)):,} MB"
        raise TokbenchError(f"{message}; allow that much{f', or {remedy}' if remedy else ''}")


def to_allow(size: int) -> int:
    """Return the limit in megabytes to request for a process of this size in bytes."""
    return -(-(size + SPREAD) // 1_000_000)


def resident() -> int:
    """Return the bytes of this process in memory now, or their maximum so far if the system does not report them."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return most_resident()


def most_resident() -> int:
    """Return the maximum bytes of this process in memory so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
