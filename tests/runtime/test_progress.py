"""The line of progress: on a terminal after two seconds, never in a pipe, and gone when the work ends."""

import io
import os
import pty
import select
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.conftest import TOPICS
from tokbench.commands.main import cli
from tokbench.runtime import progress as module
from tokbench.runtime.progress import clear, progress, watch

ERASED = "\x1b[2K"
"""Erases a line of the terminal."""
DOCUMENTS = [SimpleNamespace(text=b"abcd"), SimpleNamespace(text=b"efgh")]


@contextmanager
def pseudo_terminal(monkeypatch: pytest.MonkeyPatch, delay: float) -> Iterator[int]:
    """A pseudo-terminal as standard error; what was written can be read from it. Lines are shown after a delay."""
    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(module, "DELAY", delay)
    with open(theirs, "w") as stream, monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stream)
        yield ours
    os.close(ours)


def written(terminal: int) -> str:
    """Updates within a fifth of a second of the last one."""
    text = b""
    while select.select([terminal], [], [], 0.2)[0]:
        text += os.read(terminal, 1 << 16)
    return text.decode()


def test_a_line_is_shown_and_erased(monkeypatch: pytest.MonkeyPatch) -> None:
    with pseudo_terminal(monkeypatch, 0.01) as terminal:
        with progress("count"), progress("inner"):
            assert len(list(watch(DOCUMENTS))) == 2
            time.sleep(1.0)
            clear()
        shown = written(terminal)
    assert "count: 0:0" in shown
    assert "2 documents, 0.0 MB" in shown
    assert "inner" not in shown
    assert shown.rstrip().endswith(ERASED)
    assert module._line is None


def fail() -> None:
    with progress("count"):
        time.sleep(1.0)
        raise KeyError


def test_an_error_erases_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pseudo_terminal(monkeypatch, 0.01) as terminal:
        with pytest.raises(KeyError):
            fail()
        assert written(terminal).rstrip().endswith(ERASED)


def test_short_work_has_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with pseudo_terminal(monkeypatch, 2.0) as terminal:
        with progress("count"):
            list(watch(DOCUMENTS))
        assert written(terminal) == ""


def test_no_line_outside_of_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY", 0.0)
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    with progress("count"):
        assert list(watch(DOCUMENTS)) == DOCUMENTS
        time.sleep(0.05)
        clear()
    assert stream.getvalue() == ""


def test_outputs_are_the_same_with_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.txt").write_bytes(TOPICS[0])
    command = ["count", "--pretokenization", "gpt2", str(tmp_path / "text.txt"), "-o"]
    with pseudo_terminal(monkeypatch, 0.0) as terminal:
        cli.main([*command, str(tmp_path / "shown.parquet")], standalone_mode=False)
        assert "count: 0:00" in written(terminal)
    cli.main([*command, str(tmp_path / "plain.parquet")], standalone_mode=False)
    assert (tmp_path / "plain.parquet").read_bytes() == (tmp_path / "shown.parquet").read_bytes()
