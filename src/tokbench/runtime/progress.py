"""A line of progress on a terminal, and notes on standard error.

The line is shown for work that takes more than two seconds, never in a file or a pipe.
"""

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.progress import Progress

Item = TypeVar("Item")
DELAY = 2.0
"""Seconds before the line is shown."""


class Line:
    """The line of one piece of work, which ``rich`` draws.

    Attributes:
        label: name of the work.
        documents: number of documents read so far.
        bytes: their bytes.
    """

    def __init__(self, label: str) -> None:
        self.label, self.documents, self.bytes = label, 0, 0
        self._started = time.monotonic()
        self._lock = threading.Lock()
        self._shown: Progress | None = None
        self._wait()

    def text(self) -> str:
        """Return the text of the line."""
        seconds = int(time.monotonic() - self._started)
        read = f", {self.documents:,} documents, {self.bytes / 1e6:,.1f} MB" if self.documents else ""
        return f"{self.label}: {seconds // 60}:{seconds % 60:02}{read}"

    def clear(self) -> None:
        """Erase the line, before something else is written. It is shown again after a while."""
        if self._erase():
            self._wait()

    def end(self) -> None:
        """Stop, and erase the line."""
        self._timer.cancel()
        self._timer.join()
        self._erase()

    def _wait(self) -> None:
        self._timer = threading.Timer(DELAY, self._show)
        self._timer.daemon = True
        self._timer.start()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import Progress, ProgressColumn, SpinnerColumn, Task
        from rich.text import Text

        line = self

        class Words(ProgressColumn):
            def render(self, task: Task) -> Text:
                return Text(line.text(), no_wrap=True)

        with self._lock:
            self._shown = Progress(SpinnerColumn(), Words(), console=Console(file=sys.stderr), transient=True)
            self._shown.add_task(self.label, total=None)
            self._shown.start()

    def _erase(self) -> bool:
        with self._lock:
            display, self._shown = self._shown, None
            if display is not None:
                display.stop()
        return display is not None


_line: Line | None = None
"""The line of the current work."""


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
    _line = Line(label)
    try:
        yield
    finally:
        _line.end()
        _line = None


def watch(items: Iterable[Item], size: str = "text") -> Iterator[Item]:
    """Return the items, and count them in the line of the current work.

    Args:
        items: documents.
        size: attribute whose length is added to the bytes.
    """
    if (line := _line) is None:
        return iter(items)
    return _watch(items, size, line)


def _watch(items: Iterable[Item], size: str, line: Line) -> Iterator[Item]:
    for item in items:
        line.documents += 1
        line.bytes += len(getattr(item, size))
        yield item


def clear() -> None:
    """Erase the line, if there is one, before something else is written to standard error."""
    if _line is not None:
        _line.clear()


_noted: set[str] | None = None
"""Notes of the current command; None outside of :func:`notes_once`."""


@contextmanager
def notes_once() -> Iterator[None]:
    """Write each note once while the block lasts, because some commands read files several times."""
    global _noted
    before, _noted = _noted, set()
    try:
        yield
    finally:
        _noted = before


def note(line: str) -> None:
    """Write a line to standard error, unless it was already written in the block of :func:`notes_once`."""
    if _noted is not None:
        if line in _noted:
            return
        _noted.add(line)
    clear()
    print(line, file=sys.stderr)
