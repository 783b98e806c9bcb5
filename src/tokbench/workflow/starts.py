"""How a job of the workflow starts: by its shell, or as a fork of an interpreter that has the command's modules.

The first job of a command starts as any process does, and leaves the names of the modules that it imported. From then
on a :mod:`~tokbench.workflow.fork_server` has them, and jobs are its forks. What a job writes is the same either way.

A shell command is forked where it is nothing but a call of ``tokbench`` that writes a log: words, quoted or not, and
stars. All else is the shell's.
"""

import glob
import json
import os
import re
import signal
import subprocess
import sys
from functools import cached_property
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.reduction import send_handle
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from types import ModuleType, SimpleNamespace
from typing import Any

from tokbench.imported import NOTE

WORD = re.compile(r"""(?:'[^']*'|"[^"$`\\]*"|[\w@%+=:,./*-])+""", re.ASCII)
"""A word of a shell that stands for itself, but for stars outside quotes: what ``shlex.quote`` writes, and paths."""
PART = re.compile(r"""'([^']*)'|"([^"]*)"|([^'"]+)""")
CALL = re.compile(rf"tokbench +((?:{WORD.pattern} +)+)&> +({WORD.pattern})", re.ASCII)
SERVER = "tokbench.workflow.fork_server"
DEVICES = ("nvidia0", "kfd")
"""Devices whose drivers do not outlive a fork."""
READ_ON_IMPORT = frozenset({"--hub-cache", "fetch", "fetch_pairs", "fetch_tasks"})
"""Arguments after which libraries learn, while they are imported, where files of the hub are kept."""


def understood(call: str) -> tuple[list[str], str] | None:
    """Arguments and log of a shell's call of ``tokbench``; None where it is more than that."""
    found = CALL.fullmatch(call.strip())
    if found is None:
        return None
    arguments = [argument for word in WORD.findall(found[1]) for argument in _expanded(word)]
    logs = _expanded(found[2])
    return (arguments, logs[0]) if len(logs) == 1 else None


def _expanded(word: str) -> list[str]:
    """What a shell makes of a word: quotes are taken off, stars outside them are files in order, or stay."""
    parts = [(quoted or double, bare) for quoted, double, bare in PART.findall(word)]
    plain = "".join(inside + bare for inside, bare in parts)
    if not any("*" in bare for _, bare in parts):
        return [plain]
    return sorted(glob.glob("".join(glob.escape(inside) + bare for inside, bare in parts))) or [plain]


class Fork:
    """A job that a fork server runs, as ``subprocess.Popen`` would show it."""

    stdout = None

    def __init__(self, pipe: int, pid: int) -> None:
        self.pid = pid
        self._pipe = pipe

    def wait(self) -> int:
        """The exit status, negative for a signal; that of a kill where nobody is left to tell."""
        with os.fdopen(self._pipe) as told:
            return int(told.readline() or -signal.SIGKILL)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def terminate(self) -> None:
        os.kill(self.pid, signal.SIGTERM)


class Server:
    """The fork server of one command; it ends with the process that started it."""

    def __init__(self, imported: dict[str, list[str]], environment: dict[str, str]) -> None:
        ours, theirs = Pipe()
        command = [sys.executable, "-P", "-m", SERVER, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
            )
        self._connection: Connection = ours
        self._lock = Lock()
        ours.send(imported)

    def start(self, arguments: list[str], environment: dict[str, str], log: str) -> Fork | None:
        """A job's process; None where the server is gone, or may not be forked."""
        told, pipe = os.pipe()
        try:
            with self._lock:
                self._connection.send((arguments, environment, log))
                send_handle(self._connection, pipe, self._process.pid)
        except OSError:
            os.close(told)
            return None
        finally:
            os.close(pipe)
        pid = _line(told)
        if not pid:
            os.close(told)
            return None
        return Fork(told, int(pid))


def _line(pipe: int) -> bytes:
    """A line of a pipe, byte by byte, so that none of the next is taken; empty at its end."""
    line = b""
    while not line.endswith(b"\n"):
        byte = os.read(pipe, 1)
        if not byte:
            return b""
        line += byte
    return line


class Starts:
    """Starts jobs; one for each process that hands them out.

    Args:
        prefix: what stands before the call in every shell command.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        self._servers: dict[str, Server | None] = {}
        self._lock = Lock()

    @cached_property
    def _notes(self) -> "TemporaryDirectory[str] | None":
        """Where processes leave what they imported, made with the first job: most plans start none.

        None where no folder can be made: every job then starts by the shell."""
        try:
            return TemporaryDirectory(prefix="tokbench-starts-")
        except OSError:
            return None

    def popen(self, command: str, env: dict[str, str], **others: Any) -> Any:
        """A process for a shell command, with what ``subprocess.Popen`` shows of one."""
        call = understood(command.removeprefix(self._prefix)) if command.startswith(self._prefix) else None
        if call is None or READ_ON_IMPORT.intersection(call[0]):
            return subprocess.Popen(command, env=env, **others)
        arguments, log = call
        with self._lock:
            notes = self._notes
        if notes is None:
            return subprocess.Popen(command, env=env, **others)
        note = Path(notes.name) / f"{arguments[0]}-{env.get('OMP_NUM_THREADS')}"
        server = self._server(note)
        fork = server.start(arguments, env, log) if server else None
        return fork or subprocess.Popen(command, env={**env, NOTE: str(note)}, **others)

    def _server(self, note: Path) -> Server | None:
        """That of a command; None before its first job has ended, and where a device forbids it."""
        with self._lock:
            if note.name not in self._servers and note.exists():
                imported = json.loads(note.read_text())
                environment = imported.pop("environment")
                self._servers[note.name] = Server(imported, environment) if _outlives(imported["modules"]) else None
            return self._servers.get(note.name)


def _outlives(modules: list[str]) -> bool:
    """Whether what was imported outlives a fork."""
    return "torch" not in modules or not any(Path("/dev", name).exists() for name in DEVICES)


def fork_jobs(shell: ModuleType) -> None:
    """Have Snakemake's module for shell commands start them so, with the prefix that it has."""
    if Path("/proc/self/task").exists():
        starts = Starts(shell.shell._process_prefix).popen
        shell.sp = SimpleNamespace(**vars(subprocess) | {"Popen": starts})  # type: ignore[attr-defined]
