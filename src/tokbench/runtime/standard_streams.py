"""Standard streams that the caller closed, as ``>&-`` in a shell does: Python has None in their place."""

import os
import sys

MODES = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}
"""Modes in which the null device is opened for each stream: reading standard input and writing to standard output fail
as they do in other programs, and messages are lost."""


def open_closed_streams() -> None:
    """Replace standard streams that are closed, so that their use is an ``OSError`` and not a missing attribute.

    No file that is opened later then has the number of a standard stream.
    """
    for name, mode in MODES.items():
        if getattr(sys, name) is None:
            number = os.open(os.devnull, mode)
            setattr(sys, name, open(number, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115 - they stay open
