"""Outputs appear whole or not at all, and nothing that is not Tokbench's own is ever replaced."""

import errno
import importlib
import json
import os
import resource
import signal
import stat
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Tokbench
from tokbench.atomic import atomic_file, atomic_files, atomic_folder, exchange, remove_written
from tokbench.atomic.partial import new_name
from tokbench.commands.main import VERBS
from tokbench.commands.outputs import OutputFolder
from tokbench.registry import TokbenchError


def fill(folder: Path, text: str = "new", kind: Any = "tables") -> None:
    with atomic_folder(folder, kind) as partial:
        (partial / "within").mkdir()
        (partial / "a.csv").write_text(text)
        (partial / "within" / "b.csv").write_text(text)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def told(block: Callable[[], Any]) -> str:
    """The message of the refusal that a call ends with."""
    with pytest.raises(TokbenchError) as refusal:
        block()
    return str(refusal.value)


def in_a_fork(action: Callable[[], None]) -> int:
    """Run something in a forked process and give how that ended."""
    if (process := os.fork()) == 0:
        try:
            action()
            os._exit(0)
        except SystemExit as end:
            os._exit(int(end.code or 0))
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


# What may be replaced


def test_a_folder_that_tokbench_wrote_is_replaced(tmp_path: Path) -> None:
    fill(tmp_path / "out", "old")
    (tmp_path / "out" / ".snakemake_timestamp").touch()
    fill(tmp_path / "out")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == [".tokbench.json", "a.csv", "within"]
    assert (tmp_path / "out" / "within" / "b.csv").read_text() == "new"
    record = json.loads((tmp_path / "out" / ".tokbench.json").read_text())
    assert record == {"kind": "tables", "files": ["a.csv", "within/b.csv"]}


