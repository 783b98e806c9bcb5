"""The outermost frame: what nobody caught ends in one line and a status, and says whether it is a fault of ours."""

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import click
import pytest

from tests.conftest import Tokbench
from tokbench.commands import main
from tokbench.errors import TokbenchError
from tokbench.faults import GONE, INTERRUPTED, OUR_OWN, REJECTED


@pytest.fixture
def fails(monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench) -> Callable[[BaseException], Any]:
    """Runs a command that raises this."""

    def run(error: BaseException) -> Any:
        def action() -> None:
            raise error

        command = click.Command("schema", callback=action)
        monkeypatch.setattr(main.Commands, "get_command", lambda self, context, name: command)
        return tokbench("schema")

    return run


@pytest.mark.parametrize(
    ("error", "status", "line"),
    [
        (TokbenchError("a: wrong"), REJECTED, "tokbench: a: wrong\n"),
        (OSError(28, "No space left on device", "b"), REJECTED, "tokbench: b: No space left on device\n"),
        (OSError("magic bytes"), REJECTED, "tokbench: magic bytes\n"),
        (FileNotFoundError("no c"), REJECTED, "tokbench: no c\n"),
        (KeyboardInterrupt(), INTERRUPTED, "tokbench: interrupted\n"),
        (
            ModuleNotFoundError("No module named 'lm_eval'", name="lm_eval"),
            REJECTED,
            "tokbench: the package 'lm_eval' is not installed; install 'tokbench[language-models]'\n",
        ),
    ],
)
def test_others(error: BaseException, status: int, line: str, fails: Any) -> None:
    outcome = fails(error)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (status, b"", line)


@pytest.mark.parametrize("error", [KeyError("x"), AssertionError(), IndexError(3), ZeroDivisionError(), TypeError("t")])
def test_faults_of_our_own(error: Exception, fails: Any) -> None:
    outcome = fails(error)
    assert outcome.status == OUR_OWN
    [line] = outcome.stderr.splitlines()
    assert line.startswith(f"tokbench: a fault of Tokbench's own ({type(error).__name__}: ")
    assert line.endswith("please report it with the command and TOKBENCH_DEBUG=1's output")


def test_the_traceback_is_shown_when_asked_for(fails: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKBENCH_DEBUG", "1")
    outcome = fails(KeyError("x"))
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
