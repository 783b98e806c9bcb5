"""Work that threads share; results do not depend on the number of threads.

Tallies that several threads add to.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

RANGE_ITEMS = 1 << 12
"""Items that are worth a range of their own, where each takes a few steps."""
MOST_RANGES = 16

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Results of ``work`` on each item, in order. With one thread, nothing is done before it is asked for.

    Raises:
        BaseException: what ``work`` raised on the first item on which it did; items not begun by then are left out.
    """
    waiting = list(items)
    if threads <= 1 or len(waiting) <= 1:
        return map(work, waiting)
    return _pooled(work, waiting, min(threads, len(waiting)))


def _pooled(work: Callable[[Item], Result], items: list[Item], threads: int) -> Iterator[Result]:
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, items)


def parallel_for(work: Callable[[Item], object], items: Iterable[Item], threads: int) -> None:
    """Do the work on each item, in any order; what it raises is raised as by :func:`mapped`."""
    deque(parallel_map(work, items, threads), maxlen=0)


def parallel_for_with(threads: int) -> Callable[[Callable[[int], object], Iterable[int]], None]:
    """:func:`share` with so many threads, for kernels that take such a function."""
    return lambda work, items: parallel_for(work, items, threads)


def over_ranges(work: Callable[[int, int], Result], size: int, threads: int) -> list[Result]:
    """Results of ``work(first, last)`` on ranges of as many items each, whose number depends on that of items alone."""
    ranges = max(1, min(MOST_RANGES, size // RANGE_ITEMS))
    edges = [size * place // ranges for place in range(ranges + 1)]
    return list(parallel_map(lambda edge: work(*edge), pairwise(edges), threads))


def parallel_sum(
    work: Callable[[Item, NDArray[np.int64]], object], items: Iterable[Item], shape: tuple[int, ...], threads: int
) -> NDArray[np.int64]:
    """Sum of what ``work(item, tally)`` adds to a tally, for all items.

    There are no more tallies than threads at work. Sums of whole numbers do not tell who added what, or when.

    Returns:
        int64 of the given shape.
    """
    idle: list[NDArray[np.int64]] = []

    def add(item: Item) -> None:
        try:
            tally = idle.pop()
        except IndexError:
            tally = np.zeros(shape, np.int64)
        work(item, tally)
        idle.append(tally)

    parallel_for(add, items, threads)
    whole = idle.pop() if idle else np.zeros(shape, np.int64)
    for tally in idle:
        whole += tally
    return whole
