"""An exact percentile of more numbers than memory holds."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tokbench.kernels.tally import tally_high, tally_low
from tokbench.parallel import mapped

HALF = 1 << 16
"""How many numbers half of the bits can spell."""
Values = Callable[[], Iterable[NDArray[np.float32]]]
"""Gives values, some at a time, each time it is called; all finite."""


def percentile(parts: Sequence[Values], percent: float, threads: int = 1) -> float:
    """An exact percentile of float32 values of any number, in two or three passes and half a megabyte a thread.

    Where it falls between two values it is interpolated linearly, in double precision; with no values it is minus
    infinity. Sixteen bits of the order-preserving integer form are resolved in each pass.

    Args:
        parts: give the values.
        percent: 0 to 100.
        threads: threads that go through parts; they do not show.
    """

    def tallied(count: Callable[[NDArray[np.float32], NDArray[np.int64]], None]) -> NDArray[np.int64]:
        def of(part: Values) -> NDArray[np.int64]:
            found = np.zeros(HALF, np.int64)
            for values in part():
                count(values, found)
            return found

        total = np.zeros(HALF, np.int64)
        for found in mapped(of, parts, threads):
            total += found
        return total

    coarse = tallied(tally_high)
    total = int(coarse.sum())
    if not total:
        return -np.inf
    place = percent / 100 * (total - 1)
    ranks = int(place), min(int(place) + 1, total - 1)
    below = np.concatenate(([0], np.cumsum(coarse)))
    bins = [int(np.searchsorted(below, rank, side="right")) - 1 for rank in ranks]
    fine = {top: tallied(partial(tally_low, top)) for top in bins}
    lower, upper = (
        _value(top << 16 | int(np.searchsorted(np.cumsum(fine[top]), rank - below[top], side="right")))
        for top, rank in zip(bins, ranks, strict=True)
    )
    return lower + (upper - lower) * (place - int(place))


def ordered_bits(values: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Integers in the order of the floats: the sign bit flipped, or every bit of a negative number."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return bits ^ np.where(bits >> 31, np.uint32(0xFFFFFFFF), np.uint32(0x80000000))


def _value(ordered: int) -> float:
    bits = ordered ^ (0x80000000 if ordered >> 31 else 0xFFFFFFFF)
    return float(np.array([bits], np.uint32).view(np.float32)[0])
