"""Running out of memory ends in one line that says what for, and in a status of its own.

An allocation fails in many ways: as ``MemoryError``, as an import that finds no room for its library, as a thread that
cannot be started, in the message of a library's own error, or by a signal, where the library is not written in Python.
The line is the same for all of them. Where the system's kernel kills a process to get its memory back, that is beyond
the reach of the process.
"""

import errno
import mmap
import os
import resource
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tokbench.kernels.last_line import is_short, keep, prepare, remove_at_end, tell_sure, watch

if TYPE_CHECKING:
    from pathlib import Path

STATUS = 3
"""Exit status of a command that ran out of memory; that of a mistake in its input is 2."""
RESERVE = 16 << 20
"""Addresses that are kept free for what the end itself takes."""
SIGNS = (
    "allocation error",
    "allocation failed",
    "bad_alloc",
    "can't allocate lock",
    "can't start new thread",
    "cannot allocate memory",
    "failed to map segment",
    "memory allocation",
    "not enough memory",
    "out of memory",
    "resource temporarily unavailable",
    "unable to allocate",
)
"""How libraries say, in capitals or not, that an allocation failed, or that a thread could not have its stack."""
ALONE = {"POLARS_MAX_THREADS": "1", "RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Keeps libraries, where memory is limited, from threads of theirs: those end the process where memory ends."""
FOREIGN = ("pyo3_runtime", "polars")
"""Packages whose own errors may tell of memory in words only, as may an error that is a plain ``Exception``."""


@dataclass(frozen=True, slots=True)
class Purpose:
    """What memory is needed for.

    Attributes:
        what: completes "not enough memory to ...".
        remedy: what would take less; empty where nothing is known.
    """

    what: str
    remedy: str = ""

    def line(self, wanted: str = "") -> str:
        """The line of a failed allocation, with what it wanted."""
        return f"tokbench: not enough memory to {self.what}{f' ({wanted})' if wanted else ''}; {self._remedies}"

    def line_of_crash(self, reason: str = "") -> str:
        """The line where a library gave up without saying that it was for memory."""
        told = f" ({reason})" if reason else ""
        gave_up = "a library gave up, most often for lack of memory"
        return f"tokbench: {gave_up}, when asked to {self.what}{told}; {self._remedies}"

    @property
    def _remedies(self) -> str:
        return "allow it more" + (f", or {self.remedy}" if self.remedy else "")


_purpose = Purpose("start")
_reserves: list[mmap.mmap] = []
"""What is kept free for the end."""


def purpose(what: str, remedy: str = "") -> None:
    """Say what memory is needed for from now on, should it run out; see :class:`Purpose`."""
    global _purpose
    _purpose = Purpose(" ".join(what.split()), remedy)
    prepare(_written(_purpose.line()), _written(_purpose.line_of_crash()))


@contextmanager
def reported(*expected: type[BaseException]) -> Iterator[None]:
    """End the process with the line where memory runs out inside the block.

    Args:
        expected: errors that have another line, unless they come from a failed allocation. Any other error is taken
            for one where memory is short: libraries forget why they failed.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # It interrupts the process where it cannot start its threads.
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        for name, value in ALONE.items():
            os.environ.setdefault(name, value)
    purpose("start")
    watch(STATUS)
    with ExitStack() as reserve:
        try:
            _reserves[:] = [reserve.enter_context(mmap.mmap(-1, RESERVE))]
            yield
        except (KeyboardInterrupt, SystemExit, GeneratorExit):
            raise
        except BaseException as error:
            reserve.close()
            shortage = shortage_in(error)
            if shortage is None and (isinstance(error, expected) or not is_short()):
                raise
            _tell(_purpose.line if shortage else _purpose.line_of_crash, shortage or error)
            _end()


@contextmanager
def removed_at_end(path: "Path") -> Iterator[None]:
    """Have what is at ``path``, a file or a folder, removed where a library ends the process inside the block.

    Where memory runs out inside it, what is kept free for the end is given to those who remove it themselves.
    """
    remove_at_end(os.fsencode(path.absolute()))
    try:
        yield
    except BaseException as error:
        if isinstance(error, MemoryError) or shortage_in(error):
            for reserve in _reserves:
                reserve.close()
        raise
    finally:
        keep(os.fsencode(path.absolute()))


def require_room(size: int) -> None:
    """See that so many addresses can be had, before a library is loaded that hangs where they cannot.

    Raises:
        OSError: they cannot.
    """
    mmap.mmap(-1, size).close()


def may_be_short(error: BaseException) -> bool:
    """Whether an error may come from a failed allocation: it says so, or a large one would fail now.

    For errors of libraries that are taken for an answer: what fails for lack of memory is none.
    """
    return shortage_in(error) is not None or is_short()


def shortage_in(error: BaseException) -> BaseException | None:
    """The failed allocation that an error is, or comes from; None where it has another cause."""
    found, seen, waiting = None, set(), [error]
    while waiting:
        one = waiting.pop()
        if id(one) not in seen:
            seen.add(id(one))
            found = one if _is_shortage(one) else found
            waiting += filter(None, (one.__context__, one.__cause__))
    return found


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno == errno.ENOMEM
    foreign = type(error) is Exception or type(error).__module__.partition(".")[0] in FOREIGN
    text = str(error).lower() if foreign or isinstance(error, ImportError | OSError | RuntimeError) else ""
    return any(sign in text for sign in SIGNS)


def _tell(line: Callable[[str], str], error: BaseException) -> None:
    """Write a line; the one made ready beforehand where there is no memory for another."""
    try:
        reasons = [" ".join((str(error) or type(error).__name__).split()), _limit()]
        if type(error) is MemoryError and not str(error):
            del reasons[0]
        told = line("; ".join(reason[:300] for reason in reasons if reason))
        sys.stdout.flush()
        os.write(2, _written(told))
    except MemoryError:
        tell_sure()


def _written(line: str) -> bytes:
    """A line as it is written; names of files need not be UTF-8."""
    return f"{line}\n".encode(errors="backslashreplace")


def _limit() -> str:
    """What the process may take, where that is limited."""
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    return "" if allowed == resource.RLIM_INFINITY else f"ulimit -v allows {allowed / (1 << 30):.2f} GiB"


def _end() -> None:
    """Leave at once: what libraries do at exit may want memory again, and wait for it in vain."""
    os._exit(STATUS)
