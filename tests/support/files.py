"""Helpers for tests of output folders: contents, rejections, a full disk, a forked process."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_folder


def fill(folder: Path, text: str = "new", kind: Any = "tables") -> None:
    with atomic_folder(folder, kind) as partial:
        (partial / "within").mkdir()
        (partial / "a.csv").write_text(text)
        (partial / "within" / "b.csv").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def told(block: Callable[[], Any]) -> str:
    """Return the message of the error that a call raises."""
    with pytest.raises(TokbenchError) as rejection:
        block()
    return str(rejection.value)


def in_a_fork(action: Callable[[], None]) -> int:
    """Run a function in a forked process and return its exit status."""
    if (process := os.fork()) == 0:
        try:
            action()
            os._exit(0)
        except SystemExit as end:
            os._exit(int(end.code or 0))
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@contextmanager
def small_files() -> Iterator[None]:
    """Limit file sizes to 64 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
