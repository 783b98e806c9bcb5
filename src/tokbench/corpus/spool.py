"""Documents on their way to a shard: held without an object each, and in files where memory is short."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROW = np.dtype([("document", "<i8"), ("size", "<i8"), ("language", "<i4")])
"""What is known of a document beside its text: its position in the source, its bytes, and a number for its tag."""
ROWS = 1 << 18
"""Rows that are read from a file at a time."""
LONG = 1 << 22
"""Bytes of a text that goes to its file by itself."""


class Group(NamedTuple):
    """Documents that follow each other in a shard: ``ROW`` [n], and their texts laid end to end."""

    rows: NDArray[np.void]
    text: bytes | bytearray


class Queue:
    """The documents of one shard that have not been written to it yet, in order.

    Args:
        path: begins the names of its files, which are open only while they are written to or read.
    """

    def __init__(self, path: Path) -> None:
        self._files = path.with_suffix(".rows"), path.with_suffix(".text")
        self._rows = bytearray()
        self._text = bytearray()

    def add(self, row: bytes, text: bytes) -> int:
        """Take a document, its row as the bytes of a ``ROW``; return how many bytes more are held in memory."""
        before = len(self._rows) + len(self._text)
        self._rows += row
        if len(text) < LONG:
            self._text += text
            return len(row) + len(text)
        self.spill(text)
        return -before

    def spill(self, last: bytes = b"") -> None:
        """Move what is held to the files, with the text of a last document whose row is held already."""
        for path, held, more in zip(self._files, (self._rows, self._text), (b"", last), strict=True):
            if held or more:
                with path.open("ab") as file:
                    file.write(held)
                    file.write(more)
        self._rows, self._text = bytearray(), bytearray()

    def groups(self, size: int) -> Iterator[Group]:
        """All documents, in groups; each is full with the document that brings it to ``size`` bytes.

        The last group is what is left, which may be nothing. Then the queue is empty.
        """
        self.spill()
        rows = np.empty(0, ROW)
        files = [path.open("ab+") for path in self._files]
        try:
            for file in files:
                file.seek(0)
            while len(more := np.fromfile(files[0], ROW, ROWS)):
                rows = np.concatenate([rows, more])
                ends = np.cumsum(rows["size"])
                first = taken = 0
                while (last := int(np.searchsorted(ends, taken + size))) < len(rows):
                    yield Group(rows[first : last + 1], files[1].read(int(ends[last]) - taken))
                    first, taken = last + 1, int(ends[last])
                rows = rows[first:]
            yield Group(rows, files[1].read())
        finally:
            for file, path in zip(files, self._files, strict=True):
                file.close()
                os.unlink(path)
