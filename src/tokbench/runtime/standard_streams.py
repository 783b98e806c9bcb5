"""Standard streams that the caller closed, as ``>&-`` in a shell does: Python has None in their place."""

import os
import sys
from typing import Literal, TextIO


def open_closed_streams() -> None:
    """Replace standard streams that are closed, so that their use is an ``OSError`` and not a missing attribute.

    Reading standard input and writing to standard output fail as they do in other programs; messages are lost. No file
    that is opened later has the number of a standard stream.
    """
    if sys.stdin is None:
        sys.stdin = _null("r", os.O_WRONLY)
    if sys.stdout is None:
        sys.stdout = _null("w", os.O_RDONLY)
    if sys.stderr is None:
        sys.stderr = _null("w", os.O_WRONLY)


def _null(mode: Literal["r", "w"], access: int) -> TextIO:
    """Open the null device as a stream; if its access contradicts its mode, each use is an error."""
    return os.fdopen(os.open(os.devnull, access), mode, encoding="utf-8")
