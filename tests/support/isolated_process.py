"""Run a function in a forked child, which has all libraries of this process imported."""

import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120
"""Seconds after which a process counts as hung."""


def start(work: Callable[[], object], told: Path) -> int:
    """The number of a process that does the work and writes what it has to tell to a file; it ends with 1 if it fails.

    What forks may use no threads of its own at the time, or what it forks may wait for them for ever.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if process := os.fork():
        return process
    status = 1
    try:
        for stream in (1, 2):
            os.dup2(os.open(told, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), stream)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        work()
        status = 0
    except BaseException:
        told.write_text(traceback.format_exc())
    finally:
        os._exit(status)


def end(process: int) -> int:
    """How a process ends; one that hangs is killed."""
    watched = os.pidfd_open(process)
    if not select.select([watched], [], [], PATIENCE)[0]:
        os.kill(process, signal.SIGKILL)
    os.close(watched)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
