"""One command's interpreter, its modules imported, forked for every job: ``python -m tokbench.workflow.fork_server``.

Most of a small job is the start of Python and of libraries. This process imports them once; each job is a fork of it,
and ends as any interpreter does. It is the child of the process that hands out jobs, listens on the connection whose
descriptor is its argument, and ends with it.
"""

import gc
import os
import select
import signal
import sys
from multiprocessing.connection import Connection
from multiprocessing.reduction import recv_handle
from pathlib import Path

from tokbench.imported import import_noted

THREADS = Path("/proc/self/task")
"""Where Linux lists the threads of a process. A fork takes only one along, whatever locks the others hold."""
HARMLESS = ("jemalloc_bg_thd\n", "polars-ooc-clea\n")
"""Names of threads that no fork misses: that of Arrow's allocator, which sees to forks itself, and that of polars which
waits for data that were spilled to disk: no job has so many, and a fork that spilled would leave them behind."""


def may_be_forked() -> bool:
    """Whether no thread but this one could hold a lock."""
    others = [thread for thread in THREADS.iterdir() if int(thread.name) != os.getpid()]
    return all((thread / "comm").read_text() in HARMLESS for thread in others)


def serve(connection: Connection) -> list[str]:
    """Fork for every job that is asked for; return in the fork, with the job's arguments.

    A job is its arguments, environment and log, and a pipe, which is told the number of its process and at the end its
    status.

    Raises:
        SystemExit: nobody asks any more, or the process may not be forked.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    import_noted(**connection.recv())
    gc.collect()
    gc.freeze()
    if not may_be_forked():
        sys.exit()
    while True:
        try:
            arguments, environment, log = connection.recv()
            pipe = recv_handle(connection)
        except (EOFError, ConnectionError):
            sys.exit()
        if not os.fork():
            connection.close()
            if not _kept(pipe):
                return _become(arguments, environment, log)
        os.close(pipe)


def _kept(pipe: int) -> bool:
    """Fork once more. The parent, whose child's status nobody else can ask for, tells it and ends.

    The job stays in the table of processes until whoever asked for it has read its status: the engine looks for it
    there to measure it, and a short one may have ended by then.
    """
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    job = os.fork()
    if job:
        os.write(pipe, b"%d\n" % job)
        ended = os.waitid(os.P_PID, job, os.WEXITED | os.WNOWAIT)
        assert ended is not None
        os.write(pipe, b"%d\n" % (ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status))
        reading = select.poll()
        reading.register(pipe, 0)  # It is told of nothing but the other end's being closed.
        reading.poll()
        os.waitpid(job, 0)
        os._exit(0)
    os.close(pipe)
    return False


def _become(arguments: list[str], environment: dict[str, str], log: str) -> list[str]:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    os.close(file)
    return arguments


if __name__ == "__main__":
    sys.argv = ["tokbench", *serve(Connection(int(sys.argv[1])))]
    from tokbench.commands.main import main

    main()
