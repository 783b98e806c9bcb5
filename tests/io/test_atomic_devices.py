"""Outputs go through links and to standard output, and into no device and no pipe.

Files that commands write: no input and no file of others is replaced, and modes are kept.
"""

import os
import stat
from contextlib import suppress
from pathlib import Path

import click
import numpy as np
import pytest

from tests.conftest import Tokbench
from tests.support.files import fill, in_a_fork, names, told
from tokbench.commands.declaration import declarations, find_command
from tokbench.commands.outputs import COUNTS, OutputFile, OutputFolder, columns, keys, page
from tokbench.io.atomic import atomic_file, atomic_files
from tokbench.pretokens import PretokenCounts


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


NOTES = b"the cat sat on the mat"
FOREIGN = "the file exists, and nothing in it shows that Tokbench wrote it as the same kind of output; "
INPUTS = {"--archives", "--checkpoints", "--comet", "--configfile", "--counts", "--file", "--initial"}
"""Options of paths that need not exist and are no outputs."""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    path = tmp_path / "notes.txt"
    path.write_bytes(NOTES)
    return path


def test_every_file_that_is_written_is_checked() -> None:
    checked = []
    for name in declarations():
        command: click.Command = find_command(name)
        for option in command.params:
            if isinstance(option, click.Option) and isinstance(option.type, click.Path) and not option.type.exists:
                known = isinstance(option.type, OutputFile | OutputFolder) or INPUTS & {*option.opts}
                assert known, f"{name} {option.opts}"
                checked += [name] * isinstance(option.type, OutputFile)
    assert len(checked) == 38


def test_an_input_is_no_output(notes: Path, tokenizer: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """By its name, a link of either kind, or another way to it; a tokenizer's own file neither."""
    (tmp_path / "hard").hardlink_to(notes)
    (tmp_path / "soft").symlink_to(notes)
    for output in (notes, tmp_path / "hard", tmp_path / "soft", tmp_path / "." / "notes.txt"):
        message = tokbench("encode", tokenizer, notes, "-o", output).message
        assert message.endswith(f"{output}: the same file as the input {notes}; name another file for the output")
    before = (tokenizer / "tokens.vocab").read_bytes()
    assert FOREIGN in tokbench("encode", tokenizer, notes, "-o", tokenizer / "tokens.vocab").message
    assert (notes.read_bytes(), (tokenizer / "tokens.vocab").read_bytes()) == (NOTES, before)
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["hard", "notes.txt", "soft"]


def test_counts_are_not_merged_into_a_part(counts: PretokenCounts, tmp_path: Path, tokbench: Tokbench) -> None:
    part = tmp_path / "part.parquet"
    counts.write(part)
    before = part.read_bytes()
    message = tokbench("merge_counts", part, "-o", part).message
    assert message.endswith(f"{part}: the same file as the input {part}; name another file for the output")
    assert part.read_bytes() == before
    assert tokbench("merge_counts", part, "-o", tmp_path / "whole.parquet").status == 0


@pytest.mark.parametrize("output", ["ids", "ids.npy"])
def test_files_of_others_stay(output: str, notes: Path, tokenizer: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """Outputs without a mark of their kind are not replaced, not even by the same command."""
    path = tmp_path / output
    if output.endswith(".npy"):
        np.save(path, np.arange(5, dtype=np.int32))
    else:
        path.write_text("1 2 3\n")
    before = path.read_bytes()
    said = tokbench("encode", tokenizer, notes, "-o", path).message
    assert said.endswith(f"{path}: {FOREIGN}name another file, or remove this one")
    assert path.read_bytes() == before
    path.write_bytes(b"")
    assert tokbench("encode", tokenizer, notes, "-o", path).status == 0
    text = tmp_path / "text"
    assert tokbench("decode", tokenizer, path, "-o", text).status == 0
    assert text.read_bytes() == NOTES
    assert FOREIGN in tokbench("decode", tokenizer, path, "-o", text).message


def test_own_outputs_are_replaced(notes: Path, tokenizer: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    written = {
        "counts.parquet": ["count", "--pretokenization", "gpt2", notes],
        "measured.json": ["measure", tokenizer, "--counts", tmp_path / "counts.parquet"],
        "certificate": ["bound", "--counts", tmp_path / "counts.parquet", "--size", 258],
        "bits.json": ["ngram_bits", tokenizer, "--train", notes, "--test", notes],
    }
    for name, command in written.items():
        for _ in range(2):
            done = tokbench(*command, "-o", tmp_path / name)
            assert done.status == 0, done.stderr
    for name, command in written.items():
        for other in {*written, notes.name} - {name}:
            assert "name another file" in tokbench(*command, "-o", tmp_path / other).message, (name, other)


def test_two_outputs_in_one_file(notes: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    counts, both = tmp_path / "counts.parquet", tmp_path / "both"
    assert tokbench("count", "--pretokenization", "gpt2", notes, "-o", counts).status == 0
    bound = ["bound", "--counts", counts, "--size", 258]
    assert "two outputs have this name" in tokbench(*bound, "--result", both, "-o", both).message
    assert not both.exists()
    assert "two outputs have this name" in tokbench(*bound, "--result", "-", "-o", "-").message
    assert tokbench(*bound, "--result", "-", "-o", both).stdout.startswith(b"{")


def test_marks(tmp_path: Path, counts: PretokenCounts) -> None:
    path = tmp_path / "file"
    counts.write(path)
    assert COUNTS(path)
    assert not columns("pretoken", "count", "more")(path)
    assert not columns("pretoken")(path)
    for text, found in (
        ('{"a": 1, "b": 2}\n', True),
        ('{\n "a": 1,\n "b": 2\n}\n', True),
        ('{"a": 1, "b": 2}\nx', True),
    ):
        path.write_text(text)
        assert keys("a", "b")(path) == found
        assert not keys("a", "c")(path)
    for text in ("", "{", "[1]", '"a b"', "\xff", "[" * 100_000):
        path.write_text(text, encoding="latin-1")
        assert not any(mark(path) for mark in (keys("a"), COUNTS, page))


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_modes_are_kept(mode: int, tmp_path: Path) -> None:
    """Of a file, of a file that a link leads to, of a file in a folder that is added to, and of a folder."""
    file, folder = tmp_path / "file", tmp_path / "folder"
    (tmp_path / "link").symlink_to(file)
    fill(folder, "old")
    folder.chmod(mode | 0o100)
    for path in (file, tmp_path / "link"):
        file.write_text("old")
        file.chmod(mode)
        with atomic_file(path) as partial:
            partial.write_text("new")
        assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", mode)
    fill(folder, "new")
    assert stat.S_IMODE(folder.stat().st_mode) == mode | 0o100
    for text in ("old", "new"):
        with atomic_files(tmp_path / "files", "tokenizer", last="a") as partial:
            (partial / "a").write_text(text)
        assert (tmp_path / "files" / "a").read_text() == text
        if text == "old":
            (tmp_path / "files" / "a").chmod(mode)
    assert stat.S_IMODE((tmp_path / "files" / "a").stat().st_mode) == mode
    umask = os.umask(0)
    os.umask(umask)
    with atomic_file(tmp_path / "new") as partial:
        partial.touch()
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666 & ~umask
