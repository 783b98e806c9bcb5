"""The modules of a package, and those that other distributions name for it, found without importing any."""

import os
import pkgutil
import sys
from collections.abc import Iterable
from functools import cache
from importlib.metadata import EntryPoint, entry_points


def submodules(folders: Iterable[str]) -> list[str]:
    """Names of the modules that lie in a package's folders, in alphabetical order.

    Raises:
        OSError: a folder cannot be listed, for want of memory or of file descriptors, say. ``pkgutil`` takes such a one
            for empty, and its methods would be told to be none.
    """
    places = list(folders)
    names = [one.name for one in pkgutil.iter_modules(places)]
    if not names:
        for place in places:
            os.listdir(place)
    return names


def entry_points_of(group: str) -> list[EntryPoint]:
    """What other distributions name in a group of entry points of ours, by name.

    All distributions are looked through once for every group, as that takes as long as for one.
    """
    return _every_group(tuple(sys.path)).get(group, [])


@cache
def _every_group(path: tuple[str, ...]) -> dict[str, list[EntryPoint]]:
    found = entry_points()
    ours = [group for group in found.groups if group.startswith("tokbench.")]
    return {group: sorted(found.select(group=group), key=lambda entry: entry.name) for group in ours}
