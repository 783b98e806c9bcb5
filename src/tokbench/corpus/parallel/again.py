"""Which pairs stand earlier, too: found by what equal pairs share, in as much memory as there is.

What is more than memory takes goes to files by its first bits. What is equal comes into one file, in the order in which
it came, so that each file by itself tells which of its pairs came before.
"""

from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tokbench.corpus.parallel.clean import DIGEST, broken_rule, digest
from tokbench.corpus.parallel.read import Pair
from tokbench.corpus.parallel.sources import Cleaning

FILES: Final = 256
"""One for each first byte of a digest."""
ROW: Final = np.dtype([("high", ">u8"), ("low", ">u8"), ("number", "<i8")])
"""A digest and the number of its pair."""
COPIES: Final = 4
"""Rows in memory for each that is looked at: itself, its place in order, and what sorting takes."""


def repeated(
    pairs: Iterable[Pair], options: Cleaning, held: AbstractSet[bytes], folder: Path, most: int
) -> NDArray[np.bool_]:
    """Which pairs stand earlier among those that break no other rule.

    Args:
        pairs: as they are read.
        options: of the rules.
        held: digests of the pairs of other splits.
        folder: takes what memory does not, up to 24 bytes a pair; nothing is left there.
        most: bytes of memory, beside one for each pair.

    Returns:
        bool [pairs].
    """
    found, read = Again(folder, most), 0
    for number, pair in enumerate(pairs):
        read += 1
        if broken_rule(pair, options) is None and (own := digest(pair)) not in held:
            found.add(own, number)
    again = np.zeros(read, np.bool_)
    for some in found.numbers():
        again[some] = True
    return again


class Again:
    """Pairs that come again.

    Args:
        folder: where files go that are too much for memory; they are removed at the end.
        most: bytes of rows that are held.
    """

    def __init__(self, folder: Path, most: int) -> None:
        self._most = most
        self._held = bytearray()
        self._folder = folder
        self._spilled: TemporaryDirectory[str] | None = None

    def add(self, digest: bytes, number: int) -> None:
        """Note the next pair: what it shares with its equals, and its number, which is greater than those before."""
        self._held += digest
        self._held += number.to_bytes(ROW.itemsize - DIGEST, "little")
        if len(self._held) * COPIES > self._most:
            self._spill()

    def numbers(self) -> Iterator[NDArray[np.int64]]:
        """Numbers of the pairs that have an equal before them, in no order of their own; once, after the last."""
        if self._spilled is None:
            yield _again(np.frombuffer(self._held, ROW))
            return
        self._spill()
        with self._spilled as name:
            for path in Path(name).iterdir():
                yield _again(np.fromfile(path, ROW))

    def _spill(self) -> None:
        if self._spilled is None:
            self._spilled = TemporaryDirectory(dir=self._folder, prefix=".pairs-")
        rows = np.frombuffer(self._held, ROW)
        first = (rows["high"] >> np.uint64(56)).astype(np.uint8)
        order = np.argsort(first, kind="stable")
        ends = np.bincount(first, minlength=FILES).cumsum()
        for byte, some in enumerate(np.split(rows[order], ends[:-1])):
            if len(some):
                with Path(self._spilled.name, f"{byte:02x}").open("ab") as file:
                    file.write(some.tobytes())
        del rows
        self._held = bytearray()


def _again(rows: NDArray[np.void]) -> NDArray[np.int64]:
    """Numbers of the rows whose digest stands before, too."""
    order = np.lexsort((rows["low"], rows["high"]))
    high, low = rows["high"][order], rows["low"][order]
    same = (high[1:] == high[:-1]) & (low[1:] == low[:-1])
    return np.asarray(rows["number"][order[1:][same]], np.int64)
