"""Checkpoints in a storage: an interrupted training continues from them on another machine, with the same weights."""

import logging
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.files import names
from tests.support.pipeline import ROOT
from tokbench.models import kept_checkpoints as kept


def written(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(file)


def below(folder: Path) -> set[str]:
    return {file.relative_to(folder).as_posix() for file in folder.rglob("*") if file.is_file()}


CHECKPOINT = ("recipe.json", "curve.csv", "states/ba3.pt", "states/ba3.pt.sha256", "gauges/0.csv")


def test_a_failed_training_leaves_its_checkpoints(tmp_path: Path) -> None:
    first, place = tmp_path / "first" / "checkpoints", str(tmp_path / "storage" / "kept")

    def interrupted() -> None:
        with kept.kept_checkpoints(first, place):
            written(first, *CHECKPOINT, "states/ba6.partial", "logs/0.log", "stream.u16")
            (first / "states" / "latest.pt").symlink_to("ba3.pt")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    second = tmp_path / "second" / "checkpoints"
    with kept.kept_checkpoints(second, place):
        assert below(second) == set(CHECKPOINT)
        assert (second / "states" / "ba3.pt").read_text() == "states/ba3.pt"
    assert not Path(place).exists(), "the training succeeded"


def test_a_folder_with_a_checkpoint_is_left_as_it_is(tmp_path: Path) -> None:
    place = str(tmp_path / "kept")
    copies = kept.Copies(tmp_path / "one", place)
    written(tmp_path / "one", *CHECKPOINT)
    copies.keep()
    written(tmp_path / "other", "recipe.json", "states/ba6.pt")
    kept.Copies(tmp_path / "other", place).restore()
    assert below(tmp_path / "other") == {"recipe.json", "states/ba6.pt"}


def test_the_earlier_copy_counts_until_the_next_is_complete(tmp_path: Path) -> None:
    folder, place = tmp_path / "one", tmp_path / "kept"
    copies = kept.Copies(folder, str(place))
    written(folder, *CHECKPOINT)
    copies.keep()
    [complete] = (name for name in kept.COPIES if (place / name).exists())
    [other] = set(kept.COPIES) - {complete}
    written(place / other, "states/ba6.pt")
    kept.Copies(tmp_path / "second", str(place)).restore()
    assert below(tmp_path / "second") == set(CHECKPOINT)
    (folder / "states" / "ba3.pt").unlink()
    (folder / "states" / "ba3.pt.sha256").unlink()
    written(folder, "states/ba6.pt", "states/ba6.pt.sha256")
    copies.keep()
    kept.Copies(tmp_path / "third", str(place)).restore()
    assert names(tmp_path / "third" / "states") == ["ba6.pt", "ba6.pt.sha256"]


def test_a_place_that_fails_is_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    written(tmp_path, "file")
    place = str(tmp_path / "file" / "kept")
    with kept.kept_checkpoints(tmp_path / "checkpoints", place):
        written(tmp_path / "checkpoints", *CHECKPOINT)
        copies = kept.Copies(tmp_path / "checkpoints", place)
        copies.attempt(copies.keep)
        copies.attempt(copies.keep)
    [line] = [record.getMessage() for record in caplog.records if "are not kept there" in record.getMessage()]
    assert line.startswith(place)


def test_a_storage_without_the_bucket_is_one_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a checkpoint that the training replaces is no failure."""

    def missing(copies: kept.Copies) -> None:
        raise FileNotFoundError("no such bucket")

    written(tmp_path / "checkpoints", *CHECKPOINT)
    copies = kept.Copies(tmp_path / "checkpoints", "s3://none")
    monkeypatch.setattr(kept.Copies, "_place", missing)
    copies.attempt(copies.keep)
    assert "s3://none: checkpoints are not kept there (no such bucket)" in caplog.text
    (tmp_path / "checkpoints" / CHECKPOINT[0]).unlink()
    monkeypatch.setattr(kept, "_checkpoints", lambda folder: [CHECKPOINT[0]])
    caplog.clear()
    copies = kept.Copies(tmp_path / "checkpoints", "s3://none")
    copies.attempt(copies.keep)
    assert caplog.text == ""


KILLED = """
import os, sys
from pathlib import Path
from tests.models.test_kept_checkpoints import train
from tokbench.models import kept_checkpoints as kept
from tokbench.models.byte_lm import train as byte_training

save, machine, storage = byte_training._save, *sys.argv[1:]

def save_and_end(*values):
    save(*values)
    kept.Copies(Path(machine, "checkpoints"), storage).keep()
    os._exit(3)

byte_training._save = save_and_end
train(Path(machine), storage)
"""
"""Program that trains on a machine and ends without cleanup after its first checkpoint is in the storage."""


def train(machine: Path, storage: str) -> Path:
    """Train a byte-level language model in a machine's folder, with its checkpoints in the storage."""
    from tokbench.models.byte_lm import train as byte_training
    from tokbench.models.byte_lm.options import ByteLmOptions

    options = ByteLmOptions(
        layers=1, heads=2, hidden=16, feed_forward=32, context=32, stride=16, batch=2, steps=12, warmup_steps=2,
        decay_steps=2, checkpoint_every=4, precision="fp32", device="cpu",
    )  # fmt: skip
    documents = [b"Tokenizers split text into tokens. " * 20] * 4
    with kept.kept_checkpoints(machine / "checkpoints", storage):
        byte_training.train(documents, options, machine / "model", machine / "checkpoints")
    return machine / "model" / "model.safetensors"


def test_a_killed_training_continues_on_another_machine_with_the_same_weights(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    pytest.importorskip("torch")
    storage = str(tmp_path / "storage")
    program = [sys.executable, "-c", KILLED, str(tmp_path / "first"), storage]
    killed = subprocess.run(program, cwd=ROOT, capture_output=True, text=True)
    assert killed.returncode == 3, killed.stderr
    shutil.rmtree(tmp_path / "first")
    resumed = train(tmp_path / "second", storage)
    assert not Path(storage).exists()
    assert "resumes after step 4" in caplog.text
    assert resumed.read_bytes() == train(tmp_path / "third", storage).read_bytes()
