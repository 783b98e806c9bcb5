"""A file that was cut off or altered is never taken for what it was: whoever reads it says which it is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.trial import Trial, by_itself, differing

pytestmark = by_itself


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def flip(file: Path) -> None:
    held = bytearray(file.read_bytes())
    held[len(held) // 2] ^= 16
    file.write_bytes(held)


DAMAGES = {"cut": cut, "altered": flip}
SCORES = "byte_lm/pydoc/bytes/scores/0000.parquet"
PLACES = {
    "shard": ("corpus/pydoc/evaluation/0000.parquet", "corpus/pydoc", "pretokens/pydoc/evaluation intrinsic tables"),
    "counts": ("pretokens/pydoc/evaluation/gpt2.parquet", "", "intrinsic tables"),
    "vocabulary": ("tokenizers/bpe/800/tokens.vocab", "tokenizers/bpe/800", "intrinsic tables"),
    "byte scores": (SCORES, "", "tokenizers/bytespan intrinsic/bytespan tables"),
    "model": ("models/tiny/bpe/800/model.safetensors", "models/tiny/bpe/800", "downstream tables"),
    "measurements": ("intrinsic/bpe/800.json", "", "tables"),
    "table": ("tables/intrinsic.parquet", "tables", "figures"),
}
"""A file, the folder that is made with it, and what is missing, so that it must be read."""


def lay_aside(trial: Trial, *outputs: str) -> None:
    """Have them made again: what nothing lacks that is asked for, Snakemake leaves as it is."""
    for number, output in enumerate(outputs):
        (trial.results / output).rename(trial.folder.with_name(f"aside{number}"))


def is_told_and_made_again(trial: Trial, small: Trial, line: str, spoilt: Path) -> None:
    """The run ends with the line; without what is spoilt the next one makes all that there was."""
    printed = trial.run(status=1)
    assert line in printed, printed
    assert "Traceback" not in printed
    spoilt.rename(trial.folder.with_name("spoilt"))
    trial.run()
    assert differing(trial.contents(), small.contents()) == []


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", PLACES)
def test_results(place: str, damage: str, small: Trial, tmp_path: Path) -> None:
    name, whole, missing = PLACES[place]
    trial = small.copied(tmp_path / "trial")
    lay_aside(trial, "report.html", *missing.split())
    DAMAGES[damage](trial.results / name)
    is_told_and_made_again(trial, small, f"tokbench: results/small/{whole or name}", trial.results / (whole or name))


@pytest.mark.parametrize("damage", DAMAGES)
def test_packed_sequences(damage: str, small: Trial, tmp_path: Path) -> None:
    trial = small.copied(tmp_path / "trial")
    lay_aside(trial, "report.html", "tables", "downstream", "embeddings")
    trial.run("--forcerun", "pack", "--until", "pack", "--notemp")
    packed = trial.results / "packed" / "tiny" / "bpe" / "800"
    DAMAGES[damage](packed / "shard.00000.mds")
    trial.results.joinpath("models").rename(tmp_path / "models")
    is_told_and_made_again(trial, small, "tokbench: results/small/packed/tiny/bpe/800: not ", packed)


@pytest.mark.parametrize("damage", DAMAGES)
def test_checkpoint(damage: str, small: Trial, tmp_path: Path) -> None:
    """Training is killed with a checkpoint behind it, which is altered before training goes on."""
    trial = small.copied(tmp_path / "trial")
    lay_aside(trial, "report.html", "tables", "downstream", "embeddings")
    states = trial.results / "checkpoints" / "pretrain" / "tiny" / "bpe" / "800" / "states"
    run = trial.start("--forcerun", "pretrain")
    assert run.until(_sealed(states)), run.printed()
    run.kill()
    [checkpoint] = states.glob("ba*.pt")
    DAMAGES[damage](checkpoint)
    line = f"{checkpoint.relative_to(trial.folder)}: not the checkpoint that was written; delete"
    is_told_and_made_again(trial, small, line, states.parent)


def _sealed(states: Path) -> Callable[[], object]:
    return lambda: list(states.glob("ba*.pt"))
