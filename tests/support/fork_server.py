"""A server that imports the modules of some commands once and forks a child with a memory limit for each request.

``python -m tests.support.fork_server COMMAND ...`` reads one JSON request a line from standard input and writes one
JSON result a line to standard output: exit status and peak memory.
"""

import ctypes
import gc
import importlib
import json
import os
import resource
import select
import signal
import sys
from pathlib import Path
from typing import Any

from tests.support.imports import import_all

M_TOP_PAD, M_MMAP_THRESHOLD = -2, -3
PATIENCE = 60
"""Seconds after which a process counts as hung."""


def pages(name: str) -> int:
    """A size of this process in bytes: ``VmSize`` or ``VmPeak``."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1]) * 1024


def warm(commands: list[str]) -> None:
    """Import what the commands import, and let every array be a mapping of its own, so that limits bite at each."""
    from tokbench.construction import constructions
    from tokbench.metric import metrics
    from tokbench.pretokenization import schemes
    from tokbench.segmentation import segmentations

    for registry in (constructions, segmentations, schemes, metrics):
        registry.load()
    for name in commands:
        import_all(f"tokbench.commands.{name}")
    for name in ("pyarrow.parquet", "tokenizers"):
        importlib.import_module(name)
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 1 << 14)
    libc.mallopt(M_TOP_PAD, 0)
    gc.freeze()


def run(arguments: list[str], allowed: int | None, peak: int) -> None:
    """The command line, with so many bytes more than this process has."""
    from tokbench.commands.main import main

    size = pages("VmSize")
    if allowed is not None:
        resource.setrlimit(resource.RLIMIT_AS, (size + allowed, size + allowed))
    status = 0
    try:
        main(arguments)
    except SystemExit as end:
        status = int(end.code or 0)
    sys.stdout.flush()
    if allowed is None:
        os.write(peak, str(pages("VmPeak") - size).encode())
    os._exit(status)


def serve(request: dict[str, Any]) -> dict[str, Any]:
    """Run one request; status -9 is a process that was killed because it hung."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            for stream in (1, 2):
                os.dup2(os.open(request["streams"][stream - 1], os.O_CREAT | os.O_TRUNC | os.O_WRONLY), stream)
            run(request["arguments"], request["allowed"], writing)
        finally:
            os._exit(99)
    os.close(writing)
    watched = os.pidfd_open(child)
    if not select.select([watched], [], [], PATIENCE)[0]:
        os.kill(child, signal.SIGKILL)
    os.close(watched)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(reading) as told:
        return {"status": status, "peak": int(told.read() or 0)}


if __name__ == "__main__":
    warm(sys.argv[1:])
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)
