"""Run commands one at a time, each in a process of its own, and take its time and its greatest memory.

Only the standard library is imported: a process starts as a copy of the one that starts it, so that what that one holds
would count as the peak of everything leaner.
"""

import json
import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

POOLS = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")


@dataclass(frozen=True)
class Measured:
    """What a process, or several one after another, took.

    Attributes:
        wall: seconds from start to end.
        processor: processor time of all threads, in seconds.
        peak_mib: greatest resident memory, of the largest of the processes.
        output: what it wrote to standard output.
        messages: what it wrote to standard error.
        error: last line of standard error of a process that failed; empty where all went well.
    """

    wall: float
    processor: float
    peak_mib: float
    output: str
    error: str = ""
    messages: str = ""

    def result(self) -> dict[str, Any]:
        """The JSON of the last line."""
        found: dict[str, Any] = json.loads(self.output.splitlines()[-1])
        return found


def run(commands: Sequence[Sequence[str]], threads: int, limit: float = 900) -> Measured:
    """Run commands one after another on as many processors as ``threads``, with thread pools of that size.

    Stops at the first that fails or that takes more than ``limit`` seconds.
    """
    environment = {**os.environ, **dict.fromkeys(POOLS, str(threads))}
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
    """Let this process, and so those it starts, run on the first ``threads`` processors; the former set, if any."""
    if not hasattr(os, "sched_setaffinity"):
        return set()
    usual = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(usual)[:threads])
    return usual
