"""Registration with ``transformers.AutoTokenizer``, put off until that is imported, and the file that it looks for.

Importing ``transformers`` takes seconds, and most of the command line never needs it.
"""

import importlib
import json
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

CONFIGURATION = "tokenizer_config.json"
"""File by which ``AutoTokenizer`` finds our class."""
CLASS = "TokbenchTokenizer"
END_OF_TEXT = "<|endoftext|>"
PADDING = "<|padding|>"

MODULE = "transformers.models.auto.tokenization_auto"
ADAPTER = "tokbench.adapters.transformers"


def register_when_imported() -> None:
    """Register our class now if ``AutoTokenizer`` is there already, else at the end of its import."""
    if MODULE in sys.modules:
        importlib.import_module(ADAPTER)
    elif not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def write_configuration(folder: Path) -> None:
    """Write the file by which ``AutoTokenizer`` finds our class."""
    configuration = {
        "tokenizer_class": CLASS,
        "eos_token": END_OF_TEXT,
        "bos_token": END_OF_TEXT,
        "pad_token": PADDING,
        "model_max_length": 10**9,
        "clean_up_tokenization_spaces": False,
    }
    (folder / CONFIGURATION).write_text(json.dumps(configuration, indent=2) + "\n", encoding="utf-8")


def names_another_class(folder: Path) -> bool:
    """Whether a folder has that file and it names another class than ours, or none."""
    try:
        configuration: Any = json.loads((folder / CONFIGURATION).read_text(encoding="utf-8"))
        return bool(configuration["tokenizer_class"] != CLASS)
    except FileNotFoundError:
        return False
    except (ValueError, TypeError, KeyError):
        return True


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
        importlib.import_module(ADAPTER)
