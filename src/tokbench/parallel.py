"""Work shared out among threads that cannot hang.

``concurrent.futures`` waits for ever for a thread that dies before it can say that it has started, or that it has
failed, as happens where memory is short. Here nothing is waited for but work that a thread has taken and is sure to
give back; a thread that cannot be started is done without.
"""

import _thread
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Generic, TypeVar

from tokbench.inputs.numbers import MOST_THREADS, whole_argument

RANGE_ITEMS = 1 << 12
"""Items that are worth a range of their own, where each takes a few steps."""
MOST_RANGES = 16

Item = TypeVar("Item")
Result = TypeVar("Result")


def mapped(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Results of ``work`` on each item, in order; one of the threads is the caller's own.

    Results do not depend on the number of threads. With one, nothing is done before it is asked for.

    Raises:
        TokbenchError: the threads are none, or too many.
        BaseException: what ``work`` raised on the first item on which it did; items not begun by then are left out.
    """
    threads = whole_argument("threads", threads, 1, MOST_THREADS)
    waiting = list(items)
    if threads <= 1 or len(waiting) <= 1:
        return map(work, waiting)
    return _Sharing(work, waiting).results(min(threads, len(waiting)) - 1)


def share(work: Callable[[Item], object], items: Iterable[Item], threads: int) -> None:
    """Do the work on each item, in any order; what it raises is raised as by :func:`mapped`."""
    deque(mapped(work, items, threads), maxlen=0)


def shared_by(threads: int) -> Callable[[Callable[[int], object], Iterable[int]], None]:
    """:func:`share` with so many threads, for kernels that take such a function."""
    return lambda work, items: share(work, items, threads)


def over_ranges(work: Callable[[int, int], Result], size: int, threads: int) -> list[Result]:
    """Results of ``work(first, last)`` on ranges of as many items each, whose number depends on that of items alone."""
    ranges = max(1, min(MOST_RANGES, size // RANGE_ITEMS))
    edges = [size * place // ranges for place in range(ranges + 1)]
    return list(mapped(lambda edge: work(*edge), pairwise(edges), threads))


class _Sharing(Generic[Item, Result]):
    """Items and results of one call; all that a thread needs is made before it starts."""

    def __init__(self, work: Callable[[Item], Result], items: list[Item]) -> None:
        self.work = work
        self.items = items
        self.untaken = deque(range(len(items)))
        self.done: list[bool] = [False] * len(items)
        self.made: list[Result | None] = [None] * len(items)
        self.errors: list[BaseException | None] = [None] * len(items)
        self.locks = [_thread.allocate_lock() for _ in items]
        for lock in self.locks:
            lock.acquire()
        self.failed = False

    def results(self, helpers: int) -> Iterator[Result]:
        try:
            for _ in range(helpers):
                try:
                    _thread.start_new_thread(self.help, ())
                except (RuntimeError, MemoryError):
                    break
            for index in range(len(self.items)):
                while not self.done[index]:
                    if not self.take_one():
                        self.locks[index].acquire()
                if (error := self.errors[index]) is not None:
                    raise error
                result, self.made[index] = self.made[index], None
                yield result  # type: ignore[misc]
        finally:
            self.stop()

    def help(self) -> None:
        while self.take_one():
            pass

    def take_one(self) -> bool:
        """Take an item and do the work on it; False where none is left to be taken."""
        if self.failed:
            return False
        try:
            index = self.untaken.popleft()
        except IndexError:
            return False
        try:
            self.made[index] = self.work(self.items[index])
        except BaseException as error:
            self.errors[index] = error
            self.failed = True  # Every item before this one is taken, and comes to its end.
        finally:
            self.done[index] = True
            self.locks[index].release()
        return True

    def stop(self) -> None:
        """Let nothing more begin, and wait for what has begun."""
        while self.untaken:
            try:
                self.done[self.untaken.popleft()] = True
            except IndexError:
                break
        for index, lock in enumerate(self.locks):
            if not self.done[index]:
                lock.acquire()
