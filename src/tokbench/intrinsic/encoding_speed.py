"""Cold encoding speed: the first pass of a fresh tokenizer over a text, used by ``tokbench check`` and the scoreboard.

A tokenizer caches segmentations of pre-tokens, so a second pass over a text is faster than the first. Every round
therefore uses a tokenizer that has not encoded anything.
"""

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from statistics import median
from time import process_time
from typing import Any, Protocol

LEAST_BYTES, MOST_BYTES = 50_000, 2_000_000
"""Texts with fewer bytes are not timed; of longer texts only the beginning is."""
LEAST_ROUNDS, MOST_ROUNDS = 3, 25
ENOUGH = 0.25
"""Total processor time of all rounds, in seconds; rounds are added until it is reached."""
TOO_SHORT = f"not measured: the text has fewer than {LEAST_BYTES:,} bytes"
MEGABYTE = 1e6


class CopiesWithoutMemory(Protocol):
    """A tokenizer whose copy starts with an empty cache, as copies of Tokbench's tokenizers do."""

    def encode(self, text: bytes) -> Any: ...


@dataclass(frozen=True)
class ColdSpeed:
    """Processor time of one thread that encodes texts one by one.

    Attributes:
        bytes: total bytes of the texts.
        seconds: median over the rounds.
        rounds: number of rounds.
    """

    bytes: int
    seconds: float
    rounds: int

    @property
    def megabytes_per_second(self) -> float:
        """Millions of bytes per second."""
        return self.bytes / self.seconds / MEGABYTE


def cold_speed(
    tokenizer: CopiesWithoutMemory, texts: Sequence[bytes], clock: Callable[[], float] = process_time
) -> ColdSpeed | None:
    """Time the first pass of fresh copies of a tokenizer over texts.

    Args:
        tokenizer: tokenizer to copy for every round; it encodes nothing itself.
        texts: texts of a :class:`Sample`.
        clock: function that returns the time in seconds (default: processor time).

    Returns:
        The speed; None if the texts have fewer than :data:`LEAST_BYTES` bytes, or if the clock is too coarse.
    """
    size = sum(map(len, texts))
    if size < LEAST_BYTES:
        return None
    rounds: list[float] = []
    while len(rounds) < LEAST_ROUNDS or (sum(rounds) < ENOUGH and len(rounds) < MOST_ROUNDS):
        fresh = copy(tokenizer)
        start = clock()
        for text in texts:
            fresh.encode(text)
        rounds.append(clock() - start)
    seconds = median(rounds)
    return ColdSpeed(size, seconds, len(rounds)) if seconds > 0 else None


class Sample:
    """First :data:`MOST_BYTES` bytes of texts that are added one by one; the last text is truncated.

    Attributes:
        texts: texts to time.
    """

    def __init__(self, texts: Iterable[bytes] = ()) -> None:
        self.texts: list[bytes] = []
        self._room = MOST_BYTES
        for text in texts:
            self.add(text)

    def add(self, text: bytes) -> None:
        """Add the text up to the remaining number of bytes."""
        if part := text[: self._room]:
            self.texts.append(part)
            self._room -= len(part)
