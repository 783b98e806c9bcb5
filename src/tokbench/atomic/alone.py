"""One process at a time where several share files that are not replaced as wholes, such as a training's checkpoints."""

import fcntl
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

log = logging.getLogger(__name__)


@contextmanager
def alone(folder: Path) -> Iterator[bool]:
    """Hold a folder for this process within the block; another that holds it is waited for, however it ends.

    A run that was killed may leave jobs at work, and the next run starts the same ones. The lock is one of the
    operating system on a file beside the folder, which no dead process holds.

    Args:
        folder: it need not exist.

    Yields:
        Whether another process was waited for.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    path = folder.with_name(f".{folder.name}.lock")
    waited = False
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("%s: another process is at work there; waiting for its end", folder)
            waited = True
            with suppress(OSError):
                fcntl.flock(held, fcntl.LOCK_EX)
        except OSError:
            log.info("%s: no locks on this file system; see that no other process is at work there", folder)
        if _is(path, held):
            break
        os.close(held)  # Its holder has removed it before it let go.
    try:
        yield waited
    finally:
        with suppress(OSError):
            path.unlink()
        os.close(held)


def _is(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
