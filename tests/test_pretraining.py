"""Pretraining: packing against a plain list, model sizes, order of sequences, resumption after a kill, the export."""

import csv
import gc
import json
import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pydantic import ValidationError

from tests import apart
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.pretraining.checkpoints import recover, seal
from tokbench.pretraining.encoded import Encoded, encoded, read_encoded, write_encoded
from tokbench.pretraining.mds import read_mds, write_mds
from tokbench.pretraining.options import PRESETS, ModelOptions
from tokbench.pretraining.pack import Packing, check_sequences, pack, read_occurrences
from tokbench.pretraining.train import _prepare, pretrain

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
DOCUMENTS = [b"the cat sat on the mat. " * 20, b"", b"\xff\x00 and then the dog sat " * 12]


class Bytes:
    """A tokenizer whose tokens are the bytes."""

    def encode_batch(self, texts: Sequence[bytes]) -> list[NDArray[np.int32]]:
        return [np.frombuffer(text, np.uint8).astype(np.int32) for text in texts]

    def last_cut(self, text: bytes) -> int:
        return len(text)

    def __len__(self) -> int:
        return 256


def pieces(documents: Iterable[bytes]) -> Iterator[Encoded]:
    return encoded(Bytes(), (Document(number, "", text) for number, text in enumerate(documents)))


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
    folder = tmp_path_factory.mktemp("pretraining") / "packed"
    pack(pieces(DOCUMENTS), 256, folder, sequence_length=32)
    return folder


def test_packed_sequences(packed: Path) -> None:
    from streaming import LocalDataset

    tokens = [token for document in DOCUMENTS for token in (*document, 256)]
    whole = len(tokens) // 32
    packing = Packing.read(packed)
    assert (packing.documents, packing.text_bytes, packing.tokens) == (3, len(tokens) - 3, len(tokens))
    assert (packing.sequences, packing.dropped_tokens) == (whole, len(tokens) - 32 * whole)
    assert (packing.sequence_length, packing.vocabulary, packing.end_of_text) == (32, 256, 256)
    data = LocalDataset(str(packed))
    assert [data[index]["tokens"].tolist() for index in range(len(data))] == [
        tokens[start : start + 32] for start in range(0, 32 * whole, 32)
    ]


