"""Regular files: pipes, sockets and devices are rejected before they are opened, since they may never end."""

import os
import re
import stat
from pathlib import Path

from tokbench.errors import TokbenchError

KINDS = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a disk"}
DESCRIPTORS = re.compile(r"/proc/\d+(/task/\d+)?/fd|/dev/fd")
"""Folders whose entries are the open files of a process."""
DEEPEST = 40
"""Links followed, as by the system."""


def check_regular(path: Path | str, *, descriptors: bool = False) -> None:
    """Reject a path that exists and is neither a regular file nor a folder.

    Args:
        path: The path; a missing one is accepted, since opening it says more.
        descriptors: Whether an open file of this process is accepted, such as ``/dev/stdin``, of any kind.

    Raises:
        TokbenchError: The path is a pipe, a socket or a device.
    """
    try:
        kind = KINDS.get(stat.S_IFMT(os.stat(path).st_mode))
    except (OSError, ValueError):
        return
    if kind is not None and not (descriptors and is_descriptor(path)):
        raise TokbenchError(f"{path}: {kind}; write what comes through it to a file, and name that")


def read_regular(path: Path) -> bytes:
    """Return the bytes of a regular file.

    Raises:
        TokbenchError: The path is a pipe, a socket or a device.
        OSError: The file cannot be read.
    """
    check_regular(path)
    return path.read_bytes()


def is_descriptor(path: Path | str) -> bool:
    """Whether a name is that of an open file, as ``/dev/stdout`` is; another file in its place would not be open."""
    for _ in range(DEEPEST):
        folder, name = os.path.split(os.fspath(path))
        folder = os.path.realpath(folder)
        if DESCRIPTORS.fullmatch(folder):
            return True
        path = os.path.join(folder, name)
        if not os.path.islink(path):
            break
        path = os.path.join(folder, os.readlink(path))
    return False
