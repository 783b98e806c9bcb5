"""Several processes that write the same output, and those that were killed."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.outputs import fill, in_a_fork, names
from tokbench.atomic import atomic_file, atomic_folder
from tokbench.atomic.partial import new_name


def test_two_writers_share_nothing(tmp_path: Path) -> None:
    with atomic_file(tmp_path / "file") as one, atomic_file(tmp_path / "file") as other:
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "file").read_text() == "one"
    with atomic_folder(tmp_path / "out", "tables") as first:
        (first / "a").write_text("one")
        with atomic_folder(tmp_path / "out", "tables") as second:
            (second / "b").write_text("other")
        assert (first / "a").exists()
    assert names(tmp_path / "out") == [".tokbench.json", "a"]
    assert names(tmp_path) == ["file", "out"]


def test_racing_folders_end_whole(tmp_path: Path) -> None:
    def race(letter: str) -> None:
        for _ in range(30):
            fill(tmp_path / "out", letter)

    started = []
    for letter in "abc":
        if (process := os.fork()) == 0:
            try:
                race(letter)
                os._exit(0)
            finally:
                os._exit(1)
        started.append(process)
    assert [os.waitpid(process, 0)[1] for process in started] == [0, 0, 0]
    found = {(tmp_path / "out" / name).read_text() for name in ("a.csv", "within/b.csv")}
    assert len(found) == 1
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127])
def test_the_longest_names(name: str, tmp_path: Path) -> None:
    with atomic_file(tmp_path / name) as partial:
        partial.write_text("new")
    assert names(tmp_path) == [name]
    (tmp_path / name).unlink()
    fill(tmp_path / name)
    fill(tmp_path / name)
    assert names(tmp_path) == [name]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="without /proc nobody tells the dead that are listed")
def test_leftovers_of_the_dead_that_nobody_has_waited_for_go(tmp_path: Path) -> None:
    """In a container whose first process waits for none, a process that was killed is listed for good."""
    with subprocess.Popen(["true"]) as dead:
        state = Path(f"/proc/{dead.pid}/stat")
        while state.read_text().rpartition(")")[2].split()[0] != "Z":
            time.sleep(0.01)
        left = new_name(tmp_path / "out")
        left.with_name(left.name.replace(f"-{os.getpid()}-", f"-{dead.pid}-")).mkdir()
        with atomic_folder(tmp_path / "out", "tables"):
            pass
        assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_leftovers_of_the_dead_go(tmp_path: Path) -> None:
    def killed() -> None:
        with atomic_folder(tmp_path / "out", "tables") as partial, atomic_file(tmp_path / "file"):
            (partial / "half").touch()
            os.kill(os.getpid(), signal.SIGKILL)

    assert in_a_fork(killed) == -signal.SIGKILL
    assert len(names(tmp_path)) == 2
    own = new_name(tmp_path / "out")
    foreign = [".out.0123abcd-1-0.partial", own.name.replace(f"-{os.getpid()}-", "-1-"), ".out.partial"]
    for name in foreign:
        (tmp_path / name).mkdir()
    own.mkdir()  # Of an older process that had this one's number.
    fill(tmp_path / "out")
    with atomic_file(tmp_path / "file"):
        pass
    assert names(tmp_path) == sorted([*foreign, "file", "out"])


@pytest.fixture
def default_sigterm() -> Iterator[None]:
    """As a process begins; libraries that other tests import may have put a handler of theirs there."""
    before = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGTERM, before)


def test_sigterm_leaves_nothing(tmp_path: Path, default_sigterm: None) -> None:
    def ended() -> None:
        with atomic_folder(tmp_path / "out", "tables"), atomic_file(tmp_path / "file"):
            os.kill(os.getpid(), signal.SIGTERM)
            signal.pause()

    assert in_a_fork(ended) == 128 + signal.SIGTERM
    assert names(tmp_path) == []
    with atomic_file(tmp_path / "file"):
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_fork_that_leaves_the_block_takes_nothing(tmp_path: Path) -> None:
    process = -1
    try:
        with atomic_file(tmp_path / "file") as partial:
            if (process := os.fork()) == 0:
                raise KeyboardInterrupt
            os.waitpid(process, 0)
            assert partial.exists()
    finally:
        if process == 0:
            os._exit(0)
    assert names(tmp_path) == ["file"]
