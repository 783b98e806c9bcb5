"""An exact percentile of more numbers than memory holds."""

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray


def percentile(passes: Callable[[], Iterable[NDArray[np.float32]]], percent: float) -> float:
    """An exact percentile of float32 values of any number, in two passes and half a megabyte.

    Where it falls between two values it is interpolated linearly, in double precision; with no values it is minus
    infinity. Sixteen bits of the order-preserving integer form are resolved in each pass.

    Args:
        passes: gives the values, some at a time, each time it is called; all finite.
        percent: 0 to 100.
    """
    coarse = np.zeros(1 << 16, np.int64)
    for values in passes():
        coarse += np.bincount(ordered_bits(values) >> 16, minlength=1 << 16)
    total = int(coarse.sum())
    if not total:
        return -np.inf
    place = percent / 100 * (total - 1)
    ranks = int(place), min(int(place) + 1, total - 1)
    below = np.concatenate(([0], np.cumsum(coarse)))
    bins = [int(np.searchsorted(below, rank, side="right")) - 1 for rank in ranks]
    fine = {top: np.zeros(1 << 16, np.int64) for top in bins}
    for values in passes():
        ordered = ordered_bits(values)
        for top, tally in fine.items():
            tally += np.bincount(ordered[ordered >> 16 == top] & 0xFFFF, minlength=1 << 16)
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