def test_packing_ignores_how_documents_are_grouped(
    packed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokbench.pretraining.encoded.ENCODE_BYTES", 1)
    monkeypatch.setattr("tokbench.pretraining.pack.JOINED", 5)
    pack(pieces(DOCUMENTS), 256, tmp_path / "packed", sequence_length=32)
    names = sorted(file.name for file in packed.iterdir())
    assert names == sorted(file.name for file in (tmp_path / "packed").iterdir())
    assert all((packed / name).read_bytes() == (tmp_path / "packed" / name).read_bytes() for name in names)


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=30), st.integers(1, 5), st.integers(1, 50))
def test_shards_that_were_encoded_side_by_side(
    tmp_path_factory: pytest.TempPathFactory, documents: list[bytes], shards: int, group: int
) -> None:
    folder = tmp_path_factory.mktemp("shards")
    whole = list(pieces([*documents, bytes(8)]))
    paths = [folder / f"{shard}.parquet" for shard in range(shards)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tokbench.pretraining.encoded.GROUP_IDS", group)
        for shard, path in enumerate(paths):
            write_encoded(whole[shard::shards], path)
    found = list(read_encoded(paths))
    assert [piece[:3] for piece in found] == [piece[:3] for piece in whole]
    assert [piece.ids.tolist() for piece in found] == [piece.ids.tolist() for piece in whole]
    assert pack(found, 256, folder / "found", sequence_length=8) == pack(whole, 256, folder / "w", sequence_length=8)


def test_occurrences_are_those_of_the_sequences(packed: Path, tmp_path: Path) -> None:
    pack(pieces(DOCUMENTS), 256, tmp_path / "packed", sequence_length=32, counts=tmp_path / "counts.parquet")
    stands = Counter(int(token) for ids in read_mds(packed) for token in ids)
    assert dict(enumerate(read_occurrences(tmp_path / "counts.parquet", 256))) == {n: stands[n] for n in range(257)}


@pytest.mark.parametrize("wrong", [-1, 257])
def test_ids_of_another_tokenizer_are_not_packed(wrong: int, tmp_path: Path) -> None:
    foreign = Encoded(0, True, 4, np.array([1, wrong, 2, 3], np.int32))
    with pytest.raises(TokbenchError, match=f"id {wrong} is no token of this tokenizer"):
        pack([foreign], 256, tmp_path / "packed", sequence_length=2)
    assert not (tmp_path / "packed").exists()


def test_altered_sequences_are_not_trained_on(packed: Path, tmp_path: Path) -> None:
    altered = tmp_path / "packed"
    shutil.copytree(packed, altered)
    check_sequences(altered, Packing.read(altered))
    shard = altered / "shard.00000.mds"
    held = bytearray(shard.read_bytes())
    held[-3] ^= 1
    shard.write_bytes(held)
    with pytest.raises(TokbenchError, match="packed: not the sequences that were written; delete it"):
        check_sequences(altered, Packing.read(altered))


def test_shards_are_those_of_streaming(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from streaming import MDSWriter

    monkeypatch.setattr("tokbench.pretraining.mds.SHARD_BYTES", 1000)
    sequences = np.arange(70 * 16, dtype=np.int32).reshape(70, 16)
    (tmp_path / "ours").mkdir()
    assert write_mds(tmp_path / "ours", [sequences[:3], sequences[3:3], sequences[3:]], 16) == 70
    columns = {"tokens": "ndarray:int32:16"}
    with MDSWriter(out=str(tmp_path / "theirs"), columns=columns, size_limit=1000) as writer:
        for sequence in sequences:
            writer.write({"tokens": sequence})
    ours, theirs = ({file.name: file.read_bytes() for file in (tmp_path / who).iterdir()} for who in ("ours", "theirs"))
    assert len(ours) > 3
    assert ours == theirs


def test_too_little_text_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(TokbenchError, match="has 4 tokens, fewer than one sequence of 32"):
        pack(pieces([b"abc"]), 256, tmp_path / "packed", sequence_length=32)
    assert not (tmp_path / "packed").exists()


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


def names(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()}


def test_newest_complete_checkpoint_is_kept(tmp_path: Path) -> None:
    for batch in (9, 10):
        (tmp_path / f"ba{batch}.partial").write_text(f"checkpoint {batch}")
        seal(tmp_path)
        assert names(tmp_path) == {f"ba{batch}.pt", f"ba{batch}.pt.sha256"}
    whole = names(tmp_path) | {"latest.pt"}
    (tmp_path / "ba11.partial").write_text("check")
    recover(tmp_path)
    assert names(tmp_path) == whole
    assert (tmp_path / "latest.pt").read_text() == "checkpoint 10"
    (tmp_path / "ba10.pt").unlink()
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
    assert names(tmp_path) == {f"ba{batch}.pt", f"ba{batch}.pt.sha256", "latest.pt"}
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
    _prepare(tmp_path, one)
    (tmp_path / "curve.csv").touch()
    (tmp_path / "thesis.tex").touch()
    _prepare(tmp_path, one)
    assert (tmp_path / "curve.csv").exists()
    _prepare(tmp_path, other)
    assert {file.name for file in tmp_path.iterdir()} == {"recipe.json", "thesis.tex"}
    for foreign in ("{}", "A pound of flour", "[1]"):
        (tmp_path / "recipe.json").write_text(foreign)
        with pytest.raises(TokbenchError, match="give the run a folder of its own"):
            _prepare(tmp_path, other)
        assert (tmp_path / "recipe.json").read_text() == foreign


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
    assert {"ba3.pt", "ba3.pt.sha256"} <= names(checkpoints / "states")

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
