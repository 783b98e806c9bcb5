"""Processes for tests: peak memory of commands, forked functions, and a server with memory limits.

``python -m tests.support.processes COMMAND ...`` is a server. It imports the modules of the commands once, and forks a
child with a memory limit for each request. It reads one JSON request per line from standard input, and writes one JSON
result per line to standard output: exit status and peak memory.

Also a greedy segmenter and small vocabularies for tests of metrics.
"""

import ctypes
import gc
import importlib
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.support.imports import import_all
from tokbench.commands.declaration import declarations
from tokbench.metric.measurement import Measurement
from tokbench.pretokens import PretokenCounts
from tokbench.runtime import memory_limit
from tokbench.vocabulary import BYTES, Vocabulary


@contextmanager
def new_process_memory() -> Iterator[None]:
    """Let commands that run in the process of the tests count the memory of a new process.

    Otherwise the memory of earlier tests counts towards the default limit of a command, which then rejects its work.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory_limit, "resident_bytes", lambda: NEW_PROCESS)
        yield


class Greedy:
    """Greedy longest match from the left, optionally with word-initial and word-internal tokens."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary

    def tokens(self, pretoken: bytes) -> list[int]:
        marks = self.vocabulary.continuation
        ids = []
        start = 0
        while start < len(pretoken):
            fitting = [
                (len(token), index)
                for index, token in enumerate(self.vocabulary.tokens)
                if pretoken.startswith(token, start) and (marks is None or bool(marks[index]) == (start > 0))
            ]
            width, index = max(fitting)
            ids.append(index)
            start += width
        return ids

    def segment(self, counts: PretokenCounts) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        pieces = [self.tokens(pretoken) for pretoken, _ in counts.items()]
        bounds = np.cumsum([0, *map(len, pieces)])
        return np.array([index for piece in pieces for index in piece], np.int32), bounds.astype(np.int64)


def vocabulary(*tokens: bytes) -> Vocabulary:
    return Vocabulary(BYTES + tuple(dict.fromkeys(tokens)))


def value(rows: list[Measurement], metric: str, *words: str) -> float | None:
    """Return the value of the single row of a metric whose definition contains all words; ``$`` is its end."""
    (row,) = [row for row in rows if row.metric == metric and all(word in f"{row.definition}$" for word in words)]
    assert (row.value is None) == (row.reason is not None)
    return row.value


TOKENS = st.lists(st.text("ab é", min_size=2, max_size=4).map(str.encode), max_size=6)
TEXT = st.lists(st.text("ab é\n", min_size=1, max_size=6).map(str.encode), min_size=1, max_size=12)


MEGABYTE = 1_000_000
NEW_PROCESS = 150 * MEGABYTE
"""Bytes of a new process after the imports of a command that reads text."""


def peak(*arguments: Any, files: int | None = None) -> int:
    """Return the peak resident memory of a command in bytes, as reported by its own process."""
    limits = [] if files is None else [f"resource.setrlimit(resource.RLIMIT_NOFILE, ({files}, {files}))"]
    lines = ["import resource, sys", *limits, "from tokbench.commands.main import main", "main(sys.argv[1:])"]
    code = "\n".join([*lines, "print(open('/proc/self/status').read())"])
    ended = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    found = re.search(r"VmHWM:\s+(\d+) kB", ended.stdout)
    assert found, ended.stdout
    return int(found[1]) * 1024


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


PATIENCE = 120
"""Timeout of a process in seconds."""


def start(work: Callable[[], object], told: Path) -> int:
    """Fork a process that does the work and writes its result to a file; return its id. Its status is 1 on failure.

    The parent must not have running threads, or the child may wait for them forever.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    if process := os.fork():
        return process
    status = 1
    try:
        for stream in (1, 2):
            os.dup2(os.open(told, os.O_CREAT | os.O_TRUNC | os.O_WRONLY), stream)
        sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
        work()
        status = 0
    except BaseException:
        told.write_text(traceback.format_exc())
    finally:
        os._exit(status)


def end(process: int) -> int:
    """Wait for a process, or kill it after a timeout; return its exit status."""
    watched = os.pidfd_open(process)
    if not select.select([watched], [], [], PATIENCE)[0]:
        os.kill(process, signal.SIGKILL)
    os.close(watched)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


M_TOP_PAD, M_MMAP_THRESHOLD = -2, -3
FORK_SERVER_PATIENCE = 60
"""Seconds after which a process counts as hung."""


def pages(name: str) -> int:
    """Return a size of this process in bytes: ``VmSize`` or ``VmPeak``."""
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(f"{name}:")]
    return int(line.split()[1]) * 1024


def warm(commands: list[str]) -> None:
    """Import the modules of the commands, and allocate each array by mmap, so that limits apply to each."""
    from tokbench.construction import constructions
    from tokbench.metric import metrics
    from tokbench.pretokenization import schemes
    from tokbench.segmentation import segmentations

    for registry in (constructions, segmentations, schemes, metrics):
        registry.load()
    for name in commands:
        import_all(f"tokbench.commands.{declarations()[name].module}")
    for name in ("pyarrow.parquet", "tokenizers"):
        importlib.import_module(name)
    libc = ctypes.CDLL(None)
    libc.mallopt(M_MMAP_THRESHOLD, 1 << 14)
    libc.mallopt(M_TOP_PAD, 0)
    gc.freeze()


def run(arguments: list[str], allowed: int | None, peak: int) -> None:
    """Run a command line with ``allowed`` bytes more than this process has."""
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
    """Run one request; status -9 means that the process was killed after the timeout."""
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
    if not select.select([watched], [], [], FORK_SERVER_PATIENCE)[0]:
        os.kill(child, signal.SIGKILL)
    os.close(watched)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with os.fdopen(reading) as told:
        return {"status": status, "peak": int(told.read() or 0)}


if __name__ == "__main__":
    warm(sys.argv[1:])
    for line in sys.stdin:
        print(json.dumps(serve(json.loads(line))), flush=True)
