"""Options of language models before any is trained: budgets, rates, sizes, the order of sequences."""

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.support.packing import packed_documents, shown
from tests.support.small_models import SMALL
from tokbench.pretraining.budget import Packing
from tokbench.pretraining.mds import read_mds
from tokbench.pretraining.options import PRESETS, MptOptions
from tokbench.pretraining.schedule import rate


def test_options_and_packing_load_no_torch() -> None:
    code = (
        "import sys, tokbench.byte_lm.options, tokbench.pretraining.options, tokbench.pretraining.pack; "
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
        ({"fsdp": {}, "microbatch": "auto"}, "microbatch must be a number where fsdp divides the model"),
        (
            {"fsdp": {"activation_checkpointing": True, "mixed_precision": "pure"}},
            "activation_checkpointing takes mixed_precision: full",
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

    from tokbench.pretraining.foundry import model_config

    options = PRESETS[name]
    model = MPTForCausalLM(MPTConfig(**model_config(options, options.vocabulary_rows(40_960)), init_device="meta"))
    width = options.d_model
    expected = 41_024 * width + options.n_layers * (12 * width**2 + 2 * width) + width
    assert all(parameter.is_meta for parameter in model.parameters())
    assert sum(parameter.numel() for parameter in model.parameters()) == expected == pytest.approx(about, rel=0.01)
