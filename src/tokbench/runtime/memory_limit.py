"""The memory that a command is allowed, all of its process together, and the longest text that fits into it."""

import os
import resource
import sys
from dataclasses import dataclass, replace

from tokbench.errors import TokbenchError

DEFAULT = 2_000
"""Megabytes (10**6 bytes, as a workflow's ``mem_mb``) where nothing is said."""
RESERVE = 40_000_000
"""Bytes for what libraries take when they are first used, and for what allocators keep."""
SPREAD = 8_000_000
"""Bytes by which two processes that do the same differ; who allows what a message asks for is not asked again."""
LEAST = 50_000_000
"""Bytes in which every stage over text can work, beside the process itself."""


@dataclass(frozen=True, slots=True)
class DocumentLimit:
    """The longest text that is taken.

    Attributes:
        size: its bytes.
        copies: bytes held for each of them where there is most.
        beside: bytes held whatever the texts.
        megabytes: what is allowed in all.
    """

    size: int
    copies: int
    beside: int
    megabytes: int

    def of_copies(self, copies: int) -> "DocumentLimit":
        """The longest text where so many bytes are held for each of its."""
        return replace(self, size=self.size * self.copies // copies, copies=copies)

    def check(self, place: str, size: int, *, more: bool = False) -> None:
        """Reject a text for which there is not enough memory, before it takes that.

        Args:
            place: where the text stands.
            size: its bytes.
            more: it has more bytes than that, nobody knows how many.

        Raises:
            TokbenchError: it is longer than the longest.
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
    """What a command may hold.

    Attributes:
        megabytes: resident memory of the whole process.
        room: bytes of it that are free for the work, what the process took already and a reserve left out.
    """

    megabytes: int
    room: int

    def largest(self, copies: int, held: int = 0) -> DocumentLimit:
        """The longest text of which so many copies fit, beside ``held`` bytes of other things."""
        size = max(0, self.room - held) // copies
        return DocumentLimit(size, copies, self.megabytes * 1_000_000 - self.room + held, self.megabytes)


def allowance(megabytes: int = DEFAULT, least: int = LEAST) -> MemoryLimit:
    """What is left to a process of the memory that it is allowed; ask when everything is imported.

    Args:
        megabytes: resident memory of the whole process, in units of 10**6 bytes.
        least: bytes that the work needs.

    Raises:
        TokbenchError: they are not left.
    """
    taken = resident() + RESERVE
    room = megabytes * 1_000_000 - taken
    if room < least:
        needed = to_allow(taken + least)
        raise TokbenchError(f"--memory {megabytes}: too little for this command; allow it {needed:,} MB or more")
    return MemoryLimit(megabytes, room)


def require(what: str, size: float, megabytes: int | None, remedy: str = "") -> None:
    """End where a whole process would take more than it is allowed, before it takes that.

    Args:
        what: what the memory is for.
        size: bytes of the process at its most.
        megabytes: what is allowed; anything where it is None.
        remedy: what would take less; empty where nothing is known.

    Raises:
        TokbenchError: it would take more.
    """
    if megabytes is not None and size > megabytes * 1_000_000:
        told = f"--memory {megabytes}: {what} needs about {to_allow(int(size)):,} MB"
        raise TokbenchError(f"{told}; allow that much{f', or {remedy}' if remedy else ''}")


def to_allow(size: int) -> int:
    """Megabytes that a message asks for where a process of this one's size would need so many bytes."""
    return -(-(size + SPREAD) // 1_000_000)


def resident() -> int:
    """Bytes of this process that are in memory now; the most that have been where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return most_resident()


def most_resident() -> int:
    """The most bytes of this process that have been in memory."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
