"""Files of a folder that have the right ending; the other entries are counted by reason."""

import os
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tokbench.errors import TokbenchError, listed
from tokbench.io.compression import has_ending


@dataclass
class Folder:
    """Contents of a folder.

    Attributes:
        files: files with the right ending, sorted.
        endings: number of other files by ending.
        other_data: number of files with the right ending that are not part of the data, such as caches.
        hidden: number of files and folders whose names begin with a dot, such as ``.ipynb_checkpoints``.
        other_entries: number of links to folders, broken links, pipes and other entries that are not files.
    """

    files: list[Path] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)
    other_data: int = 0
    hidden: int = 0
    other_entries: int = 0

    def left_out(self) -> str:
        """Return a description of the entries that are left out; empty if there are none."""
        parts = []
        if number := self.endings.total():
            parts.append(f"{number:,} with another ending ({listed(sorted(self.endings))})")
        if self.other_data:
            parts.append(f"{self.other_data:,} not part of the data set")
        if self.hidden:
            parts.append(f"{self.hidden:,} hidden")
        if self.other_entries:
            parts.append(f"{self.other_entries:,} that {'is no file' if self.other_entries == 1 else 'are no files'}")
        return ", ".join(parts)


def read_folder(folder: Path, endings: tuple[str, ...], belongs: Callable[[Path], bool] | None = None) -> Folder:
    """List the files of a folder and its subfolders.

    Args:
        folder: the folder.
        endings: the right endings, see :func:`~tokbench.io.compression.has_ending`.
        belongs: function that returns whether a file with the right ending is data (default: every one is).

    Raises:
        TokbenchError: a folder in it cannot be read.
    """

    def reject(error: OSError) -> None:
        raise TokbenchError(f"{error.filename}: cannot be read ({error.strerror}); change its permissions, or move it")

    content = Folder()
    for place, folders, names in os.walk(folder, onerror=reject):
        for name in (*folders, *names):
            path = Path(place, name)
            if name.startswith("."):
                content.hidden += 1
            elif name in folders and not path.is_symlink():
                continue
            elif not path.is_file():
                content.other_entries += 1
            elif has_ending(name, endings):
                if belongs is None or belongs(path):
                    content.files.append(path)
                else:
                    content.other_data += 1
            else:
                content.endings[path.suffix or "none"] += 1
        folders[:] = [name for name in folders if not name.startswith(".")]
    content.files.sort()
    return content


def line_of(folder: str, kind: str, endings: tuple[str, ...], content: Folder) -> str | None:
    """Return one line about the entries of a folder that are left out; None if there are none.

    Args:
        folder: the folder, as the user named it.
        kind: type of the source.
        endings: the endings of its files.
        content: contents of the folder.
    """
    if not (left_out := content.left_out()):
        return None
    number = content.endings.total() + content.other_data + content.hidden + content.other_entries
    entries = "1 entry" if number == 1 else f"{number:,} entries"
    return f"{folder}: {entries} left out: {left_out}; files of type '{kind}' end in {', '.join(endings)}"
