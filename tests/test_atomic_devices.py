"""Outputs go through links and to standard output, and into no device and no pipe."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from tests.support.outputs import fill, in_a_fork, names, told
from tokbench.atomic import atomic_file


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "disk" / "file").write_text("old")
    for name in ("file", "absent", "folder"):
        (tmp_path / name).symlink_to(tmp_path / "disk" / name)
    for name in ("file", "absent"):
        with atomic_file(tmp_path / name) as partial:
            partial.write_text("new")
            assert partial.parent == tmp_path / "disk"
        assert (tmp_path / name).is_symlink()
        assert (tmp_path / "disk" / name).read_text() == "new"
    for text in ("old", "new"):
        fill(tmp_path / "folder", text)
        assert (tmp_path / "folder").is_symlink()
        assert (tmp_path / "disk" / "folder" / "a.csv").read_text() == text
    assert names(tmp_path / "disk") == ["absent", "file", "folder"]


@pytest.mark.parametrize("name", ["/dev/null", "pipe", "link"])
def test_no_device_and_no_pipe_is_an_output(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/null")
    path = tmp_path / name  # That of an absolute name is the name itself.

    def write() -> None:
        with atomic_file(path):
            raise AssertionError("the work began")

    assert told(write) == f"{path}: not a file, but a device or a pipe; name a file, or - for standard output"
    assert names(tmp_path) == ["link", "pipe"]


def test_standard_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``(echo before; tokbench ... -o -) > file`` loses nothing, and gets nothing of what failed."""
    monkeypatch.chdir(tmp_path)
    with (tmp_path / "file").open("w") as file:
        file.write("before\n")
        file.flush()

        def write() -> None:
            os.dup2(file.fileno(), 1)
            with open(1, "w", closefd=False) as output:
                monkeypatch.setattr("sys.stdout", output)
                with suppress(ValueError), atomic_file("-") as partial:
                    partial.write_text("half\n")
                    raise ValueError
                with atomic_file("-") as partial:
                    partial.write_text("after\n")

        assert in_a_fork(write) == 0
    assert (tmp_path / "file").read_text() == "before\nafter\n"
    assert names(tmp_path) == ["file"]
