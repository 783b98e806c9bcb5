"""Recipes of the papers: parameters and schedules."""

import math

import pytest
from pydantic import ValidationError

from tests.support.small_models import SHAPE
from tokbench.model_memory import lm_parameters
from tokbench.pretraining.budget import by_phase
from tokbench.pretraining.options import PRESETS, LlamaOptions, MptOptions
from tokbench.pretraining.schedule import learning_rate

GREEDTOK = PRESETS["greedtok_1b"]


def test_greedtok_without_allocating() -> None:
    """The paper says one billion, and no more exactly: 1.007 without the embeddings, 1.108 with them."""
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.pretraining.foundry import model_config

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
    for batch in (0, 1, 624, 1249, 1250, 60_000, 124_999):
        full = min(0.0033, 0.667 * 1024 * (tokens * max(1250, batch + 1)) ** -0.51)
        expected = full * min(1.0, (batch + 1) / 1250)
        assert learning_rate(GREEDTOK, batch, [125_000, 25_000]) == pytest.approx(expected, rel=1e-12)
    last = learning_rate(GREEDTOK, 124_999, [125_000, 25_000])
    for batch in (0, 1, 12_499, 24_999):
        spent = (batch + 1) / 25_000
        share = (0.9 * math.e * math.exp(-spent) + 0.1 * math.e - 1) / (math.e - 1)
        found = learning_rate(GREEDTOK, 125_000 + batch, [125_000, 25_000])
        assert found == pytest.approx(last * share, rel=1e-12)
    assert found == pytest.approx(last / 10, rel=1e-12)


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
def test_inconsistent_options_are_rejected(change: dict[str, object], told: str) -> None:
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
