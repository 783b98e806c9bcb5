"""Outputs appear completely or not at all, and files of other programs are never replaced.

Several processes that write the same output, and those that were killed.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from tests.conftest import Tokbench
from tests.support.files import fill, in_a_fork, names, told
from tokbench.commands.declaration import declarations, find_command
from tokbench.commands.outputs import OutputFolder
from tokbench.io.atomic import atomic_file, atomic_files, atomic_folder, reject_altered, remove_written
from tokbench.io.output_place import new_name


def test_a_folder_that_tokbench_wrote_is_replaced(tmp_path: Path) -> None:
    fill(tmp_path / "out", "old")
    (tmp_path / "out" / ".snakemake_timestamp").touch()
    fill(tmp_path / "out")
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == [".tokbench.json", "a.csv", "within"]
    assert (tmp_path / "out" / "within" / "b.csv").read_text() == "new"
    record = json.loads((tmp_path / "out" / ".tokbench.json").read_text())
    assert record == {"kind": "tables", "files": ["a.csv", "within/b.csv"]}


@pytest.mark.parametrize("name", ["table.parquet", "model.safetensors", "optimizer.pt", "counts.npy"])
@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: bytes([data[0] ^ 1]) + data[1:]])
def test_altered_files_are_rejected(name: str, damage: Callable[[bytes], bytes], tmp_path: Path) -> None:
    file = tmp_path / "out" / name
    with atomic_folder(tmp_path / "out", "model") as partial:
        (partial / name).write_bytes(b"weights")
    with atomic_files(tmp_path / "out", "model", last="more.parquet") as partial:
        (partial / "more.parquet").write_bytes(b"more")
    reject_altered(file, "make it again")
    reject_altered(tmp_path / "out" / "more.parquet", "make it again")
    reject_altered(tmp_path / "elsewhere.parquet", "make it again")
    file.write_bytes(damage(file.read_bytes()))
    assert told(lambda: reject_altered(file, "make it again")) == f"{file}: not as it was written; make it again"


def test_files_with_checksums_of_their_own_are_not_read_again(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "out", "corpus") as partial:
        (partial / "0000.parquet").touch()
    record = json.loads((tmp_path / "out" / ".tokbench.json").read_text())
    assert record == {"kind": "corpus", "files": ["0000.parquet"]}


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
    assert message == (
        f"{tmp_path / 'out'}: contains deep/thesis.tex, which Tokbench did not write; name another folder"
    )
    fill(tmp_path / "other")
    (tmp_path / "other" / "notes").touch()
    assert "contains notes, which" in told(lambda: fill(tmp_path / "other"))
    assert names(tmp_path) == [".out.partial", "other", "out"]
    assert names(tmp_path / "other") == [".tokbench.json", "a.csv", "notes", "within"]


def test_a_file_that_comes_while_the_folder_is_made_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the end of the block, and between the last check and the change of the names."""
    fill(tmp_path / "out", "old")

    def added(name: str) -> None:
        with atomic_folder(tmp_path / "out", "tables"):
            (tmp_path / "out" / name).touch()

    assert "contains notes, which" in told(lambda: added("notes"))
    (tmp_path / "out" / "notes").unlink()

    renamed = os.rename

    def late(source: Path, target: Path) -> None:
        if source == tmp_path / "out":
            (source / "late").touch()
        renamed(source, target)

    with monkeypatch.context() as patch:
        patch.setattr("tokbench.io.atomic.os.rename", late)
        assert "contains late, which" in told(lambda: fill(tmp_path / "out"))
    assert (tmp_path / "out" / "a.csv").read_text() == "old"
    (tmp_path / "out" / "late").unlink()
    assert names(tmp_path) == ["out"]


def test_one_kind_never_replaces_another(tmp_path: Path) -> None:
    fill(tmp_path / "out", "old", "corpus")
    message = told(lambda: fill(tmp_path / "out", kind="tokenizer"))
    assert message == (
        f"{tmp_path / 'out'}: contains other output (corpus, not tokenizer); remove it, or name another folder"
    )
    assert (tmp_path / "out" / "a.csv").read_text() == "old"


@pytest.mark.parametrize(
    "record",
    [
        "",
        "[]",
        "{}",
        '{"kind": "cake", "files": []}',
        '{"kind": "tables", "files": 1}',
        '{"kind": "tables", "files": ["a.csv"], "sha256": 1}',
        '{"kind": "tables", "files": ["a.csv"], "sha256": {"a.csv": 1}}',
    ],
)
def test_a_record_that_is_none_allows_nothing(record: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".tokbench.json").write_text(record)
    (tmp_path / "out" / "a.csv").touch()
    assert "contains a.csv, which" in told(lambda: fill(tmp_path / "out"))


def test_names_that_are_taken_otherwise(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    remedy = "is a file; remove it, or name another folder"
    assert told(lambda: fill(tmp_path / "file")) == f"{tmp_path / 'file'}: {remedy}"
    remedy = "one of its folders is a file; remove that, or name another output"
    assert told(lambda: fill(tmp_path / "file" / "out")) == f"{tmp_path / 'file' / 'out'}: {remedy}"

    def write(path: Path) -> None:
        with atomic_file(path):
            raise AssertionError("the work began")

    assert told(lambda: write(tmp_path / "file" / "out")) == f"{tmp_path / 'file' / 'out'}: {remedy}"
    remedy = "is a folder; name a file"
    assert told(lambda: write(tmp_path / "folder")) == f"{tmp_path / 'folder'}: {remedy}"

    def taken_meanwhile(path: Path) -> None:
        with atomic_file(path):
            path.mkdir()

    assert told(lambda: taken_meanwhile(tmp_path / "late")) == f"{tmp_path / 'late'}: {remedy}"
    (tmp_path / "late").rmdir()
    assert names(tmp_path) == ["file", "folder"]


def test_every_command_rejects_before_it_works(tmp_path: Path, tokbench: Tokbench) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.tex").touch()
    rejecting = []
    for name in declarations():
        command: click.Command = find_command(name)
        for option in command.params:
            if option.name == "output" and isinstance(option.type, click.Path) and not option.type.file_okay:
                assert isinstance(option.type, OutputFolder), name
                rejecting.append(name)
                message = tokbench(name, "-o", tmp_path / "notes").message
                assert f"{tmp_path / 'notes'}: contains thesis.tex, which Tokbench did not write" in message
                message = tokbench(name, "-o", tmp_path / "notes" / "thesis.tex").message
                assert "thesis.tex: is a file; remove it, or name another folder" in message
    assert len(rejecting) == 27
    assert names(tmp_path / "notes") == ["thesis.tex"]


def test_only_own_files_are_removed(tmp_path: Path) -> None:
    fill(tmp_path / "step-1", kind="checkpoint")
    fill(tmp_path / "step-2", kind="checkpoint")
    (tmp_path / "step-2" / "notes").touch()
    (tmp_path / "step-3").mkdir()
    (tmp_path / "step-3" / "notes").touch()
    for folder in [*tmp_path.iterdir(), tmp_path / "absent"]:
        remove_written(folder, "checkpoint")
    assert names(tmp_path) == ["step-2", "step-3"]


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
    assert "contains thesis.tex, which" in told(lambda: fill(tmp_path, kind="tokenizer"))
    (tmp_path / "thesis.tex").unlink()
    fill(tmp_path, kind="tokenizer")
    assert names(tmp_path) == [".tokbench.json", "a.csv", "within"]


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


def test_concurrent_writers_leave_one_complete_folder(tmp_path: Path) -> None:
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
