"""Checkpoints: sealed at any moment, and only those that training wrote."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.outputs import names
from tokbench.errors import TokbenchError
from tokbench.pretraining.checkpoints import recover, seal
from tokbench.pretraining.standing import note_recipe


def test_newest_complete_checkpoint_is_kept(tmp_path: Path) -> None:
    for batch in (9, 10):
        (tmp_path / f"ba{batch}.partial").write_text(f"checkpoint {batch}")
        seal(tmp_path)
        assert set(names(tmp_path)) == {f"ba{batch}.pt", f"ba{batch}.pt.sha256"}
    whole = set(names(tmp_path)) | {"latest.pt"}
    (tmp_path / "ba11.partial").write_text("check")
    recover(tmp_path)
    assert set(names(tmp_path)) == whole
    assert (tmp_path / "latest.pt").read_text() == "checkpoint 10"
    (tmp_path / "ba10.pt").unlink()
    recover(tmp_path)
    assert not (tmp_path / "latest.pt").exists()


def shards(folder: Path, batch: int) -> None:
    (folder / f"ep0-ba{batch}").mkdir(parents=True)
    for name in (".metadata", "__0_0.distcp", "__1_0.distcp"):
        (folder / f"ep0-ba{batch}" / name).write_text(f"{name} of {batch}")


def test_shards_are_one_checkpoint(tmp_path: Path) -> None:
    """Before and after a checkpoint of one file; half a folder of shards goes."""
    for batch in (9, 10):
        shards(tmp_path, batch)
        seal(tmp_path)
        assert set(names(tmp_path)) == {f"ba{batch}.sharded", f"ba{batch}.sharded.sha256"}
    shards(tmp_path, 11)
    recover(tmp_path)
    assert set(names(tmp_path)) == {"ba10.sharded", "ba10.sharded.sha256", "latest.pt"}
    assert (tmp_path / "latest.pt" / "__1_0.distcp").read_text() == "__1_0.distcp of 10"
    (tmp_path / "ba12.partial").write_text("one file")
    seal(tmp_path)
    recover(tmp_path)
    assert set(names(tmp_path)) == {"ba12.pt", "ba12.pt.sha256", "latest.pt"}


@pytest.mark.parametrize("how", ["altered", "missing", "added", "renamed"])
def test_shards_that_training_did_not_write_are_rejected(how: str, tmp_path: Path) -> None:
    shards(tmp_path, 3)
    seal(tmp_path)
    shard = tmp_path / "ba3.sharded" / "__1_0.distcp"
    if how == "altered":
        shard.write_text("a pickle")
    elif how == "missing":
        shard.unlink()
    elif how == "added":
        shard.with_name("__2_0.distcp").write_text("a pickle")
    else:
        shard.rename(shard.with_name("__2_0.distcp"))
    with pytest.raises(TokbenchError, match=r"ba3.sharded: not the checkpoint that was written; delete"):
        recover(tmp_path)
    assert not (tmp_path / "latest.pt").exists()


@pytest.mark.parametrize("moment", ["noted", "renamed", "deleted"])
def test_kills_while_a_checkpoint_is_sealed(moment: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the checksum is noted, after the new checkpoint has its name, after the old one is deleted."""
    (tmp_path / "ba3.partial").write_text("old")
    seal(tmp_path)
    (tmp_path / "ba6.partial").write_text("new")
    step, calls = {"noted": ("rename", 1), "renamed": ("unlink", 2), "deleted": ("unlink", 3)}[moment], [0]
    real = getattr(Path, step[0])

    def until_killed(path: Path, *arguments: Any, **others: Any) -> Any:
        calls[0] += 1
        if calls[0] == step[1]:
            raise KeyboardInterrupt
        return real(path, *arguments, **others)

    with monkeypatch.context() as patch:
        patch.setattr(Path, step[0], until_killed)
        with pytest.raises(KeyboardInterrupt):
            seal(tmp_path)
    recover(tmp_path)
    kept = "old" if moment == "noted" else "new"
    assert (tmp_path / "latest.pt").read_text() == kept
    batch = {"old": 3, "new": 6}[kept]
    assert set(names(tmp_path)) == {f"ba{batch}.pt", f"ba{batch}.pt.sha256", "latest.pt"}
    recover(tmp_path)
    assert (tmp_path / "latest.pt").read_text() == kept


def test_checkpoints_that_training_did_not_write_are_rejected(tmp_path: Path) -> None:
    """Even where an older one is sound: nothing of ours leaves such files."""
    states = tmp_path / "states"
    states.mkdir()
    (states / "ba3.partial").write_text("ours")
    seal(states)
    for foreign, told in (
        ("ba4.pt", "a checkpoint without a checksum"),
        ("ba3.pt", "not the checkpoint that was written"),
    ):
        (states / foreign).write_bytes(b"a pickle")
        with pytest.raises(TokbenchError) as caught:
            recover(states)
        assert str(caught.value) == f"{states / foreign}: {told}; delete {tmp_path} to start over"
        assert not (states / "latest.pt").exists()
        (states / "ba4.pt").unlink(missing_ok=True)


def test_only_checkpoints_are_discarded(tmp_path: Path) -> None:
    one, other = ({"options": {"seed": seed}, "packed": {}} for seed in (1, 2))
    note_recipe(tmp_path, one)
    (tmp_path / "curve.csv").touch()
    (tmp_path / "thesis.tex").touch()
    (tmp_path / "recipe.json").write_text(json.dumps({"options": {"seed": 1, "microbatch": 2}, "packed": {}}))
    note_recipe(tmp_path, one)
    assert (tmp_path / "curve.csv").exists()
    note_recipe(tmp_path, other)
    assert set(names(tmp_path)) == {"recipe.json", "thesis.tex"}
    for foreign in ("{}", "A pound of flour", "[1]"):
        (tmp_path / "recipe.json").write_text(foreign)
        with pytest.raises(TokbenchError, match="give the run a folder of its own"):
            note_recipe(tmp_path, other)
        assert (tmp_path / "recipe.json").read_text() == foreign
