"""Places of outputs: links are followed, and only a file replaces a file and a folder a folder.

Failures to write, told in one line: a full disk, a quota, a limit on the size of files.

What is being written, under names of its own: ``.NAME.HOST-PID-NUMBER.partial``, beside its place.

The process that made a partial output removes it, at SIGTERM too. What a process leaves that was killed, the next
attempt at the same output removes, once it sees that the process was of this host and is dead.
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

STANDARD_OUTPUT = "-"


def place_of_file(path: Path | str) -> Path | None:
    """Return the file that an output makes or replaces, with links followed, and None for standard output, ``-``.

    Raises:
        TokbenchError: a folder, a device or a pipe stands there, or a file where a folder of its path should be.
    """
    if str(path) == STANDARD_OUTPUT:
        return None
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        raise TokbenchError(f"{path}: a folder stands here; name a file")
    if mode and not stat.S_ISREG(mode):
        raise TokbenchError(f"{path}: not a file, but a device or a pipe; name a file, or - for standard output")
    return Path(os.path.realpath(path))


def place_of_folder(path: Path | str) -> Path:
    """Return the folder that an output makes or replaces, with links followed.

    Raises:
        TokbenchError: no folder stands there, but something else, or a file where a folder of its path should be.
    """
    mode = _mode(path)
    if mode and not stat.S_ISDIR(mode):
        raise TokbenchError(f"{path}: a file stands here; remove it, or name another folder")
    return Path(os.path.realpath(path))


def _mode(path: Path | str) -> int:
    """Return the mode of what a path and its links lead to; 0 for nothing."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return 0
    except NotADirectoryError:
        raise TokbenchError(f"{path}: one of its folders is a file; remove that, or name another output") from None


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


ENDED = ("Z", "X")
"""States of processes that have ended, as Linux tells them."""
LONGEST = 180
"""Bytes of the output's name in a partial one; a file's name has at most 255."""

_numbers = itertools.count()
_held: set[str] = set()
"""Names of the partial outputs of this process that are being written."""


def partial_file(place: Path) -> AbstractContextManager[Path]:
    """A new empty file beside ``place``, removed at the end of the block if it is still there."""
    return _partial(place, lambda path: os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)))


def partial_folder(place: Path) -> AbstractContextManager[Path]:
    """A new empty folder beside ``place``, removed at the end of the block if it is still there."""
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
            if os.getpid() == maker:  # A forked process that runs to the end of the block made nothing.
                remove(partial)
                _held.discard(partial.name)


def new_name(place: Path, ending: str = "partial") -> Path:
    """A name beside ``place`` that nothing else bears."""
    return place.with_name(f".{_short(place.name)}.{_host()}-{os.getpid()}-{next(_numbers)}.{ending}")


def remove(path: Path) -> None:
    """Remove a file, a link or a folder, as far as it is there and can be removed."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _clear_leftovers(place: Path) -> None:
    pattern = re.compile(rf"\.{re.escape(_short(place.name))}\.{_host()}-(\d+)-\d+\.partial")
    try:
        names = os.listdir(place.parent)
    except PermissionError:
        return  # A folder may be written to and yet not be read.
    for name in names:
        found = pattern.fullmatch(name)
        if found and name not in _held and _is_dead(int(found[1])):
            remove(place.parent / name)


def _is_dead(process: int) -> bool:
    """Whether no process of that number runs; this one's number, on a name that it does not hold, is an older's.

    Where nobody waits for them, as in containers whose first process waits for none, the dead stay listed.
    """
    if process == os.getpid():
        return True
    try:
        os.kill(process, 0)
        return Path(f"/proc/{process}/stat").read_text(errors="replace").rpartition(")")[2].split()[0] in ENDED
    except ProcessLookupError:
        return True
    except FileNotFoundError:
        return Path("/proc/self/stat").exists()  # It has ended since; other systems have no such files.
    except (OSError, OverflowError, IndexError):
        return False


def _short(name: str) -> str:
    """The name itself, or the beginning of a long one with a digest of the whole."""
    data = name.encode("utf-8", "surrogateescape")
    if len(data) <= LONGEST:
        return name
    digest = blake2b(data, digest_size=8).hexdigest()
    return f"{data[: LONGEST - len(digest)].decode('utf-8', 'ignore')}{digest}"


@cache
def _host() -> str:
    """What tells this host from others that see the same disk, and containers on one host from each other."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return blake2b(f"{platform.node()} {namespace}".encode(), digest_size=4).hexdigest()


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """SIGTERM ends the process as an exception does, so that blocks are left; elsewhere it ends it at once, as ever."""
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
    raise SystemExit(128 + number)
