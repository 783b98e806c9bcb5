"""Paths of outputs, partial outputs, and one-line errors for failed writes.

Links are followed. A file replaces only a file, and a folder only a folder. A full disk, a quota or a limit on file
size is reported in one line.

A partial output is called ``.NAME.HOST-PID-NUMBER.partial`` and is in the folder of the output. Its process removes it,
also at SIGTERM. If the process is killed, the next attempt at the same output removes it, after checking that the
process was on this host and is dead.
"""

import errno
import itertools
import os
import platform
import re
import shutil
import signal
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.runtime.exit_status import Terminated

STANDARD_OUTPUT = "-"
NUMBERS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
TERMINATION_MESSAGES = re.compile(
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
"""Messages of libraries with their own exceptions for a full disk: polars, safetensors, tokenizers; NumPy, torch."""
NOT_OF_FILES = (BrokenPipeError, ConnectionError, TimeoutError, InterruptedError, BlockingIOError, ChildProcessError)
ENDED = ("Z", "X")
"""States of dead processes in Linux."""
LONGEST = 180
"""Maximum bytes of the output's name in a partial name; file names have at most 255 bytes."""


def place_of_file(path: Path | str) -> Path | None:
    """Return the file that an output creates or replaces, with links followed; None for standard output, ``-``.

    Raises:
        TokbenchError: the path is a folder, a device or a pipe, or one of its folders is a file.
    """
    if str(path) == STANDARD_OUTPUT:
        return None
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        raise TokbenchError(f"{path}: is a folder; name a file")
    if mode and not stat.S_ISREG(mode):
        raise TokbenchError(f"{path}: not a file, but a device or a pipe; name a file, or - for standard output")
    return Path(os.path.realpath(path))


def place_of_folder(path: Path | str) -> Path:
    """Return the folder that an output creates or replaces, with links followed.

    Raises:
        TokbenchError: the path exists and is not a folder, or one of its folders is a file.
    """
    mode = _mode(path)
    if mode and not stat.S_ISDIR(mode):
        raise TokbenchError(f"{path}: is a file; remove it, or name another folder")
    return Path(os.path.realpath(path))


def _mode(path: Path | str) -> int:
    """Return the mode of a path with links followed; 0 if it is missing."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return 0
    except NotADirectoryError:
        raise TokbenchError(f"{path}: one of its folders is a file; remove that, or name another output") from None


class NoSpaceError(TokbenchError):
    """There is no space for an output."""

    def __init__(self, path: Path | str, folder: Path, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"{path}: cannot be written completely ({reason}); make room in {folder}, or name another place"
        )


@contextmanager
def failures_reported(path: Path | str, folder: Path) -> Iterator[None]:
    """Convert errors for lack of space into one that names the output.

    Other errors of the system also get its name if they name no file or the partial one.

    Args:
        path: the output, as the user named it.
        folder: folder without space.

    Raises:
        TokbenchError: there is no space left.
    """
    try:
        yield
    except Exception as error:
        reason = _lacks_space(error)
        if reason is not None:
            raise NoSpaceError(path, folder, reason) from error
        if isinstance(error, OSError) and _lacks_name(error):
            error.filename = str(path)
        raise


def _lacks_name(error: OSError) -> bool:
    """Return whether a system error concerns files and names none that the user knows."""
    named = error.filename and not str(error.filename).endswith(".partial")
    return bool(error.errno) and not named and not isinstance(error, NOT_OF_FILES)


def _lacks_space(error: BaseException | None) -> str | None:
    """Return the message of an error, or of one of its causes, if it means lack of space; otherwise None."""
    while error is not None:
        if isinstance(error, NoSpaceError):
            return error.reason
        if isinstance(error, OSError) and error.errno in NUMBERS:
            return os.strerror(error.errno)
        if not isinstance(error, TokbenchError) and (match := TERMINATION_MESSAGES.search(str(error))):
            known = (os.strerror(number) for number in NUMBERS)
            return next((text for text in known if text in str(error)), match[0])
        error = error.__cause__ or error.__context__
    return None


_numbers = itertools.count()
_held: set[str] = set()
"""Names of the partial outputs that this process is writing."""


def partial_file(place: Path) -> AbstractContextManager[Path]:
    """Create an empty file in the folder of ``place``; remove it at the end of the block if it still exists."""
    return _partial(place, lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)))


def partial_folder(place: Path) -> AbstractContextManager[Path]:
    """Create an empty folder in the folder of ``place``; remove it at the end of the block if it still exists."""
    return _partial(place, Path.mkdir)


@contextmanager
def _partial(place: Path, make: Callable[[Path], None]) -> Iterator[Path]:
    place.parent.mkdir(parents=True, exist_ok=True)
    _clear_leftovers(place)
    partial = new_name(place)
    maker = os.getpid()
    with ended_by_sigterm():
        _held.add(partial.name)
        try:
            make(partial)
            yield partial
        finally:
            if os.getpid() == maker:  # A forked process may also reach the end of the block.
                remove(partial)
                _held.discard(partial.name)


def new_name(place: Path, ending: str = "partial") -> Path:
    """Return an unused name in the folder of ``place``."""
    return place.with_name(f".{_short(place.name)}.{_host()}-{os.getpid()}-{next(_numbers)}.{ending}")


def remove(path: Path) -> None:
    """Remove a file, a link or a folder as far as possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _clear_leftovers(place: Path) -> None:
    pattern = re.compile(rf"\.{re.escape(_short(place.name))}\.{_host()}-(\d+)-\d+\.partial")
    try:
        names = os.listdir(place.parent)
    except PermissionError:
        return  # A folder may be writable and not readable.
    for name in names:
        match = pattern.fullmatch(name)
        if match and name not in _held and is_dead(int(match[1])):
            remove(place.parent / name)


def is_dead(process: int) -> bool:
    """Return whether no process with this number runs. This process's own number was then that of an older process.

    Zombies count as dead: they remain where the first process of a container does not wait for its children.
    """
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in ENDED
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        return Path("/proc/self/stat").exists()  # It ended meanwhile; systems other than Linux have no /proc.
    except (OSError, OverflowError, IndexError):
        return False


def _short(name: str) -> str:
    """Return the name, or the beginning of a long name with a digest of the full name."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= LONGEST:
        return name
    digest = blake2b(data, digest_size=8).hexdigest()
    return f"{data[: LONGEST - len(digest)].decode('utf-8', 'ignore')}{digest}"


@cache
def _host() -> str:
    """Return a digest that identifies this host, and this container, among those that share the disk."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return blake2b(f"{platform.node()} {namespace}".encode(), digest_size=4).hexdigest()


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Make SIGTERM raise :class:`Terminated` within the block, so that outputs are cleaned up.

    Nothing changes in other threads than the main one, or if SIGTERM already has a handler.
    """
    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _exit(number: int, _: Any) -> None:
    raise Terminated(128 + number)
