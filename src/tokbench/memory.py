"""Running out of memory ends in one line that says what for, and in an exit status of its own.

That needs a ``MemoryError``. A library in another language may end the process instead, and the system's kernel may
kill it; such a process leaves no output.
"""

import errno
import mmap
import resource

STATUS = 3
"""Exit status of a command that ran out of memory; that of a mistake in its input is 2."""
PROBE = 1 << 30
"""Bytes of addresses that a process has left unless memory is short."""
LONGEST = 300

_purpose = "start", ""


def purpose(what: str, remedy: str = "") -> None:
    """Say what memory is needed for from now on.

    Args:
        what: completes "not enough memory to ...".
        remedy: what would take less; empty where nothing is known.
    """
    global _purpose
    _purpose = " ".join(what.split()), remedy


def shortage_line(shortage: BaseException) -> str:
    """The line for a failed allocation: what for, what it wanted, what the process is allowed, and what to do."""
    what, remedy = _purpose
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    limit = "" if allowed == resource.RLIM_INFINITY else f"ulimit -v allows {allowed / (1 << 30):.2f} GiB"
    details = "; ".join(filter(None, (" ".join(str(shortage).split())[:LONGEST], limit)))
    details = f" ({details})" if details else ""
    return f"not enough memory to {what}{details}; allow it more{f', or {remedy}' if remedy else ''}"


def shortage_in(error: BaseException | None) -> BaseException | None:
    """The failed allocation that an error is, or comes from; None if it has another cause."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return error
        error = error.__cause__ or error.__context__
    return None


def may_be_short(error: BaseException) -> bool:
    """Whether a library's error may come from a failed allocation: it says so, or a large one would fail now.

    For errors that are taken for an answer: what fails for lack of memory is none.
    """
    if shortage_in(error) is not None:
        return True
    try:
        mmap.mmap(-1, PROBE).close()
    except OSError:
        return True
    return False
