"""Where a job, or Snakemake itself, had no place to write: the line that nobody could leave in a log."""

import os
import re
from pathlib import Path
from tempfile import TemporaryFile

BLOCK = bytes(1 << 14)
NOTES = ".snakemake"
"""Where Snakemake writes what it names no file of."""
ROOM, ELSEWHERE = "make room there", "let it be written to"
"""What to do about a place that is full, and about one that takes no writes for another reason."""
CACHE = "set HOME or XDG_CACHE_HOME to a folder that can be written to"
"""What to do where Snakemake cannot make its cache, which it needs for a dry run, too."""
CANNOT = re.compile(
    r"(?:OSError: |PermissionError: |\()\[Errno \d+\] (No space left on device|Disk quota exceeded|"
    r"Read-only file system|Permission denied|File too large|Input/output error)(?:: '([^']*)')?"
)


def why_silent(log: str | None) -> str | None:
    """Why a job that failed left nothing in its log: a line, where nothing can be written beside it."""
    if not log or (os.path.exists(log) and os.path.getsize(log)):
        return None
    folder = next(above for above in Path(log).absolute().parents if above.is_dir())
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(BLOCK)
    except OSError as error:
        return _line(os.path.relpath(folder), error.strerror or "")
    return None


def of_engine(text: str) -> str | None:
    """An error of Snakemake's own as a line, where it is one of writing."""
    found = CANNOT.search(text)
    return _line(found[2] or NOTES, found[1]) if found else None


def _line(place: str, reason: str) -> str:
    remedy = CACHE if _is_of_cache(place) else ELSEWHERE
    if reason.startswith(("No space", "Disk quota")):
        remedy = ROOM
    return f"tokbench: {place}: {reason}; {remedy} and run again: what is finished is kept"


def _is_of_cache(place: str) -> bool:
    """Return whether a place is in the folder of caches, or is one in which that folder would be made."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")).absolute()
    return place != NOTES and (Path(place).absolute().is_relative_to(cache) or cache.is_relative_to(place))
