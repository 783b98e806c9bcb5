"""The line and the exit status of an exception that nobody caught.

Readers name a damaged file themselves, in a :class:`tokbench.errors.TokbenchError`. Other exceptions are faults of
Tokbench. ``TOKBENCH_DEBUG=1`` shows the traceback.
"""

import os
import traceback

from tokbench.errors import TokbenchError, on_one_line
from tokbench.memory import STATUS, shortage_in, shortage_line

REJECTED = 2
OUR_OWN = 70
"""Status of a fault of ours, as in sysexits.h."""
INTERRUPTED = 130
GONE = 141
"""Whoever read our output has gone."""
LONGEST = 300
LANGUAGE_MODELS = frozenset({"composer", "llmfoundry", "datasets", "lm_eval", "streaming", "torch", "transformers"})


def line_and_status(error: BaseException) -> tuple[str, int]:
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
            return "", GONE
        case ImportError() if (error.name or "").partition(".")[0] != "tokbench":
            return f"tokbench: {_missing(error)}", REJECTED
        case OSError():
            named = f"{error.filename}: " if error.filename else ""
            return f"tokbench: {named}{error.strerror or _reason(error)}", REJECTED
        case UnicodeEncodeError() if "\udc80" <= error.object[error.start] <= "\udcff":
            name = on_one_line(error.object)
            return f"tokbench: {name}: the name is not UTF-8, as is needed here; rename it", REJECTED
    return f"tokbench: {_our_own(error)}", OUR_OWN


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