@pytest.mark.parametrize("there", [[], [".snakemake_timestamp"]])
def test_an_empty_folder_is_taken(there: list[str], tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    for name in there:
        (tmp_path / "out" / name).touch()
    fill(tmp_path / "out")
    assert (tmp_path / "out" / "a.csv").read_text() == "new"


def test_a_folder_of_the_users_own_stays(tmp_path: Path) -> None:
    (tmp_path / "out" / "deep").mkdir(parents=True)
    (tmp_path / "out" / "deep" / "thesis.tex").touch()
    (tmp_path / ".out.partial").mkdir()
    message = told(lambda: fill(tmp_path / "out"))
    assert message == (f"{tmp_path / 'out'}: holds deep/thesis.tex, which Tokbench did not write; name another folder")
    fill(tmp_path / "other")
    (tmp_path / "other" / "notes").touch()
    assert "holds notes, which" in told(lambda: fill(tmp_path / "other"))
    assert names(tmp_path) == [".out.partial", "other", "out"]
    assert names(tmp_path / "other") == [".tokbench.json", "a.csv", "notes", "within"]


def test_a_file_that_comes_while_the_folder_is_made_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the end of the block, and between the last look and the exchange of the names."""
    fill(tmp_path / "out", "old")

    def added(name: str) -> None:
        with atomic_folder(tmp_path / "out", "tables"):
            (tmp_path / "out" / name).touch()

    assert "holds notes, which" in told(lambda: added("notes"))
    (tmp_path / "out" / "notes").unlink()

    def late(one: Path, other: Path, exchange_names: Callable[[Path, Path], int] = exchange.exchange) -> int:
        (tmp_path / "out" / "late").touch()
        return exchange_names(one, other)

    for replacement in (late, lambda one, other: late(one, other, lambda *_: errno.ENOSYS)):
        with monkeypatch.context() as patch:
            patch.setattr(exchange, "exchange", replacement)
            assert f"{tmp_path / 'out'}: holds late, which" in told(lambda: fill(tmp_path / "out"))
        assert (tmp_path / "out" / "a.csv").read_text() == "old"
        (tmp_path / "out" / "late").unlink()
    assert names(tmp_path) == ["out"]


def test_one_kind_never_replaces_another(tmp_path: Path) -> None:
    fill(tmp_path / "out", "old", "corpus")
    message = told(lambda: fill(tmp_path / "out", kind="tokenizer"))
    assert message == (
        f"{tmp_path / 'out'}: holds other output (corpus, not tokenizer); remove it, or name another folder"
    )
    assert (tmp_path / "out" / "a.csv").read_text() == "old"


@pytest.mark.parametrize("record", ["", "[]", "{}", '{"kind": "cake", "files": []}', '{"kind": "tables", "files": 1}'])
def test_a_record_that_is_none_allows_nothing(record: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".tokbench.json").write_text(record)
    (tmp_path / "out" / "a.csv").touch()
    assert "holds a.csv, which" in told(lambda: fill(tmp_path / "out"))


def test_names_that_are_taken_otherwise(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    remedy = "a file stands here; remove it, or name another folder"
    assert told(lambda: fill(tmp_path / "file")) == f"{tmp_path / 'file'}: {remedy}"
    remedy = "one of its folders is a file; remove that, or name another output"
    assert told(lambda: fill(tmp_path / "file" / "out")) == f"{tmp_path / 'file' / 'out'}: {remedy}"

    def write(path: Path) -> None:
        with atomic_file(path):
            raise AssertionError("the work began")

    assert told(lambda: write(tmp_path / "file" / "out")) == f"{tmp_path / 'file' / 'out'}: {remedy}"
    remedy = "a folder stands here; name a file"
    assert told(lambda: write(tmp_path / "folder")) == f"{tmp_path / 'folder'}: {remedy}"

    def taken_meanwhile(path: Path) -> None:
        with atomic_file(path):
            path.mkdir()

    assert told(lambda: taken_meanwhile(tmp_path / "late")) == f"{tmp_path / 'late'}: {remedy}"
    (tmp_path / "late").rmdir()
    assert names(tmp_path) == ["file", "folder"]


def test_every_command_refuses_before_it_works(tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").touch()
    refusing = []
    for verb in VERBS:
        command: click.Command = importlib.import_module(f"tokbench.commands.{verb}").command
        for option in command.params:
            if option.name == "output" and isinstance(option.type, click.Path) and not option.type.file_okay:
                assert isinstance(option.type, OutputFolder), verb
                refusing.append(verb)
                message = tokbench(verb, "-o", tmp_path / "notes").message
                assert f"{tmp_path / 'notes'}: holds thesis.tex, which Tokbench did not write" in message
                message = tokbench(verb, "-o", tmp_path / "notes" / "thesis.tex").message
                assert "thesis.tex: a file stands here; remove it, or name another folder" in message
    assert len(refusing) == 14
    assert names(tmp_path / "notes") == ["thesis.tex"]


def test_only_what_was_written_is_removed(tmp_path: Path) -> None:
    fill(tmp_path / "step-1", kind="checkpoint")
    fill(tmp_path / "step-2", kind="checkpoint")
    (tmp_path / "step-2" / "notes").touch()
    (tmp_path / "step-3").mkdir()
    (tmp_path / "step-3" / "notes").touch()
    for folder in [*tmp_path.iterdir(), tmp_path / "absent"]:
        remove_written(folder, "checkpoint")
    assert names(tmp_path) == ["step-2", "step-3"]


# Links, devices, pipes


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


# Several processes, and those that were killed


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


@pytest.mark.parametrize("together", [True, False])
def test_racing_folders_end_whole(together: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With names exchanged at one stroke, and on file systems that cannot do that."""
    if not together:
        monkeypatch.setattr(exchange, "exchange", lambda *_: errno.ENOSYS)

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


def test_sigterm_leaves_nothing(tmp_path: Path) -> None:
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


# No space


@contextmanager
def small_files() -> Iterator[None]:
    """No file may have more than 64 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


NUMBERS = np.random.default_rng(0).integers(0, 1 << 60, 50_000)


def with_torch(path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save({"a": torch.from_numpy(NUMBERS)}, path)


def with_safetensors(path: Path) -> None:
    pytest.importorskip("safetensors.numpy").save_file({"a": NUMBERS}, path)


def with_tokenizers(path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizers.Tokenizer(tokenizers.models.BPE({str(number): number for number in range(20_000)}, [])).save(str(path))


def with_row_groups(path: Path) -> None:
    table = pa.table({"a": NUMBERS})
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)


WRITERS = {
    "python": lambda path: path.write_bytes(NUMBERS.tobytes()),
    "numpy": lambda path: np.save(path.open("wb"), NUMBERS),
    "polars_parquet": lambda path: pl.DataFrame({"a": NUMBERS}).write_parquet(path),
    "polars_csv": lambda path: pl.DataFrame({"a": NUMBERS}).write_csv(path),
    "pyarrow": lambda path: pq.write_table(pa.table({"a": NUMBERS}), path),
    "row_groups": with_row_groups,
    "torch": with_torch,
    "safetensors": with_safetensors,
    "tokenizers": with_tokenizers,
}


@pytest.mark.parametrize("writer", WRITERS)
def test_no_space_is_told_and_loses_nothing(writer: str, tmp_path: Path) -> None:
    fill(tmp_path / "out", "old")
    (tmp_path / "file").write_text("old")

    def in_file() -> None:
        with small_files(), atomic_file(tmp_path / "file") as partial:
            WRITERS[writer](partial)

    def in_folder() -> None:
        with small_files(), atomic_folder(tmp_path / "out", "tables") as partial, atomic_file(partial / "b") as inner:
            WRITERS[writer](inner)

    for path, block in ((tmp_path / "file", in_file), (tmp_path / "out", in_folder)):
        message = told(block)
        assert message.startswith(f"{path}: cannot be written whole (")
        assert message.endswith(f"); make room in {tmp_path}, or write elsewhere")
        assert "\n" not in message
    assert names(tmp_path) == ["file", "out"]
    assert (tmp_path / "file").read_text() == (tmp_path / "out" / "a.csv").read_text() == "old"


def test_a_full_disk_on_the_command_line(tmp_path: Path, tokbench: Tokbench) -> None:
    """``tabulate`` writes with polars, whose errors are its own."""
    done = tokbench("tabulate", "-o", tmp_path / "tables")
    assert done.status == 0, done.stderr
    before = {file.name: file.read_bytes() for file in (tmp_path / "tables").iterdir()}
    disk = tmp_path / "disk"
    disk.mkdir()
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tokbench", disk], capture_output=True)
    except OSError:
        mounted = subprocess.CompletedProcess([], 1)
    if mounted.returncode:
        pytest.skip("no small disk can be mounted here")
    try:
        assert tokbench("tabulate", "-o", disk / "tables").message == (
            f"tokbench: {disk / 'tables'}: cannot be written whole (No space left on device); make room in {disk}, or "
            "write elsewhere"
        )
        assert names(disk) == []
    finally:
        subprocess.run(["umount", disk], check=True)
    assert {file.name: file.read_bytes() for file in (tmp_path / "tables").iterdir()} == before


def test_errors_that_name_no_file_get_the_output(tmp_path: Path) -> None:
    for error, name in ((OSError(errno.EIO, "I/O"), str(tmp_path / "x")), (BrokenPipeError(errno.EPIPE, "p"), None)):
        with pytest.raises(OSError) as raised, atomic_file(tmp_path / "x"):  # noqa: PT011
            raise error
        assert raised.value.filename == name
    with pytest.raises(OSError, match="/proc/absent") as raised, atomic_file("/proc/absent"):
        raise AssertionError("nothing can be made there")
    assert raised.value.filename == "/proc/absent"
    with pytest.raises(TokbenchError, match=r"^not of space$"), atomic_file(tmp_path / "x"):
        raise TokbenchError("not of space")
    assert names(tmp_path) == []


# Files that go into a folder among others


def test_files_go_into_a_folder_together(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()

    def write(*written: str, fail: bool = False) -> None:
        with atomic_files(tmp_path, "tokenizer", last="z", stale=("a", "b", "c")) as partial:
            for name in written:
                (partial / name).write_text(str(written))
            if fail:
                raise ValueError(fail)

    write("a", "b", "z")
    with pytest.raises(ValueError, match="True"):
        write("c", "z", fail=True)
    assert names(tmp_path) == [".tokbench.json", "a", "b", "thesis.tex", "z"]
    write("c", "z")
    assert names(tmp_path) == [".tokbench.json", "c", "thesis.tex", "z"]
    assert "holds thesis.tex, which" in told(lambda: fill(tmp_path, kind="tokenizer"))
    (tmp_path / "thesis.tex").unlink()
    fill(tmp_path, kind="tokenizer")
    assert names(tmp_path) == [".tokbench.json", "a.csv", "within"]
