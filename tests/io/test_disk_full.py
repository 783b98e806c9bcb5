"""A full disk is a one-line error, and nothing is lost.

Published tables and shared folders survive failures.

One process at a time in a folder that several may share.
"""

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snakemake_logger_plugin_lines import write_error_in
from tests.conftest import Tokbench
from tests.support.files import fill, names, small_files, told
from tests.support.rules import RULES
from tests.support.workflow.checkout import ROOT, Checkout
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file, atomic_folder
from tokbench.io.locks import exclusive, lock_folder

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
def test_full_disk_is_one_error_line_and_loses_nothing(writer: str, tmp_path: Path) -> None:
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
        assert message.startswith(f"{path}: cannot be written completely (")
        assert message.endswith(f"); make room in {tmp_path}, or name another place")
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
            f"tokbench: {disk / 'tables'}: cannot be written completely (No space left on device); make room in "
            f"{disk}, or name another place"
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


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("Traceback\nOSError: [Errno 28] No space left on device: 'results/logs/a.log'", "results/logs/a.log"),
        ("OSError: [Errno 28] No space left on device", ".snakemake"),
        (
            "WorkflowError:\nError recording metadata for finished job ([Errno 28] No space left on device). "
            "Please ensure write permissions for the directory /checkout/.snakemake",
            ".snakemake",
        ),
    ],
)
def test_full_disk_of_the_engine_is_one_line_with_a_remedy(text: str, place: str) -> None:
    line = f"tokbench: {place}: No space left on device; make room there and run again: finished outputs are kept"
    assert write_error_in(text) == line
    assert write_error_in(text.replace("[Errno 28] No space left on device", "killed")) is None


@pytest.mark.parametrize(
    ("variables", "place"),
    [
        ({"HOME": "/no/home"}, "/no/home"),
        ({"HOME": "/no/home"}, "/no/home/.cache/snakemake"),
        ({"HOME": "/no/home", "XDG_CACHE_HOME": "/var/caches"}, "/var/caches"),
    ],
)
def test_a_cache_that_cannot_be_made_names_its_variables(
    variables: dict[str, str], place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    remedy = "set HOME or XDG_CACHE_HOME to a folder that can be written to and run again: finished outputs are kept"
    denied = "PermissionError: [Errno 13] Permission denied: '{}'"
    assert write_error_in(denied.format(place)) == f"tokbench: {place}: Permission denied; {remedy}"
    assert "allow writing there" in str(write_error_in(denied.format("/elsewhere/results")))


PATIENCE = 120.0
"""Seconds until a test gives up waiting for a run to start."""


@pytest.mark.parametrize("name", RULES)
def test_declared_outputs_may_be_lost(name: str) -> None:
    """The workflow engine deletes the outputs of failed jobs, so none lies where something is kept."""
    declared = re.findall(r'"([^"]*/[^"]*)"', RULES[name][1]["output"])
    places = [path for path in declared if not path.startswith(("../report/", "figures/"))]
    assert places
    assert all(path.startswith(("<results>/", "<resources>/")) for path in places)
    assert "results=experiment.folder," in (ROOT / "Snakefile").read_text()


def test_failed_job_keeps_published_files(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path, stand_in=True)
    (tmp_path / "config.yaml").write_text((ROOT / "config.yaml").read_text())
    (tmp_path / "src" / "tokbench" / "__main__.py").write_text("raise SystemExit(1)")
    kept = tmp_path / "results" / "published" / "papers" / "README.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("kept")
    checkout.snakemake("--cores", "1", "published", status=1)
    checkout.close()
    assert kept.read_text() == "kept"
    assert list(kept.parent.iterdir()) == [kept]


def test_published_folder_is_replaced_after_all_files_are_written(
    tmp_path: Path, tokbench: Tokbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    def written(folder: str, released: object) -> list[object]:
        with atomic_folder(folder, "published") as partial:
            (partial / "README.md").write_text("new")
        return []

    kept = tmp_path / "papers"
    with atomic_folder(kept, "published") as partial:
        (partial / "old.md").write_text("old")
    monkeypatch.setattr("tokbench.report.published.write_published", written)
    (tmp_path / "taken").write_text("no folder")
    command = ("published", "-o", tmp_path / "out", "--keep", kept)
    assert tokbench(*command, "--numbers", tmp_path / "taken" / "numbers.csv").status == 2
    assert [file.name for file in kept.glob("*.md")] == ["old.md"]
    assert tokbench(*command).status == 0
    assert [file.name for file in kept.glob("*.md")] == ["README.md"]


def test_folder_is_locked_until_its_process_ends(tmp_path: Path) -> None:
    """A process that was killed holds nothing, whatever it left behind."""
    told, tell = os.pipe()
    child = os.fork()
    if not child:
        lock_folder(tmp_path)
        os.write(tell, b".")
        signal.pause()
    os.read(told, 1)
    with pytest.raises(TokbenchError, match=rf"^{tmp_path}: process {child} on \S+, started in .*, is at work in"):
        lock_folder(tmp_path)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    lock_folder(tmp_path)


def test_a_folder_that_cannot_be_written_to_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(TokbenchError, match=r"^results: .*/file/demo: Not a directory; name a folder"):
        lock_folder(tmp_path / "file" / "demo")


def test_two_checkouts_and_one_folder_of_results(tmp_path: Path) -> None:
    """The second run ends with one line, and harms nothing."""
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = (Checkout(tmp_path / name, stand_in=True) for name in ("one", "two"))
    (tmp_path / "one" / "src" / "tokbench" / "__main__.py").write_text("import time\ntime.sleep(600)")
    command = ("--cores", "1", "--until", "prepare", "--config", f"results={tmp_path / 'shared'}")
    configuration = ("--configfile", str(ROOT / "config.yaml"))
    folder = tmp_path / "shared" / "demo"

    first = one.start(*command, *configuration)
    end = time.monotonic() + PATIENCE
    while not list(folder.glob("logs/prepare/*")):
        assert first.poll() is None, first.communicate()[0]
        assert time.monotonic() < end
        time.sleep(0.05)
    printed = two.snakemake(*command, *configuration, status=1)
    two.close()
    assert f"\ntokbench: {folder}: process {first.pid} on " in printed
    assert "Traceback" not in printed
    assert first.poll() is None

    os.killpg(first.pid, signal.SIGKILL)
    first.communicate()


HOLDS = """
import logging, sys
from pathlib import Path
from tokbench.io.locks import exclusive

logging.basicConfig(stream=sys.stdout, level=logging.INFO)
with exclusive(Path(sys.argv[1])) as waited:
    Path(sys.argv[2]).write_text(str(waited))
    sys.stdin.readline()
"""
ALONE_PATIENCE = 60.0


def until(condition: object) -> None:
    end = time.monotonic() + ALONE_PATIENCE
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
        with exclusive(tmp_path / "folder") as waited:
            assert not waited
            assert [path.name for path in tmp_path.iterdir()] == [".folder.lock"]
    assert list(tmp_path.iterdir()) == []
