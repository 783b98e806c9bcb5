"""No space for an output is told in one line, and nothing is lost by it."""

import errno
import subprocess
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from snakemake_logger_plugin_lines import of_engine
from tests.conftest import Tokbench
from tests.support.outputs import fill, names, small_files, told
from tokbench.atomic import atomic_file, atomic_folder
from tokbench.errors import TokbenchError

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
def test_what_the_engine_cannot_write_is_told_with_its_remedy(text: str, place: str) -> None:
    line = f"tokbench: {place}: No space left on device; make room there and run again: what is finished is kept"
    assert of_engine(text) == line
    assert of_engine(text.replace("[Errno 28] No space left on device", "killed")) is None


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
    remedy = "set HOME or XDG_CACHE_HOME to a folder that can be written to and run again: what is finished is kept"
    denied = "PermissionError: [Errno 13] Permission denied: '{}'"
    assert of_engine(denied.format(place)) == f"tokbench: {place}: Permission denied; {remedy}"
    assert "let it be written to" in str(of_engine(denied.format("/elsewhere/results")))
