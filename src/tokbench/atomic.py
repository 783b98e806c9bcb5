"""Outputs that appear whole or not at all: written beside their place, then renamed into it.

What a killed process leaves behind, ``.NAME.partial``, the next attempt at the same output replaces.
"""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tokbench.memory import removed_at_end


@contextmanager
def atomic_file(path: Path | str) -> Iterator[Path]:
    """Give a path to write to; rename it to ``path`` when the block ends well, remove it when it does not."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    try:
        with removed_at_end(partial):
            yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: Path | str) -> Iterator[Path]:
    """Give an empty folder to fill; it takes the place of ``path`` when the block ends well.

    An older folder at ``path`` stays until then.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir()
    try:
        with removed_at_end(partial):
            yield partial
        if path.is_dir():
            shutil.rmtree(path)
        os.replace(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
