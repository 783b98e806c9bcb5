"""The outermost frame: what nobody caught ends in one line and a status, and says whether it is a fault of ours."""

import json
import os
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import polars as pl
import pyarrow as pa
import pytest

from tests.conftest import Tokbench
from tokbench.commands import main
from tokbench.errors import TokbenchError
from tokbench.faults import GONE, INTERRUPTED, OUR_OWN, REJECTED


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench) -> Callable[[Callable[[Path], Any], Path], Any]:
    """Runs a command that calls this, as a function of ours would that has a file at hand."""

    def run(action: Callable[[Path], Any], path: Path) -> Any:
        space: dict[str, Any] = {"__name__": "tokbench.invented", "action": action}
        exec("def read(path):\n    action(path)\n", space)
        command = click.Command("schema", callback=lambda: space["read"](path))
        monkeypatch.setattr(main.Commands, "get_command", lambda self, context, name: command)
        return tokbench("schema")

    return run


def raising(error: BaseException) -> Callable[[Path], None]:
    def action(path: Path) -> None:
        raise error

    return action


def deep(path: Path) -> Any:
    return json.loads("[" * 100_000)


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (lambda path: path.read_text(encoding="utf-8"), "not UTF-8 (byte 0xff at 0)"),
        (lambda path: json.loads("{"), "(JSONDecodeError: "),
        (deep, "nested too deeply to be read"),
        (lambda path: zlib.decompress(b"x"), "damaged, or not of the kind that is read here (error: "),
        (lambda path: pl.read_parquet(path), "damaged, or not of the kind that is read here (ComputeError: "),
        (raising(pa.ArrowInvalid("no")), "(ArrowInvalid: no)"),
        (raising(OSError("magic bytes")), "(magic bytes)"),
        (raising(EOFError()), "damaged, it ends too early"),
    ],
)
def test_damaged_files(action: Callable[[Path], Any], reason: str, tmp_path: Path, fails: Any) -> None:
    file = tmp_path / "damaged"
    file.write_bytes(b"\xff\xfe\x00")
    message = fails(action, file).message
    assert message.startswith(f"tokbench: {file}: ")
    assert reason in message
    assert message.endswith("make or fetch the file again")


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (TokbenchError("a: wrong"), REJECTED, "tokbench: a: wrong\n"),
        (OSError(28, "No space left on device", "b"), REJECTED, "tokbench: b: No space left on device\n"),
        (FileNotFoundError("no c"), REJECTED, "tokbench: no c\n"),
        (KeyboardInterrupt(), INTERRUPTED, "tokbench: interrupted\n"),
        (
            ModuleNotFoundError("No module named 'lm_eval'", name="lm_eval"),
            REJECTED,
            "tokbench: the package 'lm_eval' is not installed; install 'tokbench[language-models]'\n",
        ),
    ],
)
def test_others(error: BaseException, status: int, line: str, tmp_path: Path, fails: Any) -> None:
    outcome = fails(raising(error), tmp_path / "absent")
    assert (outcome.status, outcome.stdout, outcome.stderr) == (status, b"", line)


@pytest.mark.parametrize("error", [KeyError("x"), AssertionError(), IndexError(3), ZeroDivisionError(), TypeError("t")])
def test_faults_of_our_own(error: Exception, tmp_path: Path, fails: Any) -> None:
    outcome = fails(raising(error), tmp_path)
    assert outcome.status == OUR_OWN
    [line] = outcome.stderr.splitlines()
    assert line.startswith(f"tokbench: a fault of Tokbench's own ({type(error).__name__}: ")
    assert line.endswith("please report it with the command and TOKBENCH_DEBUG=1's output")


def test_the_traceback_is_shown_when_asked_for(tmp_path: Path, fails: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKBENCH_DEBUG", "1")
    outcome = fails(raising(KeyError("x")), tmp_path)
    assert outcome.stderr.startswith("Traceback (most recent call last):\n")
    assert outcome.stderr.splitlines()[-1].startswith("tokbench: a fault of Tokbench's own (KeyError: 'x' in ")


def test_whoever_reads_may_go() -> None:
    """Standard output is a pipe that nobody reads: nothing is said, neither now nor when the interpreter ends."""
    end, start = os.pipe()
    os.close(end)
    command = [sys.executable, "-m", "tokbench.commands.main", "--help"]
    ended = subprocess.run(command, stdout=start, stderr=subprocess.PIPE, check=False)
    os.close(start)
    assert (ended.returncode, ended.stderr) == (GONE, b"")
