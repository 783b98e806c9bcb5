"""What a process has imported, noted so that another can import it beforehand."""

import importlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from tokbench import lean

NOTE = "TOKBENCH_IMPORTED"
"""Environment variable: the file for the note."""


def note() -> None:
    """Write what this process has imported where it was asked to.

    The note only makes later starts faster. Where it cannot be written there is none.
    """
    if path := os.environ.get(NOTE):
        noted = {"modules": list(sys.modules), "absent": list(lean.ABSENT), "hollow": list(lean.HOLLOW)}
        partial = Path(f"{path}.{os.getpid()}")
        try:
            partial.write_text(json.dumps(noted | {"environment": dict(os.environ)}))
            partial.replace(path)
        except OSError:
            with suppress(OSError):
                partial.unlink()


def import_noted(modules: list[str], absent: list[str], hollow: list[str]) -> None:
    """Import modules in the order in which they were, packages taken for absent or hollow that were then.

    What cannot be imported is left out: some modules come and go while others are imported.
    """
    kept = frozenset(modules)
    with lean.lean_imports(*(tuple(name for name in names if name not in kept) for names in (absent, hollow))):
        for module in modules:
            with suppress(Exception):
                importlib.import_module(module)
