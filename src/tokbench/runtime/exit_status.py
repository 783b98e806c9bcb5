"""Error line and exit status of uncaught exceptions.

Readers report a damaged file with a :class:`tokbench.errors.TokbenchError` that names it. Other exceptions are bugs in
Tokbench. ``TOKBENCH_DEBUG=1`` shows the traceback.

Running out of memory has its own exit status, and one line that names the task. This needs a ``MemoryError``: a library
in another language, or the kernel, may end the process instead. Such a process leaves no output.
"""

import errno
import mmap
import os
import resource
import traceback

from tokbench.errors import TokbenchError, on_one_line

STATUS = 3
"""Exit status of a command that ran out of memory. For wrong input it is 2."""
PROBE = 1 << 30
"""Bytes of address space that can be mapped unless memory is short."""

_purpose = "start", ""


def describe_task(task: str, remedy: str = "") -> None:
    """Set the task that later messages about memory name.

    Args:
        task: completes "not enough memory to ...".
        remedy: alternative that needs less memory; empty if none is known.
    """
    global _purpose
    _purpose = " ".join(task.split()), remedy


def shortage_line(shortage: BaseException) -> str:
    """Return the line for a failed allocation: task, requested memory, limit of the process, and remedy."""
    task, remedy = _purpose
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    limit = "" if allowed == resource.RLIM_INFINITY else f"ulimit -v allows {allowed / (1 << 30):.2f} GiB"
    details = "; ".join(filter(None, (" ".join(str(shortage).split())[:LONGEST], limit)))
    details = f" ({details})" if details else ""
    return f"not enough memory to {task}{details}; allow it more{f', or {remedy}' if remedy else ''}"


def shortage_in(error: BaseException | None) -> BaseException | None:
    """Return the failed allocation among an error and its causes; None if there is none."""
    while error is not None:
        if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
            return error
        error = error.__cause__ or error.__context__
    return None


def may_be_short(error: BaseException) -> bool:
    """Return whether a library's error may come from a failed allocation.

    It does if the error says so, or if a large allocation would fail now. Use it before an error is interpreted as a
    result.
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
"""Exit status of a bug in Tokbench, as in sysexits.h."""
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit status if the reader of the output has ended."""
LONGEST = 300
MODELS = "language-models"
EXTRAS = {
    **dict.fromkeys(("composer", "llmfoundry", "lm_eval", "sacrebleu", "streaming", "torch"), MODELS),
    "datasets": "hub",
    "transformers": "existing",
}
"""Extras of Tokbench by the packages that they install."""


class Terminated(SystemExit):
    """Exit that SIGTERM asks for. Code of the user may raise ``SystemExit``, too, which is a mistake there."""


def message_and_status(error: BaseException) -> tuple[str, int]:
    """Return the error line and exit status of an uncaught exception; the line is empty for a broken pipe."""
    if os.environ.get("TOKBENCH_DEBUG"):
        traceback.print_exception(error)
    if shortage := shortage_in(error):
        traceback.clear_frames(error.__traceback__)  # Free memory to build the line.
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
        case OSError() if error.errno == errno.EBADF and not error.filename:
            return "tokbench: standard input or output is closed; redirect it to a file, or to /dev/null", REJECTED
        case OSError():
            named = f"{error.filename}: " if error.filename else ""
            return f"tokbench: {named}{error.strerror or _reason(error)}", REJECTED
        case UnicodeEncodeError() if "\udc80" <= error.object[error.start] <= "\udcff":
            name = on_one_line(error.object)
            return f"tokbench: {name}: the name is not UTF-8, as is needed here; rename it", REJECTED
    return f"tokbench: {_bug_message(error)}", INTERNAL_ERROR


def _bug_message(error: BaseException) -> str:
    """Return the message of a bug, with its place."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tokbench{os.sep}" in frame.filename] or list(frames)
    where = f" in {os.path.basename(ours[-1].filename)}:{ours[-1].lineno}" if ours else ""
    return (
        f"a bug in Tokbench ({type(error).__name__}: {_reason(error)}{where}); "
        "please report it with the command and TOKBENCH_DEBUG=1's output"
    )


def _missing(error: ImportError) -> str:
    package = (error.name or "").partition(".")[0]
    if isinstance(error, ModuleNotFoundError):
        extra = EXTRAS.get(package)
        remedy = f"install 'tokbench[{extra}]'" if extra else "install Tokbench again"
        if extra == MODELS:
            remedy += ", or run .venv-models/bin/tokbench in a checkout that has it"
        return f"the package '{package}' is not installed; {remedy}"
    return f"the package '{package}' cannot be used ({_reason(error)}); install it again"


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
