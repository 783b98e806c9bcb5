"""Registration of Tokbench's tokenizer class with ``transformers.AutoTokenizer``, deferred until that is imported.

Importing ``transformers`` needs seconds, and most commands never use it. This module is imported with the package, so
it imports almost nothing. Its finder and loader implement the methods of the import system without a base class.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

MODULE = "transformers.models.auto.tokenization_auto"
ADAPTER = "tokbench.adapters.transformers"


def register_when_imported() -> None:
    """Register the class now if ``AutoTokenizer`` is already imported, otherwise at the end of its import."""
    if MODULE in sys.modules:
        importlib.import_module(ADAPTER)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder:
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
        return spec


class _Loader:
    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        importlib.import_module(ADAPTER)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)
