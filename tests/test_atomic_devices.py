"""Outputs go through links and into devices and pipes, which stay what they are."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
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


@pytest.fixture
def device(tmp_path: Path) -> Callable[[str], Path]:
    """A device of one's own, that may break: a node where such can be made, else a link."""

    def make(name: str) -> Path:
        path = tmp_path / name
        try:
            os.mknod(path, 0o666 | stat.S_IFCHR, Path("/dev", name).stat().st_rdev)
            path.open("wb").close()
        except PermissionError:
            path.unlink(missing_ok=True)
            if os.geteuid() == 0 or not Path("/dev", name).exists():
                pytest.skip("no device can be made here")
            path.symlink_to(Path("/dev", name))
        return path

    return make


def test_devices_stay_devices(device: Callable[[str], Path], tmp_path: Path) -> None:
    null = device("null")
    (tmp_path / "link").symlink_to(null)
    for path in (null, tmp_path / "link"):
        with atomic_file(path) as partial, partial.open("wb") as file:
            file.write(b"x")
            file.seek(0)
        assert stat.S_ISCHR(path.stat().st_mode)
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path) == ["link", "null"]


def test_a_full_device_is_told_and_stays(device: Callable[[str], Path], tmp_path: Path) -> None:
    """pyarrow removes what it could not write."""
    (tmp_path / "link").symlink_to(device("full"))

    def write() -> None:
        with atomic_file(tmp_path / "link") as partial:
            pq.write_table(pa.table({"a": [1]}), partial)

    assert told(write) == (
        f"{tmp_path / 'link'}: cannot be written whole (No space left on device); make room in {tmp_path}, or write "
        "elsewhere"
    )
    assert stat.S_ISCHR((tmp_path / "link").stat().st_mode)
    assert names(tmp_path) == ["full", "link"]


def test_a_pipe_gets_the_bytes(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)

    def write(text: str) -> None:
        with atomic_file(tmp_path / "pipe") as partial:
            partial.write_text(text)
            assert text == "whole"

    with pytest.raises(AssertionError):
        write("half")
    write("whole")
    assert os.read(reader, 100) == b"whole"
    os.close(reader)
    assert names(tmp_path) == ["pipe"]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", "link"])
def test_an_open_file_is_added_to(name: str, tmp_path: Path) -> None:
    """``(echo before; tokbench ... -o /dev/stdout) > file`` loses nothing."""
    path = tmp_path / name  # That of an absolute name is the name itself.
    if not path.exists():
        path.symlink_to("/dev/stdout")
    with (tmp_path / "file").open("w") as file:
        file.write("before\n")
        file.flush()

        def write() -> None:
            os.dup2(file.fileno(), 1)
            with atomic_file(path) as partial:
                partial.write_text("after\n")

        assert in_a_fork(write) == 0
        assert os.fstat(file.fileno()).st_ino == (tmp_path / "file").stat().st_ino
    assert (tmp_path / "file").read_text() == "before\nafter\n"


def test_no_disk_is_written_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk = os.stat_result((stat.S_IFBLK | 0o600, *[0] * 9))
    monkeypatch.setattr("tokbench.atomic.places.os.stat", lambda _: disk)

    def write() -> None:
        with atomic_file("/dev/sda"):
            raise AssertionError("the work began")

    assert told(write) == "/dev/sda: no file, but a disk; name a file"
