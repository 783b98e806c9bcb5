"""Locks for files that several processes share, such as checkpoints, and for the runs in an experiment's folder.

The workflow engine's own lock covers only runs of one checkout. This lock is the operating system's and covers all
checkouts and machines. It is released when its process ends, so a killed run leaves no lock behind.
"""

import fcntl
import logging
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tokbench.errors import TokbenchError

log = logging.getLogger(__name__)
NAME = ".lock"
TRIES = 10
"""Attempts to get the lock; a process that checks for a run in progress locks it for an instant."""
MOMENT = 0.05
"""Seconds between attempts."""


@contextmanager
def exclusive(folder: Path) -> Iterator[bool]:
    """Lock a folder for this process within the block, after waiting for any other process that has locked it.

    A killed run may leave running jobs, and the next run starts the same ones. The lock is on a file next to the folder
    and is released when its process ends.

    Args:
        folder: folder to lock; it need not exist.

    Yields:
        Whether it waited for another process.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f".{folder.name}.lock")
    waited = False
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("%s: another process is at work there; waiting for its end", folder)
            waited = True
            with suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        except OSError:
            log.info("%s: no locks on this file system; see that no other process is at work there", folder)
        if _is(path, descriptor):
            break
        os.close(descriptor)  # The previous owner deleted the file before it released the lock.
    try:
        yield waited
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


locks: list[int] = []
"""Descriptors of the locks of this process; child processes do not inherit them."""


def lock_folder(folder: Path | str) -> None:
    """Lock a folder of results until this process ends.

    Raises:
        TokbenchError: another process has locked it, which the message names, or nothing can be written there.
    """
    path = Path(folder) / NAME
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise TokbenchError(f"results: {folder}: {error.strerror}; name a folder that can be written to") from None
    # Another process has the lock, or the file system has no locks.
    try:
        _lock(descriptor)
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
    # The file says who has the lock, for the message of another process.
    locks.append(descriptor)
    holder = f"process {os.getpid()} on {socket.gethostname()}, started in {os.getcwd()},"
    try:
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, os.fsencode(holder), 0)
    except OSError as error:
        raise TokbenchError(
            f"{path}: {error.strerror}; make room there, or name another folder under 'results'"
        ) from None


@contextmanager
def folder_lock(folder: Path | str) -> Iterator[None]:
    """Lock a folder of results within the block, see :func:`lock_folder`."""
    lock_folder(folder)
    descriptor = locks.pop()
    try:
        yield
    finally:
        os.close(descriptor)


def lock_time(folder: Path | str) -> int:
    """Return the time in nanoseconds, by the clock of the file system, at which this process locked a folder."""
    return (Path(folder) / NAME).stat().st_mtime_ns


def is_locked(folder: Path | str) -> bool | None:
    """Return whether a process has locked a folder of results; None if the file system has no locks.

    The check uses a shared lock, which is released immediately.
    """
    try:
        descriptor = os.open(Path(folder) / NAME, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return False


def _lock(descriptor: int) -> None:
    for _ in range(TRIES - 1):
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(MOMENT)
    return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
