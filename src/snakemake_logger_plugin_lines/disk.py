"""Where a job, or Snakemake itself, had no place to write: the line that nobody could leave in a log."""

import os
import re
from pathlib import Path
from tempfile import TemporaryFile

BLOCK = bytes(1 << 14)
REMEDY = "make room there, or name another folder under 'results', and run again: what is finished is kept"
CANNOT = re.compile(
    r"(?:OSError|PermissionError): \[Errno \d+\] (No space left on device|Disk quota exceeded|Read-only file system|"
    r"Permission denied|File too large|Input/output error)(?:: '([^']*)')?"
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
        return f"tokbench: {os.path.relpath(folder)}: {error.strerror}; {REMEDY}"
    return None


def of_engine(text: str) -> str | None:
    """An error of Snakemake's own as a line, where it is one of writing."""
    found = CANNOT.search(text)
    return found and f"tokbench: {f'{found[2]}: ' if found[2] else ''}{found[1]}; {REMEDY}"
