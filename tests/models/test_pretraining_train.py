"""Pretraining: resumption after a kill, by one process and by several, the export, losses."""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from contextlib import nullcontext
from itertools import chain
from pathlib import Path

import pytest

from tests.support.files import names
from tests.support.small_models import SMALL, packed_documents, saved_tokenizer
from tokbench.errors import TokbenchError
from tokbench.models.pretraining import train
from tokbench.models.pretraining.budget import Packing, rate
from tokbench.models.pretraining.launch import is_launched
from tokbench.models.pretraining.options import ModelOptions, Sharding
from tokbench.models.pretraining.train import pretrain

pytestmark = pytest.mark.usefixtures("own_environment")

ROOT = Path(__file__).parents[2]
OPENED = ROOT / "tests" / "tokenizer" / "mpt_config.json"
"""Configuration that tests/tokenizer/test_model_folder.py opens with each version of transformers."""
SHARDED = SMALL.model_copy(update={"microbatch": 1, "fsdp": Sharding(activation_checkpointing=True)})


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_documents(tmp_path_factory.mktemp("packing") / "packed")


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = saved_tokenizer(tmp_path_factory.mktemp("tokenizer"))
    (folder / "manifest.json").write_text('{"variant": "bytes"}')
    return folder


@pytest.fixture(scope="module")
def killed(packed: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that killed itself after batch 5."""
    place = tmp_path_factory.mktemp("killed")
    ended = together(packed, tokenizer, place, killed_at=5, count=1)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert (place / "checkpoints" / "curve.csv").is_file()
    return place


def together(
    packed: Path,
    tokenizer: Path,
    place: Path,
    options: ModelOptions = SMALL,
    killed_at: int | None = None,
    count: int = 2,
) -> subprocess.CompletedProcess[str]:
    """``tokbench pretrain`` by two processes or another number, of which the last kills itself after a batch.

    What they have among their checkpoints after batch 7 is copied to ``then``."""
    call = ["pretrain", "--recipe", options.model_dump_json(), "--packed", packed, "--tokenizer", tokenizer]
    call += ["--checkpoints", place / "checkpoints", "--processes-per-node", count, "-o", place / "model"]
    program = ["-c", "from tests.support.small_models import train_watched; train_watched()"]
    program = program if count > 1 else ["-m", "tests.support.small_models"]
    watched = {"PYTHONPATH": f"{ROOT}:{ROOT}/src", "KILLED_AT": str(killed_at), "COPIED_TO": str(place / "then")}
    return subprocess.run(
        [sys.executable, *program, *map(str, call)],
        env=os.environ | watched,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def killed_together(packed: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run by two processes, one of which was killed after batch 5."""
    place = tmp_path_factory.mktemp("killed_together")
    ended = together(packed, tokenizer, place, killed_at=5)
    assert ended.returncode == 137, ended.stderr
    (place / "told").write_text(ended.stderr)
    return place


@pytest.fixture(scope="module")
def finished_together(packed: Path, tokenizer: Path, killed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that one process began and two ended, with the model divided over them."""
    place = tmp_path_factory.mktemp("finished_together")
    shutil.copytree(killed / "checkpoints", place / "checkpoints", symlinks=True)
    ended = together(packed, tokenizer, place, SHARDED)
    assert ended.returncode == 0, ended.stderr
    return place


@pytest.fixture(scope="module")
def trained(
    packed: Path,
    tokenizer: Path,
    killed_together: object,
    finished_together: object,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    place = tmp_path_factory.mktemp("trained")
    pretrain(packed, tokenizer, SMALL, place / "model", place / "checkpoints")
    assert not (place / "checkpoints").exists()
    return place / "model"


def curve(folder: Path) -> list[tuple[str, ...]]:
    """Every column but the seconds."""
    with (folder / "curve.csv").open(newline="") as file:
        return [tuple(row.values())[:-1] for row in csv.DictReader(file)]


def test_model_folder(trained: Path, packed: Path, tokenizer: Path) -> None:
    assert {file.name for file in trained.iterdir()} == {
        ".tokbench.json",
        "config.json",
        "curve.csv",
        "generation_config.json",
        "manifest.json",
        "model.safetensors",
        *(file.name for file in tokenizer.iterdir()),
    }
    whole = json.loads((trained / "manifest.json").read_text())
    manifest = whole["settings"]
    with (trained / "curve.csv").open(newline="") as file:
        trained_for = float([row["seconds"] for row in csv.DictReader(file)][-1])
    assert trained_for < whole["seconds"] < trained_for + 600
    assert manifest["tokenizer"] == {"variant": "bytes"}
    read = manifest["read"]
    assert (read["batches"], read["sequences"], manifest["vocabulary_rows"]) == (8, 32, 320)
    padding = Packing.read(packed).padding * (32 // Packing.read(packed).sequences)
    assert read["tokens"] == 8 * 4 * 32 - padding
    assert manifest["parameters"] == 320 * 16 + 12 * 16**2 + 2 * 16 + 16
    rows = curve(trained)
    assert [int(batch) for batch, *_ in rows] == list(range(1, 9))
    assert int(rows[-1][1]) == read["tokens"]
    assert [float(rate_of) for _, _, _, rate_of in rows] == pytest.approx(
        [SMALL.learning_rate * rate(batch, 8, SMALL.warmup, SMALL.alpha_f) for batch in range(8)]
    )
    assert float(rows[-1][2]) < float(rows[0][2])


def test_one_that_has_trained_is_no_part_of_a_launch(trained: Path) -> None:
    """Or it would train by one process where it is then asked for many."""
    assert not is_launched()
    assert not [name for name in ("WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK") if name in os.environ]


def test_model_made_by_a_concurrent_process_is_not_trained_again(
    trained: Path, packed: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "exclusive", lambda folder: nullcontext(True))
    monkeypatch.setattr(train, "prepare_run", lambda *given: pytest.fail("begins to train"))
    made = (trained / "curve.csv").stat()
    pretrain(packed, tokenizer, SMALL, trained, tmp_path / "checkpoints")
    found = (trained / "curve.csv").stat()
    assert (found.st_ino, found.st_mtime_ns) == (made.st_ino, made.st_mtime_ns)


def test_is_native_mpt_with_equal_logits(trained: Path) -> None:
    """Loaded by class: where llm-foundry is imported, as here, it has taken the name mpt for itself."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM
    from safetensors.torch import load_file
    from transformers.models.mpt.modeling_mpt import MptForCausalLM

    from tokbench.models.pretraining.foundry import model_config

    native = MptForCausalLM.from_pretrained(trained).eval()
    described = json.loads((trained / "config.json").read_text())
    assert described["model_type"] == "mpt"
    assert "auto_map" not in described
    opened = json.loads(OPENED.read_text())
    written = {name: described.get(name) for name in opened}
    assert json.dumps(written, sort_keys=True) == json.dumps(opened, sort_keys=True), "0 is not 0.0 to transformers 5"
    assert (native.config.eos_token_id, native.config.pad_token_id) == (256, 257)
    ours = MPTForCausalLM(MPTConfig(**model_config(SMALL, 320))).eval()
    ours.load_state_dict(load_file(trained / "model.safetensors"))
    ids = torch.arange(64).reshape(2, 32)
    with torch.inference_mode():
        assert torch.equal(native(input_ids=ids).logits, ours(input_ids=ids).logits)


def test_killed_runs_end_with_the_same_weights(
    killed: Path,
    trained: Path,
    packed: Path,
    tokenizer: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Killed after batch 5, then between the last checkpoint and the export."""
    model, checkpoints = killed / "model", killed / "checkpoints"
    assert len(curve(checkpoints)) == 5
    assert {"ba3.pt", "ba3.pt.sha256"} <= set(names(checkpoints / "states"))

    def unpublished(exported: Path, *_: object, **__: object) -> None:
        for file in exported.iterdir():
            file.unlink()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("tokbench.models.pretraining.export.publish", unpublished)
        with pytest.raises(KeyboardInterrupt):
            pretrain(packed, tokenizer, SMALL, model, checkpoints)
    assert not model.exists()
    pretrain(packed, tokenizer, SMALL, model, checkpoints)
    assert curve(model) == curve(trained)
    assert (model / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_many_processes_train_as_one_does(
    killed_together: Path, finished_together: Path, trained: Path, packed: Path, tokenizer: Path
) -> None:
    """Begun by two and ended by one, and the other way round, by two that each hold all of the model and by two that
    divide it; sums are rounded in another order, and that is all."""
    told = [line for line in (killed_together / "told").read_text().splitlines() if "pretraining batch" not in line]
    assert told == ["tokbench: process 1 of 2 was ended by SIGKILL; the training ends with it"]
    assert [int(batch) for batch, *_ in curve(killed_together / "checkpoints")][-1] == 5
    pretrain(packed, tokenizer, SMALL, killed_together / "model", killed_together / "checkpoints")
    divided = finished_together / "then" / "states"
    assert set(names(divided)) >= {"ba6.sharded", "ba6.sharded.sha256"}
    assert set(names(divided / "ba6.sharded")) == {".metadata", "__0_0.distcp", "__1_0.distcp"}
    pretrain(packed, tokenizer, SMALL, finished_together / "again", finished_together / "then")
    for model, processes_at_the_end in (
        (killed_together / "model", 1),
        (finished_together / "model", 2),
        (finished_together / "again", 1),
    ):
        found, expected = ([[float(cell) for cell in row] for row in curve(folder)] for folder in (model, trained))
        assert [row[:2] for row in found] == [row[:2] for row in expected]
        assert list(chain(*found)) == pytest.approx(list(chain(*expected)), abs=1e-5)
        assert set(names(model)) == set(names(trained))
        manifest = json.loads((model / "manifest.json").read_text())["settings"]
        assert manifest["devices"] == processes_at_the_end
    for checkpoints in (killed_together / "checkpoints", finished_together / "checkpoints", divided):
        assert not checkpoints.exists()


def test_processes_write_nothing_before_the_first_has_prepared(
    packed: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be taken for files that are no checkpoints: with launchers other than ours all begin at once."""
    from tokbench.models.pretraining import foundry

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(foundry, "wait_for_all", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pretrain(packed, tokenizer, SMALL, tmp_path / "model", tmp_path / "checkpoints")
    assert names(tmp_path / "checkpoints") == ["recipe.json"]


def test_one_process_sends_nothing_in_other_types(packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    options = SMALL.model_copy(update={"fsdp": Sharding(mixed_precision="pure")})
    with pytest.raises(TokbenchError, match="fsdp: mixed_precision: pure needs several processes"):
        pretrain(packed, tokenizer, options, tmp_path / "model", tmp_path / "checkpoints")


def test_sequences_of_another_length_are_rejected(packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    options = SMALL.model_copy(update={"max_seq_len": 64})
    with pytest.raises(TokbenchError, match="contains sequences of 32"):
        pretrain(packed, tokenizer, options, tmp_path / "model", tmp_path / "checkpoints")


def test_fused_attention_trains_the_same_weights(trained: Path, packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    options = SMALL.model_copy(update={"attn_impl": "sdpa"})
    pretrain(packed, tokenizer, options, tmp_path / "model", tmp_path / "checkpoints")
    losses = [[float(loss) for _, _, loss, _ in curve(folder)] for folder in (tmp_path / "model", trained)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_checkpoints_along_the_way_are_kept(trained: Path, packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    """One of half the batches, and one that is the model itself, which is what it would be without them."""
    from safetensors.torch import load_file

    options = SMALL.model_copy(update={"evaluate_at": (0.5, 0.999)})
    pretrain(packed, tokenizer, options, tmp_path / "model", tmp_path / "checkpoints")
    places = (tmp_path / "model", *(tmp_path / "model" / "checkpoints" / share for share in ("0.5", "0.999")))
    last, half, whole = ((place / "model.safetensors").read_bytes() for place in places)
    assert last == whole == (trained / "model.safetensors").read_bytes() != half
    assert load_file(places[1] / "model.safetensors").keys() == load_file(places[0] / "model.safetensors").keys()
    assert (places[1] / "config.json").read_bytes() == (places[0] / "config.json").read_bytes()
    told = json.loads((tmp_path / "model" / "manifest.json").read_text())["settings"]["checkpoints"]
    assert told == {
        share: {"batch": batch, "tokens": int(curve(trained)[batch - 1][1])}
        for share, batch in (("0.5", 4), ("0.999", 8))
    }


def test_a_loss_that_is_no_number_leaves_a_curve_and_no_model(packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    options = SMALL.model_copy(update={"learning_rate": 1e30, "warmup": 0.0})
    with pytest.raises(TokbenchError, match=r"the loss of batch \d of 8 is not a number \(nan\).* the curve is in"):
        pretrain(packed, tokenizer, options, tmp_path / "model", tmp_path / "checkpoints")
    assert not (tmp_path / "model").exists()
    assert curve(tmp_path / "checkpoints")[-1][2] == "nan"
