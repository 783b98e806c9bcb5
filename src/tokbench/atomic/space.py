"""Failures to write, told in one line: a full disk, a quota, a limit on the size of files."""

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokbench.errors import TokbenchError

NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TOLD = re.compile(
    "|".join(
        [
            rf"(?:os error|errno) (?:{'|'.join(map(str, NUMBERS))})\b",
            *(re.escape(os.strerror(number)) for number in NUMBERS),
            r"\d+ requested and \d+ written",
            "PytorchStreamWriter failed writing",
        ]
    ),
    re.IGNORECASE,
)
"""How libraries say it that raise exceptions of their own: polars, safetensors, tokenizers; NumPy, torch."""
NOT_OF_FILES = (BrokenPipeError, ConnectionError, TimeoutError, InterruptedError, BlockingIOError, ChildProcessError)


class NoSpaceError(TokbenchError):
    """There is no space for an output."""

    def __init__(self, path: Path | str, folder: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(f"{path}: cannot be written whole ({reason}); make room in {folder}, or write elsewhere")


@contextmanager
def failures_reported(path: Path | str, folder: Path) -> Iterator[None]:
    """Raise every failure for lack of space as one that names the output.

    Other errors of the system's name it too, where they name no file or the partial one.

    Args:
        path: the output, as the user named it.
        folder: where there is no space.

    Raises:
        TokbenchError: there is no space left.
    """
    try:
        yield
    except Exception as error:
        reason = _lacks_space(error)
        if reason is not None:
            raise NoSpaceError(path, folder, reason) from error
        if isinstance(error, OSError) and _names_none(error):
            error.filename = str(path)
        raise


def _names_none(error: OSError) -> bool:
    """Whether an error of the system's is one of files and names none that the user knows."""
    named = error.filename and not str(error.filename).endswith(".partial")
    return bool(error.errno) and not named and not isinstance(error, NOT_OF_FILES)


def _lacks_space(error: BaseException | None) -> str | None:
    """How an error, or one behind it, says that there is no space; None where none does."""
    while error is not None:
        if isinstance(error, NoSpaceError):
            return error.reason
        if isinstance(error, OSError) and error.errno in NUMBERS:
            return os.strerror(error.errno)
        if not isinstance(error, TokbenchError) and (found := TOLD.search(str(error))):
            known = (os.strerror(number) for number in NUMBERS)
            return next((text for text in known if text in str(error)), found[0])
        error = error.__cause__ or error.__context__
    return None
