"""A line of progress on a terminal, for work that takes more than two seconds. Never in a file or a pipe."""

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TextIO, TypeVar

Item = TypeVar("Item")
DELAY = 2.0
"""Seconds before the line is first shown."""
PERIOD = 0.2
"""Seconds between two updates."""
CLEAR = "\r\x1b[K"
"""Erases the line of the cursor."""


class Line:
    """The line of one piece of work, written by a thread of its own.

    Attributes:
        label: name of the work.
        documents: number of documents read so far.
        bytes: their bytes.
    """

    def __init__(self, label: str, stream: TextIO) -> None:
        self.label, self.documents, self.bytes = label, 0, 0
        self._stream, self._started = stream, time.monotonic()
        self._ended = threading.Event()
        self._writing = threading.Lock()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the line, cut to the width of the terminal."""
        seconds = int(time.monotonic() - self._started)
        parts = [f"{self.label}: {seconds // 60}:{seconds % 60:02}"]
        if self.documents:
            parts.append(f"{self.documents:,} documents, {self.bytes / 1e6:,.1f} MB")
        try:
            columns = os.get_terminal_size(self._stream.fileno()).columns
        except (OSError, ValueError):
            columns = 0
        return ", ".join(parts)[: (columns or 80) - 1]

    def clear(self) -> None:
        """Erase the line, before something else is written. It is written again by the next update."""
        with self._writing:
            self._write(CLEAR)

    def end(self) -> None:
        """Stop, and erase the line."""
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        shown = False
        wait = DELAY
        while not self._ended.wait(wait):
            with self._writing:
                self._write(CLEAR + self.text())
            shown, wait = True, PERIOD
        if shown:
            self._write(CLEAR)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._ended.set()


_line: Line | None = None
"""The line of the work that is done now."""


@contextmanager
def progress(label: str) -> Iterator[None]:
    """Show a line on the terminal of standard error while the block lasts, from the third second on.

    Nothing is written if standard error is not a terminal, or inside the block of another line.

    Args:
        label: name of the work, such as ``count``.
    """
    global _line
    if _line is not None or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield
        return
    _line = Line(label, sys.stderr)
    try:
        yield
    finally:
        _line.end()
        _line = None


def watched(items: Iterable[Item], size: str = "text") -> Iterator[Item]:
    """Return the items, and count them in the line of the work that is done now.

    Args:
        items: documents.
        size: attribute whose length is added to the bytes.
    """
    if (line := _line) is None:
        return iter(items)
    return _watched(items, size, line)


def _watched(items: Iterable[Item], size: str, line: Line) -> Iterator[Item]:
    for item in items:
        line.documents += 1
        line.bytes += len(getattr(item, size))
        yield item


def clear() -> None:
    """Erase the line, if there is one, before something else is written to standard error."""
    if _line is not None:
        _line.clear()
