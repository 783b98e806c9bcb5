"""What a training is made of, without one: how a model is divided, shares of a batch, its beginning, its end."""

import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.packing import packed_documents, shown
from tests.support.small_models import SMALL
from tokbench.errors import TokbenchError
from tokbench.pretraining.sharding import Sharding

DIVIDED = SMALL.model_copy(update={"fsdp": Sharding(activation_checkpointing=True)})

pytestmark = pytest.mark.usefixtures("own_environment")


def test_composer_divides_a_model_as_its_recipe_says() -> None:
    """Every setting reaches the library, which ignores those that it does not know."""
    import torch
    from composer.core.precision import Precision
    from composer.distributed.fsdp2 import create_mixed_precision_policy
    from composer.utils.parallelism import FSDP2Config

    from tokbench.pretraining.foundry import fsdp_config

    assert fsdp_config(SMALL, 4, 2) is None
    assert fsdp_config(DIVIDED, 1, 1) is None
    bf16, fp32 = torch.bfloat16, torch.float32
    for name, types in (("full", (None, None)), ("default", (bf16, fp32)), ("pure", (bf16, bf16))):
        for strategy, over in (("full_shard", True), ("node_shard", 2), ("shard_grad_op", False)):
            sharding = Sharding.model_validate({"strategy": strategy, "mixed_precision": name})
            settings = fsdp_config(SMALL.model_copy(update={"fsdp": sharding}), 4, 2)
            with warnings.catch_warnings(record=True) as warned:
                warnings.simplefilter("always")
                found = FSDP2Config.from_compatible_attrs(settings or {})
            assert not [one for one in warned if "will be ignored" in str(one.message)]
            assert (found.state_dict_type, found.reshard_after_forward) == ("sharded", over)
            assert not found.activation_checkpointing
            policy = create_mixed_precision_policy(Precision.AMP_BF16, found.mixed_precision)
            assert (policy.param_dtype, policy.reduce_dtype) == types
    assert (fsdp_config(DIVIDED, 4, 2) or {})["activation_checkpointing"]


def test_processes_share_every_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.pretraining import sequences

    packed = packed_documents(tmp_path / "packed")
    length = {"batch": 4, "sequences": 10, "padding": 3, "last": 7}
    everything = shown(packed, **length)
    monkeypatch.setattr(sequences.dist, "get_world_size", lambda: 2)
    shares = []
    for rank in range(2):
        monkeypatch.setattr(sequences.dist, "get_global_rank", lambda rank=rank: rank)
        shares.append(shown(packed, 1, **length))
    taken = [shares[place // 2 % 2][place // 4 * 2 + place % 2] for place in range(8)]
    assert taken == everything[4:]


def test_models_start_alike_where_they_are() -> None:
    """Layers, and the rows of tokens that two vocabularies share, whatever their places; else the library's law."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.pretraining.alike import start_alike
    from tokbench.pretraining.foundry import model_config

    tokens = [bytes([value]) for value in range(256)] + [b"the", b" cat", b"at"]
    made = {}
    for name, vocabulary, seed in (
        ("all", tokens, 1),
        ("some", tokens[:256] + tokens[:255:-1][:2], 1),
        ("other", tokens, 2),
    ):
        model = MPTForCausalLM(MPTConfig(**model_config(SMALL, SMALL.vocabulary_rows(len(vocabulary)))))
        start_alike(model, vocabulary, seed)
        made[name] = model.state_dict()
    rows = {name: state.pop("transformer.wte.weight") for name, state in made.items()}
    assert all(torch.equal(made["all"][name], made["some"][name]) for name in made["all"])
    assert not torch.equal(
        made["all"]["transformer.blocks.0.attn.Wqkv.weight"], made["other"]["transformer.blocks.0.attn.Wqkv.weight"]
    )
    assert torch.equal(rows["all"][:256], rows["some"][:256])
    assert torch.equal(rows["all"][258], rows["some"][256])
    assert torch.equal(rows["all"][257], rows["some"][257])
    assert torch.equal(rows["all"][259:261], rows["some"][258:260])
    assert not torch.equal(rows["all"], rows["other"])
    assert len({tuple(row.tolist()) for row in rows["all"]}) == len(rows["all"])
    assert float(rows["all"].std()) == pytest.approx((2 / SMALL.d_model) ** 0.5, rel=0.03)
    plain = MPTForCausalLM(MPTConfig(**model_config(SMALL, 320))).state_dict()
    for name, weight in plain.items():
        if weight.numel() > 200 and name in made["all"]:
            assert float(made["all"][name].std()) == pytest.approx(float(weight.std()), rel=0.2)


@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ([5.0, float("nan")], "the loss of batch 2 of 100 is no number (nan)"),
        ([6.0] * 50, "after 50 of 100 batches the loss is 6.000 nats a token, and equal probabilities have 5.549"),
        ([6.0] * 45 + [5.0] * 55, None),
    ],
)
def test_a_training_that_is_none_ends(tmp_path: Path, losses: list[float], told: str | None) -> None:
    from tokbench.pretraining.curve import Curve, read_curve

    curve = Curve(str(tmp_path / "curve.csv"), 100, 256)

    def run() -> None:
        curve.fit_start(batch_state(0, 0.0), None)  # type: ignore[arg-type]
        for batch, loss in enumerate(losses, 1):
            curve.batch_end(batch_state(batch, loss), None)  # type: ignore[arg-type]

    if told is None:
        run()
    else:
        with pytest.raises(TokbenchError, match=re.escape(told)) as raised:
            run()
        assert f"the curve is in {tmp_path}" in str(raised.value)
    assert len(read_curve(tmp_path / "curve.csv")) == len(losses)


def test_a_training_says_how_far_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In about twenty lines, the last of the last batch."""
    from tokbench.pretraining.curve import Curve

    curve = Curve(str(tmp_path / "curve.csv"), 103, 256)
    with caplog.at_level("INFO"):
        curve.fit_start(batch_state(0, 0.0), None)  # type: ignore[arg-type]
        for batch in range(1, 104):
            curve.batch_end(batch_state(batch, 5.0), None)  # type: ignore[arg-type]
    told = [int(found[1]) for found in re.finditer(r"pretraining batch (\d+)/103, loss 5\.0000, 0 s", caplog.text)]
    assert told == [*range(5, 103, 5), 103]


def batch_state(batch: int, loss: float) -> Any:
    """What a callback is shown of a training after a batch."""
    timestamp = SimpleNamespace(batch=batch, token=batch)
    optimizer = SimpleNamespace(param_groups=[{"lr": 0.1}])
    return SimpleNamespace(timestamp=timestamp, total_loss_dict={"loss/train/total": loss}, optimizers=[optimizer])
