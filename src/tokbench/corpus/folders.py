"""The files of a folder: those of one kind by their endings are read, the others are counted by the reason."""

import os
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from tokbench.errors import TokbenchError, listed
from tokbench.io.compression import Kind, has_kind, with_endings


@dataclass
class Folder:
    """What a folder contains.

    Attributes:
        files: files of the kind, sorted.
        endings: endings of files of other kinds, with their numbers.
        hidden: files and folders whose names begin with a dot, as ``.ipynb_checkpoints``.
        others: links to folders, links to nothing, pipes and other entries that are no files.
    """

    files: list[Path] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)
    hidden: int = 0
    others: int = 0

    def left_out(self) -> str:
        """Return what is left out, in words; empty where it is nothing."""
        found = []
        if number := self.endings.total():
            found.append(f"{number:,} with another ending ({listed(sorted(self.endings))})")
        if self.hidden:
            found.append(f"{self.hidden:,} hidden")
        if self.others:
            found.append(f"{self.others:,} that {'is no file' if self.others == 1 else 'are no files'}")
        return ", ".join(found)


def read_folder(folder: Path, kind: Kind) -> Folder:
    """Return the files of a folder and of all folders in it.

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
    """Return one line about what is left out of a folder; None where it is nothing."""
    if not (left_out := found.left_out()):
        return None
    number = found.endings.total() + found.hidden + found.others
    entries = "1 entry" if number == 1 else f"{number:,} entries"
    return f"{folder}: {entries} left out: {left_out}; files of type '{kind}' end in {with_endings(kind)}"
