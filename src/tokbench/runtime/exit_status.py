"""The line and the exit status of an exception that nobody caught.

Readers name a damaged file themselves, in a :class:`tokbench.errors.TokbenchError`. Other exceptions are faults of
Tokbench. ``TOKBENCH_DEBUG=1`` shows the traceback.

Running out of memory ends in one line that says what for, and in an exit status of its own.

That needs a ``MemoryError``. A library in another language may end the process instead, and the system's kernel may
kill it; such a process leaves no output.
"""

import errno
import mmap
import os
import resource
import traceback

from tokbench.errors import TokbenchError, on_one_line

STATUS = 3
"""Exit status of a command that ran out of memory; that of a mistake in its input is 2."""
PROBE = 1 << 30
"""Bytes of addresses that a process has left unless memory is short."""

_purpose = "start", ""


def describe_task(what: str, remedy: str = "") -> None:
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


REJECTED = 2
INTERNAL_ERROR = 70
"""Status of a fault of ours, as in sysexits.h."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Whoever read our output has gone."""
LONGEST = 300
LANGUAGE_MODELS = frozenset({"composer", "llmfoundry", "datasets", "lm_eval", "streaming", "torch", "transformers"})


def message_and_status(error: BaseException) -> tuple[str, int]:
    """What to say of an exception that nobody caught, and the status to end with; nothing is said of a broken pipe."""
    if os.environ.get("TOKBENCH_DEBUG"):
        traceback.print_exception(error)
    if shortage := shortage_in(error):
        traceback.clear_frames(error.__traceback__)  # The line needs memory, too.
        return f"tokbench: {shortage_line(shortage)}", STATUS
    match error:
        case TokbenchError():
            return f"tokbench: {error}", REJECTED
        case KeyboardInterrupt():
            return "tokbench: interrupted", INTERRUPTED
        case BrokenPipeError():
            return "", BROKEN_PIPE
        case ImportError() if (error.name or "").partition(".")[0] != "tokbench":
            return f"tokbench: {_missing(error)}", REJECTED
        case OSError():
            named = f"{error.filename}: " if error.filename else ""
            return f"tokbench: {named}{error.strerror or _reason(error)}", REJECTED
        case UnicodeEncodeError() if "\udc80" <= error.object[error.start] <= "\udcff":
            name = on_one_line(error.object)
            return f"tokbench: {name}: the name is not UTF-8, as is needed here; rename it", REJECTED
    return f"tokbench: {_our_own(error)}", INTERNAL_ERROR


def _our_own(error: BaseException) -> str:
    """A fault of ours, with its place."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tokbench{os.sep}" in frame.filename] or list(frames)
    where = f" in {os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" if ours else ""
    return (
        f"a fault of Tokbench's own ({type(error).__name__}: {_reason(error)}{where}); "
        "please report it with the command and TOKBENCH_DEBUG=1's output"
    )


def _missing(error: ImportError) -> str:
    package = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        remedy = "install 'tokbench[language-models]'" if package in LANGUAGE_MODELS else "install Tokbench again"
        return f"the package '{package}' is not installed; {remedy}"
    return f"the package '{package}' cannot be used ({_reason(error)}); install it again"


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
