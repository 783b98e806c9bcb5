"""Processes that work on one thing: all end with the first that fails, and one line says why."""

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from tokbench.faults import OUR_OWN
from tokbench.imported import NOTE

LAUNCHED = "TOKBENCH_LAUNCHED"
"""Environment variable: set for processes whose launcher has put the checkpoints in order, and holds them."""
LAST_WORD = b"tokbench: "
"""How the line begins with which a command of ours fails."""
GONE = b"onnection "
"""In the line of a process that misses another: "Connection closed by peer", "connection reset"."""
LOOK = 0.1
"""Seconds between looks at the processes."""
SIGNALLED = 128
"""What a shell adds to the number of a signal for an exit status."""
DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of Linux's prctl."""


@dataclass(frozen=True)
class Process:
    """One process that is to be started.

    Attributes:
        rank: its number among all, on whatever machine.
        command: what it calls.
        environment: variables beside those of this process.
    """

    rank: int
    command: Sequence[str]
    environment: Mapping[str, str]


def run_together(processes: Sequence[Process], of: int) -> int:
    """Run processes side by side until all have ended well, or one has not.

    What the first of them says is passed on as it comes. Of the others nothing is, but for the last line of the one
    that failed first; where one fails, others often do because of it.

    Args:
        processes: those of this machine.
        of: how many there are on all machines.

    Returns:
        The exit status of the one that failed first, or 0.
    """
    with TemporaryDirectory(prefix="tokbench-processes-") as folder, ExitStack() as entered:
        before = signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(SIGNALLED + number))
        entered.callback(signal.signal, signal.SIGTERM, before)
        said = [Path(folder, str(process.rank)) for process in processes]
        files = [entered.enter_context(path.open("wb")) for path in said]
        running = [_start(process, file) for process, file in zip(processes, files, strict=True)]
        told = _Told(entered.enter_context(said[0].open("rb")))
        try:
            while (failed := _failed(running)) is None and any(one.poll() is None for one in running):
                time.sleep(LOOK)
                told.pass_on()
        finally:
            statuses = [one.poll() for one in running]
            for one in running:
                one.kill()
                one.wait()
        told.pass_on()
        if failed is None:
            return 0
        culprit = _first_failed(statuses, said)
        status = statuses[culprit] or 0
        line = _last_word(said[culprit]) or _how_it_ended(processes[culprit].rank, of, status)
        if len(processes) < of and status == OUR_OWN and GONE in line:
            line = b"tokbench: a process of another node is gone, and the training ends with it"
        sys.stderr.buffer.write(line + b"\n")
        sys.stderr.flush()
        return status if status > 0 else SIGNALLED - status


def dying_with_parent() -> None:
    """Have the process in which this is called end when the one that started it does, however that ends: on Linux."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGTERM)


class _Told:
    """Passes on what a process writes to a file, but for the line with which it fails."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def pass_on(self) -> None:
        """Complete lines that have been added."""
        for line in iter(self._file.readline, b""):
            if not line.endswith(b"\n"):
                self._file.seek(-len(line), os.SEEK_CUR)
                break
            if not line.startswith(LAST_WORD):
                sys.stderr.buffer.write(line)
        sys.stderr.flush()


def _start(process: Process, file: BinaryIO) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name != NOTE}
    return subprocess.Popen(
        process.command,
        env={**environment, **process.environment} | {"RANK": str(process.rank)},
        stdin=subprocess.DEVNULL,
        stdout=file,
        stderr=file,
        preexec_fn=dying_with_parent,
    )


def _failed(running: Sequence[subprocess.Popen[bytes]]) -> int | None:
    """One that has ended otherwise than well."""
    return next((place for place, one in enumerate(running) if one.poll()), None)


def _first_failed(statuses: Sequence[int | None], said: Sequence[Path]) -> int:
    """Which of those that failed did so first: one ended by a signal, which says nothing, or who said so first."""
    failed = [place for place, status in enumerate(statuses) if status]
    by_signal = [place for place in failed if (statuses[place] or 0) < 0]
    return by_signal[0] if by_signal else min(failed, key=lambda place: said[place].stat().st_mtime_ns)


def _last_word(said: Path) -> bytes | None:
    lines = [line for line in said.read_bytes().splitlines() if line.startswith(LAST_WORD)]
    return lines[-1] if lines else None


def _how_it_ended(rank: int, of: int, status: int) -> bytes:
    how = f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
    return f"tokbench: process {rank} of {of} {how}; the training ends with it".encode()
