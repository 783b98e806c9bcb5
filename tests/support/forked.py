"""``Popen`` for tests of launchers: forks a process that has imported the libraries already."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import BinaryIO

from tokbench.commands.main import main


class Forked:
    """A call of ``python -P -m tokbench``, its words behind the first four."""

    def __init__(
        self,
        command: Sequence[str],
        env: Mapping[str, str],
        stdin: int,
        stdout: BinaryIO,
        stderr: BinaryIO,
        preexec_fn: Callable[[], None],
    ) -> None:
        self._status: int | None = None
        self._pid = os.fork()
        if self._pid:
            return
        status: int | str | None = 1
        try:
            preexec_fn()
            os.dup2(stdout.fileno(), 1)
            os.dup2(stderr.fileno(), 2)
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
            os.environ.clear()
            os.environ.update(env)
            main(list(command[4:]))
            status = 0
        except SystemExit as ended:
            status = ended.code
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(int(status or 0))

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self) -> int | None:
        return self._ended(0)

    def kill(self) -> None:
        if self._status is None:
            os.kill(self._pid, signal.SIGKILL)

    def _ended(self, how: int) -> int | None:
        if self._status is None:
            pid, status = os.waitpid(self._pid, how)
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status
