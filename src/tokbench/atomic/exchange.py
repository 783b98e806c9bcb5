"""Putting a folder in its place, at one stroke where the system can do that."""

import ctypes
import errno
import os
import stat
from contextlib import suppress
from pathlib import Path

from tokbench.atomic.partial import new_name, remove
from tokbench.atomic.record import Kind, reject_foreign

AT_FDCWD = -100
RENAME_EXCHANGE = 2
CANNOT = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
"""What systems and file systems answer that cannot exchange two names."""
TAKEN = (errno.ENOTEMPTY, errno.EEXIST)


def put_in_place(partial: Path, place: Path, kind: Kind, named: Path | str) -> None:
    """Give a whole folder the name of its place; an older one there goes.

    Of several processes that do so at once the last one's folder stands, whole. Whether the older folder may go is
    seen when it has no name any more under which it could change; one that may not gets its name back.

    Raises:
        TokbenchError: what stands there must not be replaced; the message calls it as ``named``.
    """
    keep_mode(partial, place)
    while True:
        try:
            os.rename(partial, place)  # Over nothing, or an empty folder.
            return
        except OSError as error:
            if error.errno not in TAKEN:
                raise
        try:
            if _exchange(partial, place, kind, named) or _one_after_the_other(partial, place, kind, named):
                return
        except FileNotFoundError:
            if not partial.exists():
                raise  # Another process has taken the older one away: try again.


def keep_mode(partial: Path, place: Path) -> None:
    """Give what is new the mode of what it will replace, so that nobody else may read what was private."""
    with suppress(FileNotFoundError):
        partial.chmod(stat.S_IMODE(place.stat().st_mode))


def _exchange(partial: Path, place: Path, kind: Kind, named: Path | str) -> bool:
    """Exchange the two names and remove the older folder; False where that cannot be done here."""
    code = exchange(partial, place)
    if code in CANNOT:
        return False
    if code:
        raise OSError(code, os.strerror(code), str(place))
    try:
        reject_foreign(partial, kind, named)
    except BaseException:
        exchange(partial, place)
        raise
    remove(partial)
    return True


def _one_after_the_other(partial: Path, place: Path, kind: Kind, named: Path | str) -> bool:
    """Take the older folder aside and put the new one in its place; False if another process was quicker.

    What is aside is no leftover: should the process be killed here, the older folder is not lost.
    """
    reject_foreign(place, kind, named)
    aside = new_name(place, "aside")
    os.rename(place, aside)
    try:
        reject_foreign(aside, kind, named)
        os.rename(partial, place)
    except BaseException as error:
        if isinstance(error, OSError) and error.errno in TAKEN:
            remove(aside)
            return False
        os.rename(aside, place)
        raise
    remove(aside)
    return True


def exchange(one: Path, other: Path) -> int:
    """Exchange two names at one stroke; return the system's error number, 0 where it went well."""
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return errno.ENOSYS
    failed = library.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    return ctypes.get_errno() if failed else 0
