"""Places of outputs: links are followed, and only a file replaces a file and a folder a folder."""

import os
import stat
from pathlib import Path

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
