"""Run processes one at a time, and measure their time and peak memory.

Only the standard library is imported: a process starts as a copy of the one that starts it, whose memory would be part
of its peak.
"""

import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.speed.tasks import OURS, PACKAGES, Task

ROOT = Path(__file__).parents[2]
WORKER = ("-m", "benchmarks.speed.worker")
POOLS = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
ROUNDS, FEWER_ROUNDS, SLOW = 5, 3, 4.0
"""Rounds of each task, and of a library whose first process takes more than :data:`SLOW` seconds."""


@dataclass(frozen=True)
class Measured:
    """Time and memory of one or several processes, one after another.

    Attributes:
        wall: Seconds from start to end.
        processor: Processor time of all threads, in seconds.
        peak_mib: Peak resident memory of the largest process, in MiB.
        output: Standard output of the last process.
        error: Last line of standard error of a process that failed; empty if none failed.
        messages: Standard error of the last process.
    """

    wall: float
    processor: float
    peak_mib: float
    output: str
    error: str = ""
    messages: str = ""

    def results(self) -> list[dict[str, Any]]:
        """Return the lines of JSON that the process printed."""
        return [json.loads(line) for line in self.output.splitlines() if line.startswith("{")]


def run(commands: Sequence[Sequence[str]], threads: int, limit: float = 900) -> Measured:
    """Run commands one after another on the last ``threads`` processors, with thread pools of that size.

    Stop at the first command that fails or needs more than ``limit`` seconds.
    """
    environment = {**os.environ, **dict.fromkeys(POOLS, str(threads))}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
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
                    lines = messages.strip().splitlines()
                    error = lines[-1] if lines else f"status {process.returncode}"
                    break
    finally:
        if usual:
            os.sched_setaffinity(0, usual)
    return Measured(wall, processor, peak, output, error, messages)


def _pin(threads: int) -> set[int]:
    """Restrict this process and its children to the last ``threads`` processors; return the former set, if any."""
    if not hasattr(os, "sched_setaffinity"):
        return set()
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(usual)[-threads:])
    return usual


@dataclass
class Bench:
    """Interpreters, the folder of texts and tokenizers, and the rows of results.

    Attributes:
        folder: Folder that :mod:`benchmarks.speed.texts` wrote.
        peers: Interpreter that has the other libraries.
        rounds: Rounds of each task at most (default: 5).
        rows: One row for each measurement; seconds, bytes and MiB.
    """

    folder: Path
    peers: str
    rounds: int = ROUNDS
    rows: list[dict[str, Any]] = field(default_factory=list)

    def measure(self, task: Task) -> None:
        """Run Tokbench and its peers in turn, round after round, each round from another library on."""
        most = min(self.rounds, task.rounds)
        rounds = dict.fromkeys((OURS, *task.peers), most)
        for number in range(most):
            for peer in rotated(list(rounds), number):
                if number >= rounds[peer]:
                    continue
                result = self.run(task, peer, number)
                if number == 0 and peer != OURS and (result.wall > SLOW or result.error):
                    rounds[peer] = 1 if result.error else min(FEWER_ROUNDS, most)

    def run(self, task: Task, peer: str, number: int) -> Measured:
        """Run one library once and add its rows."""
        interpreter = sys.executable if peer == OURS else self.peers
        job = {**task.job(self.folder), "started": time.monotonic()}
        result = run([[interpreter, *WORKER, peer, task.kind, json.dumps(job)]], task.threads, task.limit)
        error = f"stopped after {task.limit:g} s" if result.error == "status -9" else result.error
        common = {
            **{name: getattr(task, name) for name in ("kind", "text", "tokenizer", "threads")},
            "peer": peer,
            "round": number,
            "peak_mib": result.peak_mib,
        }
        measured = result.results()
        for line in measured:
            self.rows.append({**common, "error": "", "ids": "", **line})
        if error:
            empty = {"measure": "", "seconds": None, "processor": None, "bytes": None, "tokens": None, "ids": ""}
            self.rows.append({**common, **empty, "error": error})
        shown = " ".join(f"{line['measure']} {line['seconds']:.4f} ({line['processor']:.4f})" for line in measured)
        name = f"{task.kind} {task.text} {task.tokenizer} {task.threads}"
        print(f"{name:28}{peer:12}{result.wall:7.2f} s {result.peak_mib:6.0f} MiB {shown} {error}", file=sys.stderr)
        return result

    def write(self, path: Path) -> None:
        """Write the rows as Parquet, numbers with six digits."""
        import polars as pl
        from polars import selectors

        table = pl.DataFrame(self.rows, infer_schema_length=None)
        table.with_columns(selectors.float().round_sig_figs(6)).write_parquet(path)


def rotated(peers: Sequence[str], number: int) -> Iterator[str]:
    """Yield the libraries from the one with an index on."""
    for place in range(len(peers)):
        yield peers[(place + number) % len(peers)]


def versions(peers: str) -> dict[str, str | None]:
    """Return the version of Tokbench and of each package; None if it is not installed."""
    installed: dict[str, str | None] = {}
    for interpreter, packages in ((sys.executable, (OURS,)), (peers, (*PACKAGES.values(), "numpy", "awkward"))):
        command = [interpreter, *WORKER, "--versions", *packages]
        installed |= json.loads(subprocess.run(command, check=True, capture_output=True, cwd=ROOT).stdout)
    return installed


def machine() -> dict[str, object]:
    """Return the processor, memory, system, Python version and day; not the machine's name."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = information.read_text().splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": f"{platform.system()} {platform.release().partition('-')[0]}",
        "python": platform.python_version(),
        "day": time.strftime("%Y-%m-%d", time.gmtime()),
    }
