"""Paths that the workflow can carry: what the workflow engine would read as more than a name is rejected.

Blanks, quotes, ``$``, ``;`` and letters of any script are parts of names: every rule quotes its paths. ``~`` is
never replaced by the home folder: a configuration rejects it at the beginning of a path, and every opener reads it as
it is.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

RESERVED = re.compile("[{}<>*?\\[\\]]")
"""Wildcards and path variables of the workflow engine, and patterns."""
UNWRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, ends of lines and bytes that are not UTF-8: no log, message or table holds them as they are."""
ELSEWHERE = re.compile("[A-Za-z][A-Za-z0-9+.-]*://")
"""Addresses: the workflow engine would look for them in a store of its own."""


def literal(path: str | PathLike[str]) -> str:
    """Return a path that other libraries read as it is: Arrow and Polars replace ``~`` at its beginning."""
    return os.path.join(".", path) if os.fspath(path).startswith("~") else os.fspath(path)


def path_mistakes(key: str, paths: Iterable[str | PathLike[str]], *, patterns: bool = False) -> Iterator[str]:
    """One line, ``key: what is wrong; the remedy``, where the workflow cannot carry one of these paths.

    Args:
        key: where the configuration names them.
        paths: files, folders or patterns; the first mistake is told.
        patterns: whether ``*``, ``?`` and ``[ ]`` may stand in them: in files that are read, not in those that are
            written, which other libraries look for by pattern.
    """
    for path in map(str, paths):
        reason = _reason(path, patterns)
        if reason is not None:
            yield f"{key}: {path!r} {reason}"
            return


def folder_mistakes(key: str, folder: str | PathLike[str]) -> Iterator[str]:
    """One line where no folder can be made or read, told before the workflow engine looks for outputs there."""
    for place in (Path(folder), *Path(folder).absolute().parents):
        try:
            mode = os.stat(place).st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield f"{key}: {place}: {error.strerror}; name another folder"
            return
        if not stat.S_ISDIR(mode):
            yield f"{key}: {place} is a file; name a folder"
        elif not os.access(place, os.R_OK | os.X_OK):
            yield f"{key}: {place} cannot be read; name another folder"
        return


def _reason(path: str, patterns: bool) -> str | None:
    if not path:
        return "is no path; name a file or a folder"
    if path.startswith("~"):
        return "begins with ~, which is not replaced by the home folder; write the path in full"
    if ELSEWHERE.match(path):
        return "is an address; name a file or a folder of this machine"
    unwritten = UNWRITTEN.search(path)
    if unwritten:
        name = unicodedata.name(unwritten[0], f"character {ord(unwritten[0]):#04x}")
        return f"holds {name}, which the workflow cannot write in its records; rename it"
    reserved = next((found[0] for found in RESERVED.finditer(path) if not (patterns and found[0] in "*?[]")), None)
    if reserved:
        return f"holds {reserved}, which the workflow engine does not read as part of a name; rename it"
    return None
