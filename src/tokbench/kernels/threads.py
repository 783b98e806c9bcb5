"""Parallel maps, loops and sums over threads. Results do not depend on the number of threads."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

RANGE_ITEMS = 1 << 12
"""Minimum number of items of a range, for work of a few steps per item."""
MOST_RANGES = 16

Item = TypeVar("Item")
Result = TypeVar("Result")


def parallel_map(work: Callable[[Item], Result], items: Iterable[Item], threads: int) -> Iterator[Result]:
    """Return the results of ``work`` on each item, in order. With one thread, evaluation is lazy.

    Raises:
        BaseException: the exception of the first item for which ``work`` raised one; items not started by then are
            skipped.
    """
    waiting = list(items)
    if threads <= 1 or len(waiting) <= 1:
        return map(work, waiting)
    return _map_in_pool(work, waiting, min(threads, len(waiting)))


def _map_in_pool(work: Callable[[Item], Result], items: list[Item], threads: int) -> Iterator[Result]:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(work, items)


def parallel_for(work: Callable[[Item], object], items: Iterable[Item], threads: int) -> None:
    """Run ``work`` on each item, in any order; exceptions are raised as by :func:`parallel_map`."""
    deque(parallel_map(work, items, threads), maxlen=0)


def parallel_for_with(threads: int) -> Callable[[Callable[[int], object], Iterable[int]], None]:
    """Return :func:`parallel_for` with a fixed number of threads, for kernels with such an argument."""
    return lambda work, items: parallel_for(work, items, threads)


def over_ranges(work: Callable[[int, int], Result], size: int, threads: int) -> list[Result]:
    """Return the results of ``work(first, last)`` on equal ranges. Their number depends only on the number of items."""
    ranges = max(1, min(MOST_RANGES, size // RANGE_ITEMS))
    edges = [size * place // ranges for place in range(ranges + 1)]
    return list(parallel_map(lambda edge: work(*edge), pairwise(edges), threads))


def parallel_sum(
    work: Callable[[Item, NDArray[np.int64]], object], items: Iterable[Item], shape: tuple[int, ...], threads: int
) -> NDArray[np.int64]:
    """Sum the tallies of ``work(item, tally)`` over all items.

    There is at most one tally per running thread. Integer sums do not depend on the order.

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
