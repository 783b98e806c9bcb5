"""Large libraries, imported without what nothing here calls: half the start of a process that trains or tests a model.

Libraries of language models import clients of tracking services, plotters and other learners as soon as these are
installed, at some seconds of processor time in every process.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

OPTIONAL = ("boto3", "peft", "sklearn")
"""Packages that transformers, accelerate and Composer do without where they are not installed."""
VISION = ("PIL", "torchvision")
"""Packages of models that see; transformers does without them, Composer does not."""
ABSENT: dict[str, None] = {}
"""Packages that some import of this process took to be absent."""
HOLLOW: dict[str, None] = {}
"""Those in whose place some import found an empty one."""


@contextmanager
def lean_imports(absent: tuple[str, ...] = OPTIONAL, hollow: tuple[str, ...] = ()) -> Iterator[None]:
    """What is imported in this block takes some packages to be absent, and finds nothing in some others.

    After the block all can be imported as ever. Packages that this process has imported before stay as they are, and
    so do those that transformers may have found: it looks for them once, when it is imported, and believes it for good.

    Args:
        absent: packages that seem not to be installed; their importers must allow for that.
        hollow: packages and modules in whose place stands an empty one, for importers that insist; each name taken
            from it, and from that, is an empty class.
    """
    looked = "transformers" in sys.modules
    missing = [name for name in absent if name not in sys.modules and (name in ABSENT or not looked)]
    finder = _Hollow(tuple(name for name in hollow if name not in sys.modules))
    ABSENT.update(dict.fromkeys(missing))
    HOLLOW.update(dict.fromkeys(hollow))
    sys.modules.update(dict.fromkeys(missing))  # type: ignore[arg-type]  # None: the import system's "not there".
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [*missing, *(name for name in sys.modules if finder.covers(name))]:
            sys.modules.pop(name, None)


class _Hollow(MetaPathFinder, Loader):
    """Finds an empty module under each of the names, and below it."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def covers(self, name: str) -> bool:
        return any(name == top or name.startswith(f"{top}.") for top in self._names)

    def find_spec(self, fullname: str, path: Any = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if self.covers(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is in it."""


class _Empty(ModuleType):
    def __getattr__(self, name: str) -> "_Name":
        return _named(name)


class _Name(type):
    def __getattr__(cls, name: str) -> "_Name":
        return _named(name)


def _named(name: str) -> _Name:
    """An empty class of that name; what Python itself looks for is not there."""
    if name.startswith("__"):
        raise AttributeError(name)
    return _Name(name, (), {})
