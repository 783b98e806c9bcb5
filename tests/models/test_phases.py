"""Two phases on different documents, and a Llama of transformers' own trained in them.

Parts of a training: division of a model, shares of a batch, start and end.
"""

import csv
import json
import re
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.files import names
from tests.support.small_models import (
    MAKER,
    SHAPE,
    SMALL,
    Bytes,
    Pairs,
    ids_of,
    one_job,
    packed_documents,
    pieces,
    saved_tokenizer,
    shown,
)
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.models.memory import lm_parameters
from tokbench.models.pretraining.budget import TextBudget, learning_rate
from tokbench.models.pretraining.options import Sharding
from tokbench.models.pretraining.order import encode_documents, place_of, sort_documents
from tokbench.models.pretraining.pack import pack
from tokbench.models.pretraining.phases import read_phases, total_text
from tokbench.models.pretraining.train import pretrain
from tokbench.models.training import read_occurrences

DOCUMENTS = [b"document %d: the cat sat on the mat %d times. " % (number, number) * 3 for number in range(60)]


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("phases")
    text = sort_documents(pieces(DOCUMENTS), 17, folder)
    counts = folder / "counts.parquet"
    pack(text, one_job(32, 17, second_phase=0.2), folder / "packed", counts)
    return folder / "packed"


def documents_of(folder: Path) -> list[bytes]:
    """The documents that sequences hold, in their order."""
    texts = bytes(token if token < 256 else 0 for token in ids_of(folder)).split(b"\0")
    return texts[:-1]


@pytest.mark.usefixtures("own_environment")
def test_the_second_phase_reads_other_documents(packed: Path) -> None:
    first, second = (documents_of(packed / name) for name in ("first", "second"))
    order = sorted(range(len(DOCUMENTS)), key=lambda document: place_of(document, 17))
    assert first + second == [DOCUMENTS[document] for document in order]
    assert not set(first) & set(second)
    assert 0 < len(second) < len(first)
    held = [ids_of(packed / name) for name in ("first", "second")]
    occurrences = read_occurrences(packed.parent / "counts.parquet", 256, MAKER)
    assert [sum(ids.count(token) for ids in held) for token in range(257)] == occurrences.tolist()


