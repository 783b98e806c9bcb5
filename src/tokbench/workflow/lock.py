"""One run at a time in an experiment's folder, whichever checkout and machine it is started from.

The workflow engine's own lock knows the runs of one checkout only. This one is the kernel's: it goes with the process
that holds it, however that ends, and what a killed run leaves behind locks nobody out.
"""

import fcntl
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokbench.config.load import read_all
from tokbench.errors import TokbenchError
from tokbench.faults import line_and_status

NAME = ".lock"
held: list[int] = []
"""Descriptors of the locks that this process holds; processes that it starts do not inherit them."""


def hold(folder: Path | str) -> None:
    """Hold the lock of a folder of results until this process ends.

    Raises:
        TokbenchError: another process holds it, which the message tells, or the folder cannot be written to.
    """
    path = Path(folder) / NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise TokbenchError(f"results: {folder}: {error.strerror}; name a folder that can be written to") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = os.pread(descriptor, 1000, 0).decode("utf-8", "replace") or "another process"
        os.close(descriptor)
        raise TokbenchError(
            f"{folder}: {holder} is at work in this folder; wait for its end, or choose another with --config results="
        ) from None
    except OSError as error:
        print(
            f"tokbench: {path}: no locks here ({error.strerror}); start no second run in this folder", file=sys.stderr
        )
    held.append(descriptor)
    os.ftruncate(descriptor, 0)
    holder = f"process {os.getpid()} on {socket.gethostname()}, started in {os.getcwd()},"
    os.pwrite(descriptor, os.fsencode(holder), 0)


def hold_results(configfiles: Sequence[str | Path], overrides: dict[str, Any]) -> None:
    """Hold the lock of an experiment's folder of results, for a workflow that takes these rules as a module.

    A module's own ``onstart`` is not run by the workflow engine. What goes wrong ends the process in one line.

    Args:
        configfiles: files of the configuration.
        overrides: what the command line says beside them.
    """
    try:
        hold(read_all(list(configfiles), overrides).folder)
    except Exception as error:
        sys.exit(line_and_status(error)[0])
