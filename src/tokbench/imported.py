"""What a process has imported, noted so that another can import it beforehand."""

import importlib
import json
import os
import sys
from contextlib import suppress
from pathlib import Path

NOTE = "TOKBENCH_IMPORTED"
"""Environment variable: the file for the note."""


def note() -> None:
    """Write what this process has imported where it was asked to.

    The note only makes later starts faster. Where it cannot be written there is none.
    """
    if path := os.environ.get(NOTE):
        noted = {"modules": list(sys.modules)}
        partial = Path(f"{path}.{os.getpid()}")
        try:
            partial.write_text(json.dumps(noted | {"environment": dict(os.environ)}))
            partial.replace(path)
        except OSError:
            with suppress(OSError):
                partial.unlink()


def import_noted(modules: list[str]) -> None:
    """Import modules in the order in which they were imported; those that cannot be are skipped."""
    for module in modules:
        with suppress(Exception):
            importlib.import_module(module)
