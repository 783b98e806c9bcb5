"""Tallies that several threads add to."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tokbench.parallel import share

Item = TypeVar("Item")


def tallied(
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

    share(add, items, threads)
    whole = idle.pop() if idle else np.zeros(shape, np.int64)
    for tally in idle:
        whole += tally
    return whole