@pytest.mark.usefixtures("own_environment")
def test_second_phase_has_the_requested_share_of_documents() -> None:
    aside = [place_of(document, 3) >= (1 << 64) * 5 // 6 for document in range(60_000)]
    assert sum(aside) == pytest.approx(10_000, rel=0.02)


@pytest.mark.usefixtures("own_environment")
@pytest.mark.parametrize("budget", [TextBudget(0.5), TextBudget(1.7), TextBudget(text_bytes=2_345)])
def test_two_tokenizers_read_the_same_documents_in_each_phase(budget: TextBudget, tmp_path: Path) -> None:
    read = []
    options = SHAPE.model_copy(
        update={"batches": None, "epochs": budget.epochs, "text_bytes": budget.text_bytes, "batch": 1}
    )
    for name, tokenizer in (("bytes", Bytes()), ("pairs", Pairs())):
        given = [Document(number, "", text) for number, text in enumerate(DOCUMENTS)]
        text = sort_documents(encode_documents(tokenizer, given), 17, tmp_path)
        pack(text, one_job(32, 17, second_phase=0.2, budget=budget), tmp_path / name)
        read.append(total_text(read_phases(options, tmp_path / name), None))
    for phase in ("first", "second"):
        assert read[0][phase]["documents"] == read[1][phase]["documents"] > 0
        assert read[0][phase]["text_bytes"] == read[1][phase]["text_bytes"]
        assert read[0][phase]["tokens"] > read[1][phase]["tokens"]
    assert read[0]["text_bytes"] == sum(read[0][phase]["text_bytes"] for phase in ("first", "second"))
    longest = max(map(len, DOCUMENTS))
    whole = sum(map(len, DOCUMENTS))
    assert 0 <= read[0]["text_bytes"] - budget.bytes_of(whole) + 2 <= 2 * longest + 2


@pytest.mark.usefixtures("own_environment")
def test_phase_without_text_is_rejected(tmp_path: Path) -> None:
    text = sort_documents(pieces(DOCUMENTS[:1]), 17, tmp_path)
    with pytest.raises(TokbenchError, match=r"leave the (first|second) phase without text"):
        pack(text, one_job(32, 17, second_phase=0.2), tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


@pytest.mark.usefixtures("own_environment")
def test_sequences_of_other_phases_are_rejected(packed: Path) -> None:
    with pytest.raises(TokbenchError, match=r"packed for a second phase of 0\.2, and the model has one of 0\.5"):
        read_phases(SHAPE.model_copy(update={"second_phase": 0.5}), packed)
    with pytest.raises(TokbenchError, match="packed for two phases, and the model has one"):
        read_phases(SHAPE.model_copy(update={"second_phase": None}), packed)
    with pytest.raises(TokbenchError, match="contains sequences of 32"):
        read_phases(SHAPE.model_copy(update={"max_seq_len": 64}), packed)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return saved_tokenizer(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def trained(packed: Path, tokenizer: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trained")
    pretrain(packed, tokenizer, SHAPE, place / "model", place / "checkpoints")
    return place / "model"


def curve(folder: Path) -> list[tuple[float, ...]]:
    """Every column but the seconds."""
    with (folder / "curve.csv").open(newline="") as file:
        return [tuple(map(float, row.values()))[:-1] for row in csv.DictReader(file)]


@pytest.mark.usefixtures("own_environment")
def test_two_phases_are_trained(trained: Path) -> None:
    rows = curve(trained)
    assert [rate for *_, rate in rows] == pytest.approx([learning_rate(SHAPE, batch, [10, 2]) for batch in range(12)])
    assert rows[-1][2] < rows[0][2]
    settings = json.loads((trained / "manifest.json").read_text())["settings"]
    read = settings["read"]
    assert (read["batches"], read["first"]["batches"], read["second"]["batches"]) == (12, 10, 2)
    assert read["tokens"] == rows[-1][1]
    assert settings["parameters"] == lm_parameters(SHAPE, 256)
    assert settings["packing"].keys() == {"first", "second"}


@pytest.mark.usefixtures("own_environment")
def test_is_a_native_llama_with_equal_logits(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The loaded model has the logits of llm-foundry's model of these weights, except for rounding: in double
    precision,
    for which transformers' norm must not turn to single precision, no logit differs by more than 1e-13."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM
    from transformers import AutoModelForCausalLM
    from transformers.models.llama.modeling_llama import LlamaForCausalLM, LlamaRMSNorm

    from tokbench.models.pretraining.export import rename_weights
    from tokbench.models.pretraining.foundry import model_config

    model = AutoModelForCausalLM.from_pretrained(trained, attn_implementation="sdpa").eval()
    assert type(model) is LlamaForCausalLM
    described = json.loads((trained / "config.json").read_text())
    assert described["model_type"] == "llama"
    assert "auto_map" not in described
    assert (model.config.eos_token_id, model.config.pad_token_id) == (256, 257)
    ours = MPTForCausalLM(MPTConfig(**model_config(SHAPE, 320))).eval()
    weights = model.state_dict()
    names = {
        new: (old, weight.shape)
        for old, whole in ours.state_dict().items()
        for new, weight in rename_weights({old: whole}, SHAPE)
    }
    assert names.keys() == weights.keys() - {"lm_head.weight"}
    loaded: dict[str, list[torch.Tensor]] = {}
    for new, (old, shape) in names.items():
        assert weights[new].shape == shape
        loaded.setdefault(old, []).append(weights[new])
    ours.load_state_dict({old: torch.cat(parts) for old, parts in loaded.items()})
    ids = torch.arange(64).reshape(2, 32) * 4 % 256
    with torch.inference_mode():
        found, expected = model(input_ids=ids).logits, ours(input_ids=ids).logits
        assert float((found - expected).abs().max()) < 1e-5 * float(expected.std())
        monkeypatch.setattr(LlamaRMSNorm, "forward", torch.nn.RMSNorm.forward)
        for norm in (module for module in model.modules() if isinstance(module, LlamaRMSNorm)):
            norm.normalized_shape, norm.eps = (SHAPE.d_model,), norm.variance_epsilon
        assert float((model(input_ids=ids).logits - found).abs().max()) == 0
        found, expected = model.double()(input_ids=ids).logits, ours.double()(input_ids=ids).logits
    assert float((found - expected).abs().max()) < 1e-13


@pytest.mark.usefixtures("own_environment")
def test_interrupted_in_the_second_phase_ends_with_the_same_weights(
    trained: Path, packed: Path, tokenizer: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended after batch 11 of 12; it goes on from batch 8, in the first phase."""
    from tokbench.models.pretraining.curve import Curve

    model, checkpoints = tmp_path / "model", tmp_path / "checkpoints"
    batch_end = Curve.batch_end

    def interrupted(self: Curve, state: Any, logger: Any) -> None:
        batch_end(self, state, logger)
        if state.timestamp.batch == 11:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Curve, "batch_end", interrupted)
        with pytest.raises(KeyboardInterrupt):
            pretrain(packed, tokenizer, SHAPE, model, checkpoints)
    assert len(curve(checkpoints)) == 11
    assert "ba8.pt" in names(checkpoints / "states")
    pretrain(packed, tokenizer, SHAPE, model, checkpoints)
    assert curve(model) == curve(trained)
    assert (model / "model.safetensors").read_bytes() == (trained / "model.safetensors").read_bytes()


DIVIDED = SMALL.model_copy(update={"fsdp": Sharding(activation_checkpointing=True)})


@pytest.mark.usefixtures("own_environment")
def test_composer_divides_a_model_as_its_recipe_says() -> None:
    """Every setting reaches the library, which ignores those that it does not know."""
    import torch
    from composer.core.precision import Precision
    from composer.distributed.fsdp2 import create_mixed_precision_policy
    from composer.utils.parallelism import FSDP2Config

    from tokbench.models.pretraining.foundry import fsdp_config

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


@pytest.mark.usefixtures("own_environment")
def test_processes_share_every_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.models.pretraining import sequences

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


@pytest.mark.usefixtures("own_environment")
def test_shared_layers_and_tokens_have_equal_initial_weights() -> None:
    """Layers, and the rows of tokens that two vocabularies share, whatever their places; else the library's law."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.models.pretraining.callbacks import init_with_common_random_numbers
    from tokbench.models.pretraining.foundry import model_config

    tokens = [bytes([value]) for value in range(256)] + [b"the", b" cat", b"at"]
    made = {}
    for name, vocabulary, seed in (
        ("all", tokens, 1),
        ("some", tokens[:256] + tokens[:255:-1][:2], 1),
        ("other", tokens, 2),
    ):
        model = MPTForCausalLM(MPTConfig(**model_config(SMALL, SMALL.vocabulary_rows(len(vocabulary)))))
        init_with_common_random_numbers(model, vocabulary, seed)
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


@pytest.mark.usefixtures("own_environment")
@pytest.mark.parametrize(
    ("losses", "told"),
    [
        ([5.0, float("nan")], "the loss of batch 2 of 100 is not a number (nan)"),
        ([6.0] * 50, "after 50 of 100 batches the loss is 6.000 nats a token, and a uniform distribution has 5.549"),
        ([6.0] * 45 + [5.0] * 55, None),
    ],
)
def test_a_training_that_is_none_ends(tmp_path: Path, losses: list[float], told: str | None) -> None:
    from tokbench.models.pretraining.curve import Curve, read_curve

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


@pytest.mark.usefixtures("own_environment")
def test_a_training_says_how_far_it_is(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In about twenty lines, the last of the last batch."""
    from tokbench.models.pretraining.curve import Curve

    curve = Curve(str(tmp_path / "curve.csv"), 103, 256)
    with caplog.at_level("INFO"):
        curve.fit_start(batch_state(0, 0.0), None)  # type: ignore[arg-type]
        for batch in range(1, 104):
            curve.batch_end(batch_state(batch, 5.0), None)  # type: ignore[arg-type]
    told = [int(found[1]) for found in re.finditer(r"pretraining batch (\d+)/103, loss 5\.0000, 0 s", caplog.text)]
    assert told == [*range(5, 103, 5), 103]


def batch_state(batch: int, loss: float) -> Any:
    """State of a training that a callback gets after a batch."""
    timestamp = SimpleNamespace(batch=batch, token=batch)
    optimizer = SimpleNamespace(param_groups=[{"lr": 0.1}])
    return SimpleNamespace(timestamp=timestamp, total_loss_dict={"loss/train/total": loss}, optimizers=[optimizer])
