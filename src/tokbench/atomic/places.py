"""Where an output goes: through links to what they lead to, into devices and pipes, and nowhere else."""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokbench.atomic.partial import ended_by_sigterm
from tokbench.errors import TokbenchError
from tokbench.inputs.regular import is_descriptor


def place_of_file(path: Path | str) -> Path | None:
    """The file that an output makes or replaces, links followed; None where it is handed on to what is no file.

    Raises:
        TokbenchError: a folder or a block device stands there, or a file where a folder of its path should be.
    """
    mode = _mode(path)
    if stat.S_ISDIR(mode):
        raise TokbenchError(f"{path}: a folder stands here; name a file")
    if stat.S_ISBLK(mode) or stat.S_ISSOCK(mode):
        raise TokbenchError(f"{path}: no file, but a {'disk' if stat.S_ISBLK(mode) else 'socket'}; name a file")
    if stat.S_ISCHR(mode) or stat.S_ISFIFO(mode) or is_descriptor(path):
        return None
    return Path(os.path.realpath(path))


def place_of_folder(path: Path | str) -> Path:
    """The folder that an output makes or replaces, links followed.

    Raises:
        TokbenchError: no folder stands there, but something else, or a file where a folder of its path should be.
    """
    mode = _mode(path)
    if mode and not stat.S_ISDIR(mode):
        raise TokbenchError(f"{path}: a file stands here; remove it, or name another folder")
    return Path(os.path.realpath(path))


def _mode(path: Path | str) -> int:
    """What stands at the end of a path's links; 0 for nothing."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return 0
    except NotADirectoryError:
        raise TokbenchError(f"{path}: one of its folders is a file; remove that, or name another output") from None


@contextmanager
def spool() -> Iterator[tuple[Path, Path]]:
    """A file to write to for what cannot be written at once, and the folder of temporary files that it is in.

    Libraries seek in what they write, and remove it when they fail: a device shall see neither.
    """
    with ended_by_sigterm(), tempfile.TemporaryDirectory(prefix="tokbench-") as folder:
        yield Path(folder) / "output", Path(folder).parent


def pour(source: Path, target: Path | str) -> None:
    """Hand bytes on to a device or an open descriptor, after what that has been given before."""
    with source.open("rb") as file, open(os.open(target, os.O_WRONLY | os.O_APPEND), "wb") as into:
        shutil.copyfileobj(file, into)
