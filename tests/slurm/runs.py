"""Runs of Snakemake that are under way while a test looks at them, and what SLURM says of their jobs."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 600.0
"""Seconds until a run that has not ended, or not come to a point, counts as one that never does."""


@dataclass(frozen=True)
class Run:
    """A run of Snakemake that is under way; what it prints goes to a file."""

    process: subprocess.Popen[bytes]
    terminal: Path

    def printed(self) -> str:
        return self.terminal.read_text()

    def until(self, reached: Callable[[], object]) -> None:
        """Wait until something holds."""
        end = time.monotonic() + PATIENCE
        while not reached():
            assert self.process.poll() is None, self.printed()
            assert time.monotonic() < end, self.printed()
            time.sleep(0.5)

    def identifier(self) -> str:
        """The name that its jobs have in SLURM."""
        found = re.search(r"SLURM run ID: (\S+)", self.printed())
        assert found, self.printed()
        return found.group(1)

    def ended(self, status: int) -> str:
        """What it printed, once it has ended."""
        assert self.process.wait(PATIENCE) == status, self.printed()
        return self.printed()


@contextmanager
def started(terminal: Path, *arguments: str, folder: Path = ROOT) -> Iterator[Run]:
    """A run that does not outlive the block."""
    command = [sys.executable, "-m", "snakemake", *arguments]
    with terminal.open("wb") as stream:
        process = subprocess.Popen(command, cwd=folder, stdout=stream, stderr=subprocess.STDOUT)
    try:
        yield Run(process, terminal)
    finally:
        process.kill()
        process.wait()


def said_by(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def job_of(rule: str) -> list[str]:
    """SLURM's numbers of a rule's jobs."""
    listed = (line.split() for line in said_by("squeue", "--noheader", "--format=%i %k").splitlines())
    return [number for number, comment in listed if comment == f"rule_{rule}"]
