"""The outermost frame: whatever goes wrong, and was not told where it happened, becomes one line and a status.

A mistake of the user's, a damaged file, a full disk and a reader who went away are told apart from a fault of our own,
which says that it is one. ``TOKBENCH_DEBUG=1`` shows where it happened.
"""

import os
import traceback
from collections.abc import Iterator
from typing import Any

from tokbench.errors import TokbenchError, on_one_line
from tokbench.memory import STATUS, shortage_in, shortage_line

REJECTED = 2
OUR_OWN = 70
"""Status of a fault of ours, as in sysexits.h."""
INTERRUPTED = 130
GONE = 141
"""Whoever read our output has gone."""
READERS = frozenset(
    {
        "_zstd", "bz2", "fastexcel", "gzip", "json", "lzma", "polars", "pyarrow", "pydantic", "pydantic_core",
        "safetensors_rust", "streaming", "yaml", "zipfile", "zlib", "zstandard",
    }
)  # fmt: skip
"""Modules whose exceptions mean that a file is not what it should be, where a file was being read."""
HOLDS_FILES = frozenset({"file", "folder", "path", "place", "shard", "source"})
"""Names under which our functions hold a file that they read, where it is held as text."""
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
        case FileNotFoundError() | PermissionError() if not error.errno:
            return f"tokbench: {_reason(error)}", REJECTED  # polars' own, which name the file in their text
        case OSError() if error.filename or error.errno:
            named = error.filename or _file(error)
            return f"tokbench: {f'{named}: ' if named else ''}{error.strerror or _reason(error)}", REJECTED
        case UnicodeEncodeError() if "\udc80" <= error.object[error.start] <= "\udcff":
            return (
                f"tokbench: {on_one_line(error.object)}: the name is not UTF-8, as is needed here; rename it",
                REJECTED,
            )
    file = _file(error)
    if file is not None and (reason := _damage(error)):
        return f"tokbench: {file}: {reason}; make or fetch the file again", REJECTED
    return f"tokbench: {_our_own(error)}", OUR_OWN


def _damage(error: BaseException) -> str | None:
    """What an exception says of the file that was being read; None where it says nothing of it."""
    match error:
        case UnicodeDecodeError():
            return f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start})"
        case RecursionError():
            return "nested too deeply to be read"
        case EOFError():
            return "damaged, it ends too early"
        case OSError():
            return f"damaged, or not of the kind that is read here ({_reason(error)})"
    modules = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    if modules & READERS:
        return f"damaged, or not of the kind that is read here ({type(error).__name__}: {_reason(error)})"
    return None


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


def _file(error: BaseException) -> str | None:
    """The file that the innermost of our functions was at when it happened, if it was at any."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    for frame in reversed(frames):
        if frame.f_globals.get("__name__", "").startswith("tokbench."):
            for name, value in frame.f_locals.items():
                for path in _paths(name, value):
                    if os.path.exists(path):
                        return path
    return None


def _paths(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, os.PathLike) or (isinstance(value, str) and name in HOLDS_FILES and "\0" not in value):
        yield os.fspath(value)
    elif isinstance(opened := getattr(value, "name", None), str) and hasattr(value, "read"):
        yield opened
