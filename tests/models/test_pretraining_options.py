"""Options of language models before any is trained: budgets, rates, sizes, the order of sequences.

Recipes of the papers: parameters and schedules.

Checkpoints: sealed at any moment, and only those that training wrote.
"""

import json
import math
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.support.files import names
from tests.support.small_models import SHAPE, SMALL, packed_documents, shown
from tokbench.errors import TokbenchError
from tokbench.models.memory import lm_parameters
from tokbench.models.pretraining.budget import Packing, by_phase, learning_rate, rate
from tokbench.models.pretraining.checkpoints import note_recipe, recover, write_checksums
from tokbench.models.pretraining.mds import read_mds
from tokbench.models.pretraining.options import PRESETS, LlamaOptions, MptOptions


def test_options_and_packing_load_no_torch() -> None:
    code = (
        "import sys, tokbench.models.byte_lm.options, tokbench.models.pretraining.options; "
        "import tokbench.models.pretraining.pack; "
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"batches": None}, "give one budget"),
        ({"epochs": 1.0}, "give one budget"),
        ({"flops": 1e9}, "give one budget"),
        ({"n_heads": 3}, "must divide d_model"),
        ({"alibi": False}, "alibi"),
        ({"fsdp": {}, "microbatch": "auto"}, "microbatch must be a number if fsdp divides the model"),
        (
            {"fsdp": {"activation_checkpointing": True, "mixed_precision": "pure"}},
            "activation_checkpointing needs mixed_precision: full",
        ),
    ],
)
def test_inconsistent_options_are_rejected(change: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        MptOptions.model_validate(SMALL.model_dump() | change)


def test_rate_of_every_batch() -> None:
    rates = [rate(batch, 20, 0.2, 0.1) for batch in range(20)]
    assert rates[:4] == [0.25, 0.5, 0.75, 1.0]
    assert rates[-1] == pytest.approx(0.1)
    assert all(more > less for more, less in pairwise(rates[3:]))
    assert rates[11] == pytest.approx(0.55)
    assert rate(0, 5, 0.0, 0.1) < 1


def test_vocabulary_is_rounded_up() -> None:
    assert [SMALL.vocabulary_rows(size) for size in (62, 63, 32_768, 40_960)] == [64, 128, 32_832, 41_024]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return packed_documents(tmp_path_factory.mktemp("packing") / "packed")


def test_order_of_sequences(packed: Path) -> None:
    packing = Packing.read(packed)
    lying = [block.tolist()[place : place + 32] for block in read_mds(packed) for place in range(0, len(block), 32)]
    length = {"batch": 4, "sequences": 50, "padding": packing.padding, "last": 7}
    everything = shown(packed, **length)
    assert len(everything) == 52
    for index, (ids, labels) in enumerate(everything):
        position = index % len(lying)
        most = 32 if index < 49 else 7 * (index == 49)
        trained = min(most, 32 - packing.padding * (position == len(lying) - 1))
        assert ids == lying[position]
        assert labels == ids[:trained] + [-100] * (32 - trained)
    assert shown(packed, 5, **length) == everything[20:]
    assert shown(packed, 13, **length) == []


@pytest.mark.parametrize(("name", "about"), [("mpt_350m", 344e6), ("mpt_1_3b", 1.29e9), ("mpt_2_4b", 2.62e9)])
def test_parameters_without_allocating(name: str, about: float) -> None:
    """Twelve squares of the width and two norms a layer, the last norm, and the embeddings."""
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.models.pretraining.foundry import model_config

    options = PRESETS[name]
    model = MPTForCausalLM(MPTConfig(**model_config(options, options.vocabulary_rows(40_960)), init_device="meta"))
    width = options.d_model
    expected = 41_024 * width + options.n_layers * (12 * width**2 + 2 * width) + width
    assert all(parameter.is_meta for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in model.parameters()) == expected == pytest.approx(about, rel=0.01)


GREEDTOK = PRESETS["greedtok_1b"]


def test_greedtok_without_allocating() -> None:
    """The paper says one billion, and no more exactly: 1.007 without the embeddings, 1.108 with them."""
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.models.pretraining.foundry import model_config

    rows = GREEDTOK.vocabulary_rows(65_536)
    model = MPTForCausalLM(MPTConfig(**model_config(GREEDTOK, rows), init_device="meta"))
    layer = 1536 * (1536 + 2 * 4 * 128) + 1536 * 1536 + 3 * 1536 * 4096 + 2 * 1536
    assert all(parameter.is_meta for parameter in model.parameters())
    assert rows == 65_600
    assert sum(parameter.numel() for parameter in model.parameters()) == 40 * layer + 1536 + rows * 1536
    assert 40 * layer + 1536 == 1_006_757_376
    assert lm_parameters(GREEDTOK, 65_536) == 1_107_518_976


def test_greedtok_is_the_papers() -> None:
    """Section 5.2, and table 4 by its iterations."""
    shape = {"n_layers": 40, "d_model": 1536, "feed_forward": 4096, "n_heads": 12, "kv_heads": 4, "max_seq_len": 4096}
    for name in ("greedtok_1b", "greedtok_1b_equal_text"):
        options = PRESETS[name]
        assert {key: getattr(options, key) for key in shape} == shape
        assert (options.schedule, options.second_phase) == ("power", 0.2)
    assert [phase.batches for phase in by_phase(GREEDTOK)] == [125_000, 25_000]
    ended = GREEDTOK.model_copy(update={"batches": 120_000})
    assert [phase.batches for phase in by_phase(ended)] == [100_000, 20_000]
    assert [phase.epochs for phase in by_phase(PRESETS["greedtok_1b_equal_text"])] == [0.7035, 0.7035]


def test_power_scheduler_by_its_formula() -> None:
    tokens = 1024 * 4096
    for batch in (0, 1, 118, 237, 238, 60_000, 124_999):
        full = min(0.0033, 0.667 * 1024 * (tokens * max(238, batch + 1)) ** -0.51)
        expected = full * min(1.0, (batch + 1) / 238)
        assert learning_rate(GREEDTOK, batch, [125_000, 25_000]) == pytest.approx(expected, rel=1e-12)
    last = learning_rate(GREEDTOK, 124_999, [125_000, 25_000])
    for batch in (0, 1, 12_499, 24_999):
        spent = (batch + 1) / 25_000
        share = (math.e * math.exp(-spent) - 1) / (math.e - 1)
        found = learning_rate(GREEDTOK, 125_000 + batch, [125_000, 25_000])
        assert found == pytest.approx(last * share, rel=1e-12, abs=1e-18)
    assert found == pytest.approx(0, abs=1e-18)
    tenth = GREEDTOK.model_copy(update={"alpha_f": 0.1})
    assert learning_rate(tenth, 149_999, [125_000, 25_000]) == pytest.approx(last / 10, rel=1e-12)


def test_rates_of_greedtok_are_those_of_the_power_scheduler() -> None:
    """Sections 4 and 5.1 of arXiv 2408.13359: a = 4, b = -0.51 and at most 0.02, divided by the width over 256; a
    warm-up of a billion tokens."""
    width = GREEDTOK.d_model / 256
    assert width == 6, "m_width of its table 4"
    assert GREEDTOK.amplitude == pytest.approx(4 / width, rel=1e-3)
    assert GREEDTOK.learning_rate == pytest.approx(0.02 / width, rel=0.02)
    assert GREEDTOK.exponent == -0.51
    assert GREEDTOK.warmup_batches == round(1e9 / (GREEDTOK.batch * GREEDTOK.max_seq_len))


def test_power_scheduler_does_not_know_its_end() -> None:
    """So that the model of equal text has the same first phase as that of equal tokens, as far as it goes."""
    for batch in range(0, 100_000, 9_999):
        shorter = learning_rate(GREEDTOK, batch, [100_000, 20_000])
        assert shorter == learning_rate(GREEDTOK, batch, [125_000, 25_000])


def test_power_scheduler_keeps_below_its_highest() -> None:
    steep = SHAPE.model_copy(update={"learning_rate": 1e-3, "warmup_batches": 0, "warmup": 0.5})
    assert [learning_rate(steep, batch, [10, 2]) for batch in range(10)] == [1e-3] * 10
    assert learning_rate(steep.model_copy(update={"alpha_f": 0.0}), 11, [10, 2]) == pytest.approx(0, abs=1e-18)


def test_warm_up_may_be_given_in_batches() -> None:
    options = MptOptions(batches=20, warmup_batches=3)
    assert [learning_rate(options, batch, [20]) / 3e-4 for batch in range(3)] == pytest.approx([1 / 3, 2 / 3, 1])
    same = options.model_copy(update={"warmup_batches": None, "warmup": 0.15})
    assert [learning_rate(options, b, [20]) for b in range(20)] == [learning_rate(same, b, [20]) for b in range(20)]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"kv_heads": 4}, "kv_heads must divide"),
        ({"d_model": 30, "n_heads": 6}, "twice n_heads"),
        ({"schedule": "cosine"}, "second_phase needs schedule: power"),
        ({"clip_qkv": 6.0}, "clip_qkv"),
    ],
)
def test_recipes_inconsistent_options_are_rejected(change: dict[str, object], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        LlamaOptions.model_validate(SHAPE.model_dump() | change)


def test_budgets_are_shared_out() -> None:
    """In the proportion of the phases; whole numbers to the last."""
    for name, whole in (("batches", 7), ("text_bytes", 1_000_001), ("flops", 6e9)):
        options = SHAPE.model_copy(update={"batches": None, "second_phase": 0.5} | {name: whole})
        first, second = (getattr(phase, name) for phase in by_phase(options))
        assert first + second == pytest.approx(whole, rel=1e-15)
        assert second == pytest.approx(first / 2, abs=1)
        assert isinstance(second, type(whole))
    assert by_phase(PRESETS["tiny"]) == (PRESETS["tiny"],)


def test_newest_complete_checkpoint_is_kept(tmp_path: Path) -> None:
    for batch in (9, 10):
        (tmp_path / f"ba{batch}.partial").write_text(f"checkpoint {batch}")
        write_checksums(tmp_path)
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
        write_checksums(tmp_path)
        assert set(names(tmp_path)) == {f"ba{batch}.sharded", f"ba{batch}.sharded.sha256"}
    shards(tmp_path, 11)
    recover(tmp_path)
    assert set(names(tmp_path)) == {"ba10.sharded", "ba10.sharded.sha256", "latest.pt"}
    assert (tmp_path / "latest.pt" / "__1_0.distcp").read_text() == "__1_0.distcp of 10"
    (tmp_path / "ba12.partial").write_text("one file")
    write_checksums(tmp_path)
    recover(tmp_path)
    assert set(names(tmp_path)) == {"ba12.pt", "ba12.pt.sha256", "latest.pt"}


@pytest.mark.parametrize("how", ["altered", "missing", "added", "renamed"])
def test_shards_that_training_did_not_write_are_rejected(how: str, tmp_path: Path) -> None:
    shards(tmp_path, 3)
    write_checksums(tmp_path)
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
    write_checksums(tmp_path)
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
            write_checksums(tmp_path)
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
    write_checksums(states)
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
        with pytest.raises(TokbenchError, match="give the run an empty folder"):
            note_recipe(tmp_path, other)
        assert (tmp_path / "recipe.json").read_text() == foreign
