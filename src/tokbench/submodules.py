"""The modules of a package, found without importing any."""

import os
import pkgutil
from collections.abc import Iterable


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
