"""Pretraining: model sizes, order of sequences, resumption after a kill, the export."""

import csv
import gc
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests import apart
from tests.outputs import names
from tests.packing import packed_documents
from tokbench.errors import TokbenchError
from tokbench.pretraining.options import PRESETS, ModelOptions
from tokbench.pretraining.train import pretrain

SMALL = PRESETS["tiny"].model_copy(
    update={
        "d_model": 16,
        "n_heads": 2,
        "n_layers": 1,
        "max_seq_len": 32,
        "batch": 4,
        "microbatch": 2,
        "batches": 8,
        "checkpoint_every": 3,
    }
)


def test_options_and_packing_load_no_torch() -> None:
    code = (
        "import sys, tokbench.byte_lm.options, tokbench.pretraining.options, tokbench.pretraining.pack; "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"batches": None}, "either batches"),
        ({"epochs": 1.0}, "either batches"),
        ({"n_heads": 3}, "must divide d_model"),
        ({"alibi": False}, "alibi"),
    ],
)
def test_inconsistent_options_are_rejected(change: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ModelOptions.model_validate(SMALL.model_dump() | change)


def test_length_of_training() -> None:
    def batches(sequences: int, **length: float | None) -> int:
        return SMALL.model_copy(update={"batches": None, **length}).total_batches(sequences)

    assert batches(100, batches=7) == 7
    assert batches(101, epochs=1.0) == 25
    assert batches(101, epochs=0.5) == 12
    assert batches(101, epochs=2.0) == 50
    with pytest.raises(TokbenchError, match="raise epochs or lower batch"):
        batches(100, epochs=0.01)
    with pytest.raises(TokbenchError, match="only 3 are packed"):
        batches(3, batches=7)


def test_vocabulary_is_rounded_up() -> None:
    assert [SMALL.vocabulary_rows(size) for size in (62, 63, 32_768, 40_960)] == [64, 128, 32_832, 41_024]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_documents(tmp_path_factory.mktemp("packing") / "packed")


def test_order_of_sequences(packed: Path) -> None:
    from streaming import LocalDataset

    from tokbench.pretraining.sequences import PackedSequences

    def tokens(start: int) -> list[list[int]]:
        sequences = PackedSequences(packed, batches=12, batch=4, seed=3)
        sequences.load_state_dict(sequences.state_dict(4 * start, True))
        return [sequence.tolist() for sequence in sequences]

    everything = tokens(0)
    count = json.loads((packed / "packing.json").read_text())["sequences"] // 4 * 4
    assert len(everything) == 48 > count
    first, second = everything[:count], everything[count : 2 * count]
    assert first != second[: len(first)]
    data = LocalDataset(str(packed))
    available = Counter(tuple(data[index]["tokens"].tolist()) for index in range(len(data)))
    assert Counter(map(tuple, first)) <= available
    assert tokens(5) == everything[20:]
    assert tokens(12) == []


@pytest.mark.parametrize(("name", "about"), [("mpt_350m", 344e6), ("mpt_1_3b", 1.29e9), ("mpt_2_4b", 2.62e9)])
def test_parameters_without_allocating(name: str, about: float) -> None:
    """Twelve squares of the width and two norms a layer, the last norm, and the embeddings."""
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.pretraining.foundry import model_config

    options = PRESETS[name]
    model = MPTForCausalLM(MPTConfig(**model_config(options, options.vocabulary_rows(40_960)), init_device="meta"))
    width = options.d_model
    expected = 41_024 * width + options.n_layers * (12 * width**2 + 2 * width) + width
    assert all(parameter.is_meta for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in model.parameters()) == expected == pytest.approx(about, rel=0.01)


@pytest.fixture(scope="module", autouse=True)
def _own_environment() -> Iterator[None]:
    """Pretraining sets variables that the libraries read; other tests shall not see them."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "CUDA_VISIBLE_DEVICES"):
            patch.setenv(name, os.environ.get(name, ""))
        yield


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    (folder / "vocabulary.txt").write_text("00\n01\n")
    (folder / "manifest.json").write_text('{"variant": "bytes"}')
    return folder


@pytest.fixture(scope="module")
def killed(packed: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run that killed itself after batch 5, forked before Composer starts threads here."""
    from tokbench.pretraining.curve import Curve

    place = tmp_path_factory.mktemp("killed")

    def work() -> None:
        batch_end = Curve.batch_end

        def until_killed(self: Curve, state: Any, logger: Any) -> None:
            batch_end(self, state, logger)
            if state.timestamp.batch == 5:
                os.kill(os.getpid(), signal.SIGKILL)

        Curve.batch_end = until_killed
        pretrain(packed, tokenizer, SMALL, place / "model", place / "checkpoints")

    assert apart.end(apart.start(work, place / "told")) == -signal.SIGKILL, (place / "told").read_text()
    assert (place / "checkpoints" / "curve.csv").is_file()
    return place


@pytest.fixture(scope="module")
def trained(packed: Path, tokenizer: Path, killed: object, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trained")
    pretrain(packed, tokenizer, SMALL, place / "model", place / "checkpoints")
    assert not (place / "checkpoints").exists()
    return place / "model"


def curve(folder: Path) -> list[tuple[str, ...]]:
    """Every column but the seconds."""
    with (folder / "curve.csv").open(newline="") as file:
        return [tuple(row.values())[:-1] for row in csv.DictReader(file)]


def test_model_folder(trained: Path) -> None:
    assert {file.name for file in trained.iterdir()} == {
        ".tokbench.json",
        "config.json",
        "curve.csv",
        "generation_config.json",
        "manifest.json",
        "model.safetensors",
        "vocabulary.txt",
    }
    manifest = json.loads((trained / "manifest.json").read_text())["settings"]
    assert manifest["tokenizer"] == {"variant": "bytes"}
    assert (manifest["batches"], manifest["tokens"], manifest["vocabulary_rows"]) == (8, 8 * 4 * 32, 320)
    assert manifest["parameters"] == 320 * 16 + 12 * 16**2 + 2 * 16 + 16
    rows = curve(trained)
    assert [(int(batch), int(tokens)) for batch, tokens, _, _ in rows] == [(b, 128 * b) for b in range(1, 9)]
    rates = [float(rate) for _, _, _, rate in rows]
    assert max(rates) <= SMALL.learning_rate
    assert rates[-1] < rates[2]
    assert float(rows[-1][2]) < float(rows[0][2])


def test_is_native_mpt_with_equal_logits(trained: Path) -> None:
    """Loaded by class: where llm-foundry is imported, as here, it has taken the name mpt for itself."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM
    from safetensors.torch import load_file
    from transformers.models.mpt.modeling_mpt import MptForCausalLM

    from tokbench.pretraining.foundry import model_config

    native = MptForCausalLM.from_pretrained(trained).eval()
    described = json.loads((trained / "config.json").read_text())
    assert described["model_type"] == "mpt"
    assert "auto_map" not in described
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
        patch.setattr("tokbench.pretraining.export.publish", unpublished)
        with pytest.raises(KeyboardInterrupt):
            pretrain(packed, tokenizer, SMALL, model, checkpoints)
    assert not model.exists()
    pretrain(packed, tokenizer, SMALL, model, checkpoints)
    assert curve(model) == curve(trained)
    assert (model / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


def test_sequences_of_another_length_are_rejected(packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    options = SMALL.model_copy(update={"max_seq_len": 64})
    with pytest.raises(TokbenchError, match="holds sequences of 32"):
        pretrain(packed, tokenizer, options, tmp_path / "model", tmp_path / "checkpoints")


def test_fused_attention_trains_alike(trained: Path, packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    options = SMALL.model_copy(update={"attn_impl": "sdpa"})
    pretrain(packed, tokenizer, options, tmp_path / "model", tmp_path / "checkpoints")
    losses = [[float(loss) for _, _, loss, _ in curve(folder)] for folder in (tmp_path / "model", trained)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_nothing_of_a_model_outlives_its_training(trained: Path, packed: Path, tokenizer: Path, tmp_path: Path) -> None:
    import torch

    def held() -> int:
        gc.collect()
        return sum(isinstance(one, torch.nn.Parameter) for one in gc.get_objects())

    before = held()
    pretrain(packed, tokenizer, SMALL, tmp_path / "model", tmp_path / "checkpoints")
    assert held() == before
