"""Runner of tasks, alternating between Tokbench and peers in separate processes; records time and peak memory.

Only the standard library is imported until the last process has ended. A process starts as a copy of its parent, whose
memory would otherwise be the measured peak of smaller programs.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.speed.tasks import OURS, Contestant, Task

ROOT = Path(__file__).parents[2]
WORKER = ("-m", "benchmarks.speed.worker")
POOLS = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True)
class Measured:
    """Time and memory of a process, or of several in sequence.

    Attributes:
        wall: wall-clock time in seconds.
        processor: processor time of all threads, in seconds.
        peak_mib: peak resident memory of the largest process, in MiB.
        output: its standard output.
        messages: its standard error.
        error: last line of standard error if a process failed; else empty.
    """

    wall: float
    processor: float
    peak_mib: float
    output: str
    error: str = ""
    messages: str = ""

    def result(self) -> dict[str, Any]:
        """The JSON of the last line of output."""
        found: dict[str, Any] = json.loads(self.output.splitlines()[-1])
        return found


def run(commands: Sequence[Sequence[str]], threads: int, limit: float = 900) -> Measured:
    """Run commands in sequence on ``threads`` processors, with thread pools of that size.

    Stops at the first command that fails or exceeds ``limit`` seconds (default: 900).
    """
    environment = {**os.environ, **dict.fromkeys(POOLS, str(threads))}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    wall = processor = peak = 0.0
    output = error = messages = ""
    usual = _pin(threads)
    try:
        for command in commands:
            with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
                start = time.perf_counter()
                process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment)
                timer = threading.Timer(limit, process.kill)
                timer.start()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                timer.cancel()
                wall += time.perf_counter() - start
                processor += usage.ru_utime + usage.ru_stime
                peak = max(peak, usage.ru_maxrss / 1024)
                out.seek(0)
                err.seek(0)
                output, messages = out.read(), err.read()
                if process.returncode:
                    told = messages.strip().splitlines()
                    error = told[-1] if told else f"status {process.returncode}"
                    break
    finally:
        if usual:
            os.sched_setaffinity(0, usual)
    return Measured(wall, processor, peak, output, error, messages)


def _pin(threads: int) -> set[int]:
    """Restrict this process and its children to the first ``threads`` processors; return the previous set, if any."""
    if not hasattr(os, "sched_setaffinity"):
        return set()
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(usual)[:threads])
    return usual


MOST_ROUNDS, LEAST_ROUNDS = 5, 2
SECONDS_A_PEER = 12.0
"""Time in seconds per peer; there are fewer than :data:`MOST_ROUNDS` rounds if they would exceed it."""
PEERS = ("tokenizers", "sentencepiece", "tiktoken", "gigatoken", "rustbpe", "bpeasy", "tokie", "greedtok")


@dataclass
class Run:
    """A process: one row of ``runs.parquet``; times in seconds, memory in MiB.

    Attributes:
        measured: "function", or "command line" for Tokbench's commands.
        against: the peer that alternated with Tokbench, if any.
        error: reason for missing numbers; else empty.
    """

    section: str
    task: str
    title: str
    package: str
    way: str
    same_ids: bool
    measured: str
    size: int
    threads: int
    share: float
    round: int
    against: str
    work: float | None = None
    work_processor: float | None = None
    wall: float | None = None
    processor: float | None = None
    peak_mib: float | None = None
    tokens: int | None = None
    error: str = ""


class Bench:
    """Interpreters, scratch folder, installed versions, and the runs so far.

    Args:
        folder: output folder of ``prepare.py``.
        peers: interpreter of the peers, or None.
        most: maximum number of rounds.
    """

    def __init__(self, folder: Path, peers: str | None, most: int) -> None:
        self.folder, self.most = folder, most
        self.interpreter = {OURS: sys.executable, **dict.fromkeys(PEERS, peers or "")}
        self.versions = dict.fromkeys((OURS, *PEERS)) | versions(sys.executable, (OURS,))
        if peers:
            self.versions |= versions(peers, PEERS)
        self.runs: list[Run] = []

    def do(self, task: Task, contestant: Contestant, number: int, against: str = "", command: bool = False) -> Run:
        """Run one contestant once and record the result."""
        measured = "command line" if command else "function"
        done = Run(
            section=task.section,
            task=task.key,
            title=task.title,
            package=contestant.package,
            way=contestant.way,
            same_ids=contestant.same_ids,
            measured=measured,
            size=task.size,
            threads=task.threads,
            share=task.share,
            round=number,
            against=against,
        )
        self.runs.append(done)
        if self.versions.get(contestant.package) is None:
            done.error = "not installed"
            return done
        result = run(self._commands(task) if command else [self._worker(task, contestant)], task.threads)
        done.error = result.error
        done.wall, done.processor, done.peak_mib = result.wall, result.processor, result.peak_mib
        if not command and not result.error:
            found = result.result()
            done.work, done.work_processor, done.tokens = found["work"], found["work_processor"], found["tokens"]
        print(f"{task.key:24}{contestant.label:28}{measured:14}{_told(done, result)}", file=sys.stderr, flush=True)
        return done

    def _worker(self, task: Task, contestant: Contestant) -> list[str]:
        module = "ours" if contestant.package == OURS else f"peers.{contestant.package}"
        settings = json.dumps(task.settings(str(self.folder)))
        return [self.interpreter[contestant.package], *WORKER, module, contestant.function, settings]

    def _commands(self, task: Task) -> list[list[str]]:
        names = {**task.settings(str(self.folder)), "scratch": self.folder / "scratch"}
        names["text"] = self.folder / f"text_{task.share:g}.txt"
        (self.folder / "scratch.npy").unlink(missing_ok=True)  # Existing ids are not overwritten.
        commands = (command.format(**names).split() for command in task.command)
        return [[str(Path(sys.executable).with_name(OURS)), *command] for command in commands]

    def against_peers(self, task: Task) -> None:
        """Alternate Tokbench and each peer for several rounds, then run Tokbench's command line."""
        ours = Contestant(OURS, task.ours)
        for peer in task.peers:
            rounds = self.most
            number = 0
            while number < rounds:
                pair = (ours, peer) if number % 2 == 0 else (peer, ours)
                first, second = (self.do(task, one, number, peer.label) for one in pair)
                theirs = first if first.package != OURS else second
                if theirs.error:
                    break
                if task.command:
                    self.do(task, ours, number, peer.label, command=True)
                number += 1
                rounds = min(self.most, max(LEAST_ROUNDS, int(SECONDS_A_PEER / (theirs.wall or 1))))

    def write(self, path: Path) -> None:
        """Write all runs as Parquet, with numbers rounded to six digits."""
        import polars as pl
        from polars import selectors

        path.parent.mkdir(parents=True, exist_ok=True)
        table = pl.DataFrame([asdict(done) for done in self.runs], infer_schema_length=None)
        table.with_columns(selectors.float().round_sig_figs(6)).write_parquet(path)

    def alone(self, task: Task) -> None:
        for number in range(self.most):
            if self.do(task, Contestant(OURS, task.ours), number).error:
                break


def _told(done: Run, result: Measured) -> str:
    if done.error:
        return done.error[:100]
    work = "" if done.work is None else f"work {done.work:8.3f} s  "
    return f"{work}whole {result.wall:8.3f} s {result.peak_mib:7.0f} MiB"


def versions(interpreter: str, packages: tuple[str, ...]) -> dict[str, str | None]:
    asked = [interpreter, *WORKER, "--versions", *packages]
    found: dict[str, str | None] = json.loads(subprocess.run(asked, check=True, capture_output=True, cwd=ROOT).stdout)
    return found
