"""Which files stand: each folder is listed once, which a network file system answers faster than a question a file."""

import os
from collections.abc import Callable


class Listing:
    """The files as they stand when their folders are first asked for.

    Args:
        place: where a folder lies, by the name that files are asked for with.
    """

    def __init__(self, place: Callable[[str], str] = str) -> None:
        self._place = place
        self._names: dict[str, frozenset[str]] = {}

    def exists(self, name: str) -> bool:
        """Whether a file or a folder stands."""
        folder, _, file = name.rpartition("/")
        if folder not in self._names:
            self._names[folder] = _names(self._place(folder))
        return file in self._names[folder]

    def changed(self, name: str) -> int | None:
        """When it last changed, in nanoseconds; None where there is none."""
        if not self.exists(name):
            return None
        folder, _, file = name.rpartition("/")
        try:
            return os.stat(os.path.join(self._place(folder), file)).st_mtime_ns
        except OSError:
            return None


def _names(folder: str) -> frozenset[str]:
    try:
        return frozenset(os.listdir(folder or "."))
    except OSError:
        return frozenset()
