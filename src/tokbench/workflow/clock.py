"""Dates that lie in the future, because the clock was set back after they were written.

The workflow engine goes by dates: what is made now of a file from the future is older than that file, which it takes
for a fault, and would make it again in every run until that time has come.
"""

import os
import sys
import time
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

TOLERANCE = 2 * 10**9
"""Nanoseconds by which a file server's clock may be ahead of ours."""
TIMESTAMP = ".snakemake_timestamp"
"""File by which the engine dates a folder."""
STEP = 10**6
"""Nanoseconds between two dates that differ, which every file system can tell apart."""


def settle(folder: str, outputs: Iterable[str]) -> None:
    """Give outputs from the future dates of now, in the order that they had, and say so.

    Args:
        folder: of the experiment, for the message.
        outputs: files and folders, there or not.
    """
    now = time.time_ns()
    dated = [
        (found, path) for output in outputs for path in _datings(Path(output)) if (found := _date(path)) is not None
    ]
    future = sorted((found, path) for found, path in dated if found > now + TOLERANCE)
    times = [list(group) for _, group in groupby(future, key=lambda one: one[0])]
    for place, group in enumerate(times):
        for _, path in group:
            os.utime(path, ns=(now, now - (len(times) - place) * STEP))
    if future:
        print(
            f"tokbench: {folder}: {len(future):,} outputs bore dates of the future, as where a clock is set back; "
            "they are dated now",
            file=sys.stderr,
        )


def _datings(output: Path) -> tuple[Path, ...]:
    return (output, output / TIMESTAMP) if output.is_dir() else (output,)


def _date(path: Path) -> int | None:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return None
