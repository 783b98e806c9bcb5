"""One process at a time in a folder that several may share."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tokbench.atomic import alone

HOLDS = """
import logging, sys
from pathlib import Path
from tokbench.atomic import alone

logging.basicConfig(stream=sys.stdout, level=logging.INFO)
with alone(Path(sys.argv[1])) as waited:
    Path(sys.argv[2]).write_text(str(waited))
    sys.stdin.readline()
"""
PATIENCE = 60.0


def until(condition: object) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.mark.parametrize("killed", [False, True])
def test_others_wait_for_its_end_however_it_comes(tmp_path: Path, killed: bool) -> None:
    folder = tmp_path / "not there" / "checkpoints"

    def start(number: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", HOLDS, str(folder), str(tmp_path / str(number))]
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    first = start(0)
    until((tmp_path / "0").exists)
    others = {number: start(number) for number in (1, 2, 3)}
    for other in others.values():
        assert other.stdout is not None
        assert "another process is at work there; waiting" in other.stdout.readline()
    if killed:
        os.kill(first.pid, signal.SIGKILL)
    else:
        first.communicate("\n")
    while others:
        until(lambda: any((tmp_path / str(number)).exists() for number in others))
        time.sleep(0.1)
        [at_work] = [number for number in others if (tmp_path / str(number)).exists()]
        assert (tmp_path / str(at_work)).read_text() == "True"
        others.pop(at_work).communicate("\n")
    assert list(folder.parent.iterdir()) == []
    first.communicate()


def test_nobody_is_waited_for_where_nobody_is(tmp_path: Path) -> None:
    for _ in range(2):
        with alone(tmp_path / "folder") as waited:
            assert not waited
            assert [path.name for path in tmp_path.iterdir()] == [".folder.lock"]
    assert list(tmp_path.iterdir()) == []
