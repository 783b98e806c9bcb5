"""Registration with ``transformers.AutoTokenizer``, put off until that is imported.

Importing ``transformers`` takes seconds, and most of the command line never needs it.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

MODULE = "transformers.models.auto.tokenization_auto"
FACE = "tokbench.hugging_face"


def register_when_imported() -> None:
    """Register our class now if ``AutoTokenizer`` is there already, else at the end of its import."""
    if MODULE in sys.modules:
        importlib.import_module(FACE)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, loader: Loader) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        importlib.import_module(FACE)
