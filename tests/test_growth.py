"""How work grows with one pre-token that is long or repeats itself: no construction and no segmentation is quadratic.

Measured by this process's own time, the least of some turns, at one length and at four times that: a quadratic method
takes sixteen times as long, n log n steps take five times.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tokbench.pretokens import PretokenCounts
from tokbench.segmentation import segmentations
from tokbench.tokens import BYTES, Vocabulary
from tokbench.vocabulary import constructions

TOO_MUCH = 10
"""Ratio of times at lengths of one to four that is not n log n any more."""

SHORT = 6_000
ENOUGH = 0.004
"""Seconds below which a time says nothing, and counts as this much."""


def fibonacci(size: int) -> bytes:
    word, longer = b"a", b"ab"
    while len(word) < size:
        word, longer = longer, longer + word
    return word[:size]


def letters(size: int) -> bytes:
    return np.random.default_rng(5).integers(97, 123, size, np.uint8).tobytes()


SHAPES: dict[str, Callable[[int], bytes]] = {
    "run": lambda size: b"=" * size,
    "period of two": lambda size: (b"ab" * size)[:size],
    "period of five": lambda size: (b"abcab" * size)[:size],
    "fibonacci": fibonacci,
    "letters": letters,
}


def growth(work: Callable[[Any], object], small: Any, large: Any) -> float:
    def seconds(argument: Any) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            work(argument)
            times.append(time.process_time() - start)
            if times[-1] > 0.5:
                break
        return max(min(times), ENOUGH)

    return seconds(large) / seconds(small)
