"""An experiment in a checkout of its own: run, killed, damaged and run again, and its remaining files.

File systems made for a test: small ones, which fill up, and such that are read-only.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile

import polars as pl
import psutil
import pytest
import yaml

from tests.support.workflow.checkout import ROOT, Checkout, environment_of
from tokbench.io.json import read_result
from tokbench.workflow.job_states import Plan, read_plan

PATIENCE = 1200.0
"""Seconds until a run that has not ended, or not come to a point, counts as one that never does."""
UNTOLD = ("manifest.json", "jobs.json", "run.html", ".lock", ".snakemake_timestamp", ".tokbench.json")
"""Files that tell the time, or of one run."""
BESIDE = ("logs", "benchmarks", "checkpoints", "packed", "pretokens")
"""Folders of what is no result."""

by_itself = pytest.mark.skipif("TOKBENCH_FAULTS" not in os.environ, reason="make test-faults runs it")


@dataclass(frozen=True)
class Run:
    """A run of Snakemake that is under way; what it prints goes to a file."""

    process: subprocess.Popen[bytes]
    terminal: Path
    began: float

    def printed(self) -> str:
        return self.terminal.read_text(errors="replace")

    def until(self, reached: Callable[[], object]) -> bool:
        """Wait until something holds, True, or the run ends, False."""
        end = time.monotonic() + PATIENCE
        while not reached():
            if self.process.poll() is not None:
                return False
            assert time.monotonic() < end, self.printed()
            time.sleep(0.01)
        return True

    def at_work(self, results: Path, *stages: str) -> bool:
        """Return whether one of these stages has begun a job in this run."""
        logs = (log for stage in stages for log in _logs(results / "logs", stage))
        return any(log.stat().st_mtime >= self.began for log in logs)

    def sleep(self, seconds: float) -> None:
        """Wait, no longer than the run takes."""
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def ended(self, status: int = 0) -> str:
        """Return its output after its end."""
        assert self.process.wait(PATIENCE) == status, self.printed()
        return self.printed()

    def kill(self, alone: bool = False) -> None:
        """Kill it with the signal that nothing can catch, and all that it started, or only itself."""
        jobs = [] if alone else psutil.Process(self.process.pid).children(recursive=True)
        os.kill(self.process.pid, signal.SIGKILL)
        for job in jobs:
            if job.is_running():
                job.kill()
        self.process.wait()


class Trial:
    """An experiment and what lies around it.

    Args:
        folder: where its checkout is, or will be.
        configuration: its configuration, copied there; what the workflow takes by default if left out.
        run: arguments of Snakemake for all runs.

    Attributes:
        told: how often the end of each job was told by runs that came to theirs.
    """

    def __init__(self, folder: Path, configuration: Path | None = None, run: Sequence[str] = ("--cores", "2")) -> None:
        if not (folder / "Snakefile").exists():
            folder.mkdir(exist_ok=True)
            Checkout(folder)
            shutil.copy(configuration or ROOT / "config.yaml", folder / "config.yaml")
        self.folder = folder
        self.name = str(yaml.safe_load((folder / "config.yaml").read_text())["name"])
        self.arguments = run
        self.told: Counter[str] = Counter()

    def copied(self, folder: Path) -> "Trial":
        """A copy of everything, times of change included."""
        shutil.copytree(self.folder, folder, symlinks=True, dirs_exist_ok=True)
        return Trial(folder, run=self.arguments)

    @property
    def results(self) -> Path:
        return self.folder / "results" / self.name

    def start(self, *arguments: str) -> Run:
        """Start a run, after the locks of one that was killed are removed.

        What it prints goes to a file outside the checkout, which may be full or read-only.
        """
        for lock in self.folder.glob(".snakemake/locks/*.lock"):
            lock.unlink()
        with NamedTemporaryFile(prefix="terminal", delete=False) as stream:
            process = subprocess.Popen(
                [sys.executable, "-m", "snakemake", *self.arguments, *arguments],
                cwd=self.folder,
                env=environment_of(self.folder),
                start_new_session=True,
                stdout=stream,
                stderr=subprocess.STDOUT,
            )
        return Run(process, Path(stream.name), time.time())

    def run(self, *arguments: str, status: int = 0) -> str:
        """Return the output of a run after its end."""
        printed = self.start(*arguments).ended(status)
        self.told += done(printed)
        return printed

    def contents(self) -> dict[str, bytes]:
        """All results that stay and do not tell the time, by their paths below the experiment's folder."""
        files = (file for file in sorted(self.results.rglob("*")) if file.is_file() and file.name not in UNTOLD)
        named = ((file, file.relative_to(self.results)) for file in files)
        return {
            str(name): content(file)
            for file, name in named
            if name.parts[0] not in BESIDE and not any(part.startswith(".") for part in name.parts)
        }

    def plan(self) -> Plan:
        """Every job of the latest run."""
        return read_plan(self.results)


def _logs(folder: Path, stage: str) -> list[Path]:
    """The logs of a stage's jobs; a stage of one job has a single one."""
    return [log for log in (folder / f"{stage}.log", *(folder / stage).rglob("*.log")) if log.exists()]


def content(file: Path) -> bytes:
    """Return the content of a file, without the seconds of training curves, evaluations and counting."""
    if file.name == "curve.csv":
        return pl.read_csv(file).drop("seconds", strict=False).write_csv().encode()
    if "downstream" in file.parts and file.suffix == ".json":
        result = read_result(file, "")
        result["manifest"].pop("seconds")
        return json.dumps(result).encode()
    if "speeds" in file.parts:
        counted = read_result(file, "")
        counted.pop("seconds", None)
        return json.dumps(counted).encode()
    if file.name == "report.html":
        return re.sub(rb'<td class="number timed".*?</td>', b"", file.read_bytes())
    return file.read_bytes()


def differing(one: dict[str, bytes], other: dict[str, bytes]) -> list[str]:
    """Names of files that only one has, or that hold other bytes."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def done(printed: str) -> Counter[str]:
    """The jobs whose end was told, by their messages."""
    return Counter(re.findall(r"^\d\d:\d\d:\d\d  done   (.*) \(\d+ s; \d+ of \d+\)$", printed, re.MULTILINE))


def stages(trial: Trial) -> list[str]:
    """The stages of an experiment that ran, those that others lead to last."""
    return list(dict.fromkeys(job.stage for job in trial.plan().jobs))


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
