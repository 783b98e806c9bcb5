"""Validation of paths: names with a special meaning for the workflow engine are rejected.

Blanks, quotes, ``$``, ``;`` and letters of any script are allowed, as every rule quotes its paths. ``~`` is never
replaced by the home folder: a configuration rejects it at the beginning of a path, and functions that open files take
it literally.
"""

import os
import re
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from os import PathLike
from pathlib import Path

RESERVED = re.compile("[{}<>*?\\[\\]]")
"""Wildcards and path variables of the workflow engine, and glob patterns."""
UNWRITTEN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
"""Control characters, line ends and bytes that are not UTF-8, which logs, messages and tables cannot contain."""
URL = re.compile("[A-Za-z][A-Za-z0-9+.-]*://")
"""URLs, which the workflow engine would look up in its storage plugins."""
HUB = "hf:"
"""Beginning of a name on the Hugging Face hub."""


def literal(path: str | PathLike[str]) -> str:
    """Return a path that other libraries do not change: Arrow and Polars replace ``~`` at its beginning."""
    return os.path.join(".", path) if os.fspath(path).startswith("~") else os.fspath(path)


def path_mistakes(key: str, paths: Iterable[str | PathLike[str]], *, patterns: bool = False) -> Iterator[str]:
    """Yield one line, ``key: mistake; remedy``, for the first path that the workflow cannot use.

    Args:
        key: key of the paths in the configuration.
        paths: files, folders or patterns.
        patterns: allow ``*``, ``?`` and ``[ ]`` (default: no). Allow them in input paths only: other libraries find
            outputs by pattern.
    """
    for path in map(str, paths):
        reason = _reason(path, patterns)
        if reason is not None:
            yield f"{key}: {path!r} {reason}"
            return


def folder_mistakes(key: str, folder: str | PathLike[str]) -> Iterator[str]:
    """Yield one line if a folder cannot be created or read, before the workflow engine looks for outputs there."""
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
        return "is not a path; name a file or a folder"
    if path.startswith("~"):
        return "begins with ~, which is not replaced by the home folder; write the path in full"
    if URL.match(path):
        return "is an address; name a file or a folder of this machine"
    unwritten = UNWRITTEN.search(path)
    if unwritten:
        name = unicodedata.name(unwritten[0], f"character {ord(unwritten[0]):#04x}")
        return f"contains {name}, which the workflow cannot write in its records; rename it"
    reserved = next((match[0] for match in RESERVED.finditer(path) if not (patterns and match[0] in "*?[]")), None)
    if reserved:
        return f"contains {reserved}, which the workflow engine does not read as part of a name; rename it"
    return None


def is_source(text: str) -> bool:
    """Return whether a text is ``FILE.py:FUNCTION`` and there is such a file."""
    file, _, name = text.rpartition(":")
    return file.endswith(".py") and name.replace(".", "").isidentifier() and os.path.isfile(file)


def is_hub_name(text: str) -> bool:
    """Return whether an argument names a tokenizer on the Hugging Face hub, ``hf:OWNER/NAME``."""
    return text.startswith(HUB)
