"""Folders of the user's cache, ``$XDG_CACHE_HOME/tokbench`` or ``~/.cache/tokbench``.

What they have can be made again, so they may be deleted at any time. Without a folder that can be written, everything
is made again.
"""

import os
import shutil
from pathlib import Path


def user_cache(name: str) -> Path | None:
    """Return a folder of the cache, which may not exist; None if the user has no home."""
    place = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(place):  # As its standard says.
        place = os.path.expanduser("~/.cache")
    return Path(place, "tokbench", name) if os.path.isabs(place) else None


def remove_oldest(folder: Path, most: int) -> None:
    """Delete files and folders of a cache except the last ones.

    Args:
        folder: folder of the cache.
        most: number of entries that stay.
    """
    kept = sorted(folder.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in kept[most:]:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
