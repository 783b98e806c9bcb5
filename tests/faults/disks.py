"""File systems made for a test: small ones, which fill up, and such that are read-only."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BLOCK = 1 << 16


@contextmanager
def disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A file system in memory, mounted on an empty folder as long as the block lasts."""
    folder.mkdir(exist_ok=True)
    _mount("-t", "tmpfs", "-o", f"size={megabytes}m", "tokbench", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """The folder, a file system of its own, takes no writes as long as the block lasts."""
    _mount("-o", "remount,ro", str(folder))
    try:
        yield
    finally:
        _mount("-o", "remount,rw", str(folder))


@contextmanager
def full(folder: Path) -> Iterator[None]:
    """Not a byte is free there as long as the block lasts."""
    ballast = folder / ".ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                os.write(file.fileno(), bytes(BLOCK))
        except OSError:
            pass
    try:
        yield
    finally:
        ballast.unlink()


def _mount(*arguments: str) -> None:
    try:
        done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    except OSError as error:
        pytest.skip(f"no file system can be mounted here ({error})")
    if done.returncode:
        pytest.skip(f"no file system can be mounted here ({done.stderr.strip()})")
