"""Discovery of the modules of a package, and of entry points of other distributions, without imports."""

import os
import pkgutil
import sys
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def submodules(folders: Iterable[str], inner: bool = False) -> list[str]:
    """Return the names of the modules in a package's folders, in alphabetical order.

    Args:
        folders: folders of the package.
        inner: True for the modules of inner packages, too, as ``package.module`` (default: False).

    Raises:
        OSError: a folder cannot be listed, for example for lack of memory or file descriptors. ``pkgutil`` treats such
            a folder as empty.
    """
    names: list[str] = []
    for place in folders:
        modules = list(pkgutil.iter_modules([place]))
        if not modules:
            os.listdir(place)
        for module in modules:
            names.append(module.name)
            if inner and module.ispkg:
                names += [f"{module.name}.{name}" for name in submodules([os.path.join(place, module.name)], inner)]
    return names


def entry_points_of(group: str) -> "list[EntryPoint]":
    """Return the entry points of other distributions in a Tokbench group, sorted by name.

    The entry points of all groups are cached together, because a search for one group takes as long as for all.
    """
    return _every_group(tuple(sys.path)).get(group, [])


@cache
def _every_group(path: tuple[str, ...]) -> "dict[str, list[EntryPoint]]":
    from importlib.metadata import entry_points

    points = entry_points()
    ours = [group for group in points.groups if group.startswith("tokbench.")]
    return {group: sorted(points.select(group=group), key=lambda entry: entry.name) for group in ours}
