"""Files of a folder that have the right ending; the other entries are counted by reason."""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tokbench.errors import TokbenchError, listed
from tokbench.io.compression import Kind, has_kind, with_endings


@dataclass
class Folder:
    """Contents of a folder.

    Attributes:
        files: files with the right ending, sorted.
        endings: number of other files by ending.
        hidden: number of files and folders whose names begin with a dot, such as ``.ipynb_checkpoints``.
        others: number of links to folders, broken links, pipes and other entries that are not files.
    """

    files: list[Path] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)
    hidden: int = 0
    others: int = 0

    def left_out(self) -> str:
        """Return a description of the entries that are left out; empty if there are none."""
        found = []
        if number := self.endings.total():
            found.append(f"{number:,} with another ending ({listed(sorted(self.endings))})")
        if self.hidden:
            found.append(f"{self.hidden:,} hidden")
        if self.others:
            found.append(f"{self.others:,} that {'is no file' if self.others == 1 else 'are no files'}")
        return ", ".join(found)


def read_folder(folder: Path, kind: Kind) -> Folder:
    """List the files of a folder and its subfolders.

    Raises:
        TokbenchError: a folder in it cannot be read.
    """

    def reject(error: OSError) -> None:
        raise TokbenchError(f"{error.filename}: cannot be read ({error.strerror}); change its permissions, or move it")

    found = Folder()
    for place, folders, names in os.walk(folder, onerror=reject):
        for name in (*folders, *names):
            path = Path(place, name)
            if name.startswith("."):
                found.hidden += 1
            elif name in folders and not path.is_symlink():
                continue
            elif not path.is_file():
                found.others += 1
            elif has_kind(name, kind):
                found.files.append(path)
            else:
                found.endings[path.suffix or "none"] += 1
        folders[:] = [name for name in folders if not name.startswith(".")]
    found.files.sort()
    return found


def line_of(folder: str, kind: Kind, found: Folder) -> str | None:
    """Return one line about the entries of a folder that are left out; None if there are none."""
    if not (left_out := found.left_out()):
        return None
    number = found.endings.total() + found.hidden + found.others
    entries = "1 entry" if number == 1 else f"{number:,} entries"
    return f"{folder}: {entries} left out: {left_out}; files of type '{kind}' end in {with_endings(kind)}"
