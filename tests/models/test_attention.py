"""Attention within documents: losses of packed documents are those of single documents, and gradients stay inside."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.small_models import SHAPE, SMALL, packed_documents, saved_tokenizer
from tokbench.models.pretraining.checkpoints import resume_key
from tokbench.models.pretraining.options import LlamaOptions, ModelOptions, MptOptions
from tokbench.models.pretraining.phases import read_phases
from tokbench.models.pretraining.train import pretrain

pytestmark = pytest.mark.usefixtures("own_environment")

END, PADDING = 256, 257
SHAPES: dict[str, ModelOptions] = {
    "mpt": SMALL.model_copy(update={"d_model": 24, "n_heads": 3, "n_layers": 2, "precision": "fp32"}),
    "llama": SHAPE,
    "llama_one_kv_head": SHAPE.model_copy(update={"kv_heads": 1}),
}
KINDS = [(shape, attention) for shape in SHAPES for attention in ("torch", "sdpa")]


def options_of(shape: str, attention: str, within: bool = True) -> ModelOptions:
    return SHAPES[shape].model_copy(update={"attn_impl": attention, "attention_within_documents": within})


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A model of random weights in double precision, in train mode as in a training."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.models.pretraining.attention import choose
    from tokbench.models.pretraining.foundry import model_config

    options = options_of(*request.param)
    torch.manual_seed(5)
    choose(options.attn_impl)
    try:
        yield MPTForCausalLM(MPTConfig(**model_config(options, 320))).double().train()
    finally:
        choose("torch")


def losses(model: Any, ids: Any, **given: Any) -> Any:
    """Nats of each id after the first."""
    import torch

    from tokbench.models.pretraining.sequences import sequence_ids

    logits = model(input_ids=ids, sequence_id=sequence_ids(ids, END), **given).logits
    return torch.nn.functional.cross_entropy(logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")


def drawn(sizes: list[int], seed: int = 3) -> list[list[int]]:
    draws = np.random.default_rng(seed)
    return [draws.integers(0, 256, size).tolist() for size in sizes]


@pytest.mark.parametrize("model", KINDS, indirect=True)
@pytest.mark.parametrize("sizes", [[9, 12], [1, 0, 0, 5, 20], [0, 31], [31], [0] * 32, [3, 1, 1, 2, 7]])
def test_losses_are_those_of_the_documents_alone(model: Any, sizes: list[int]) -> None:
    """Each document is read after an end of text and predicts the next one; the first one continues.

    ALiBi's biases are equal at every position of a document; rotations are computed in single precision."""
    import torch

    least = 1e-9 if model.config.attn_config["alibi"] else 1e-6
    documents = drawn(sizes)
    packed = [id for document in documents for id in (*document, END)][:32]
    packed += [PADDING] * (32 - len(packed))
    with torch.no_grad():
        found = losses(model, torch.tensor([packed]))[0]
        done = 0
        for number, document in enumerate(documents):
            alone = [*([END] * (number > 0)), *document, END][: 32 - done]
            if len(alone) < 2:
                done += len(alone) - 1
                continue
            expected = losses(model, torch.tensor([alone]))[0]
            torch.testing.assert_close(found[done : done + len(alone) - 1], expected, rtol=least, atol=least)
            done += len(alone) - 1


@pytest.mark.parametrize("model", KINDS, indirect=True)
def test_gradients_stay_inside_a_document(model: Any) -> None:
    import torch

    first, second = drawn([11, 19])
    ids = torch.tensor([[*first, END, *second, END]])
    embedded = model.get_input_embeddings()(ids).detach().requires_grad_()
    model.get_input_embeddings().register_forward_hook(
        lambda module, given, out: embedded if out.shape == embedded.shape else None
    )
    nats = losses(model, ids)[0]
    (of_second,) = torch.autograd.grad(nats[len(first) :].sum(), embedded, retain_graph=True)
    (of_first,) = torch.autograd.grad(nats[: len(first)].sum(), embedded)
    assert of_second[0, : len(first)].abs().max() == 0
    assert of_second[0, len(first) : -1].abs().amax(1).min() > 0
    assert of_first[0, len(first) :].abs().max() == 0
    assert of_first[0, : len(first)].abs().amax(1).min() > 0


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("shape", SHAPES)
def test_sdpa_is_the_attention_of_torch(shape: str, precision: str) -> None:
    """Outputs and gradients in the precision of a training."""
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.models.pretraining.attention import choose
    from tokbench.models.pretraining.foundry import model_config

    ids = torch.tensor([[*a, END, *b, END] for a, b in (drawn([9, 21], 1), drawn([25, 5], 2))])
    found = []
    for attention in ("torch", "sdpa"):
        choose(attention)
        try:
            torch.manual_seed(5)
            model = MPTForCausalLM(MPTConfig(**model_config(options_of(shape, attention), 320))).train()
        finally:
            choose("torch")
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
            nats = losses(model, ids).float()
        nats.mean().backward()
        found.append([nats.detach(), model.transformer.wte.weight.grad])
    least = 1e-5 if precision == "float32" else 5e-2
    for ours, theirs in zip(found[1], found[0], strict=True):
        assert (ours - theirs).norm() / theirs.norm() < least


def test_layers_share_one_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from llmfoundry.models.mpt import MPTConfig, MPTForCausalLM

    from tokbench.models.pretraining import attention
    from tokbench.models.pretraining.foundry import model_config

    masks = []
    plain = attention.scaled_dot_product_attention

    def watched(*tensors: Any, attn_mask: Any, **given: Any) -> Any:
        masks.append(attn_mask.data_ptr())
        return plain(*tensors, attn_mask=attn_mask, **given)

    monkeypatch.setattr(attention, "scaled_dot_product_attention", watched)
    attention.choose("sdpa")
    try:
        model = MPTForCausalLM(MPTConfig(**model_config(options_of("mpt", "sdpa"), 320))).train()
        assert attention.document_mask.cache_info().currsize == 0
        for _ in range(2):
            losses(model, torch.tensor([[*range(20), END, *range(11)]]))
    finally:
        attention.choose("torch")
    assert len(masks) == 4
    assert masks[0] == masks[1]
    assert masks[2] == masks[3]
    assert attention.document_mask.cache_info().currsize == 0


def test_numbers_of_documents_are_those_of_llm_foundry() -> None:
    import torch
    from llmfoundry.data.text_data import ConcatenatedSequenceCollatorWrapper

    from tokbench.models.pretraining.sequences import sequence_ids

    rows = torch.tensor([[1, 2, END, 3, END, END, 4], [END, 1, 2, 3, END, PADDING, PADDING], [END] * 7])
    library = ConcatenatedSequenceCollatorWrapper(lambda given: given, bos_token_id=END)
    theirs = library.get_sequence_id_from_batch({"input_ids": rows})
    assert torch.equal(sequence_ids(rows, END), theirs - theirs[:, :1])
    assert sequence_ids(rows, END).tolist() == [[0, 0, 1, 1, 2, 3, 3], [0, 0, 0, 0, 1, 1, 1], [*range(7)]]


def test_batches_have_numbers_of_documents_only_with_the_option(tmp_path: Path) -> None:
    import torch

    from tokbench.models.pretraining.sequences import packed_loader, sequence_ids

    folder = packed_documents(tmp_path / "packed")
    phase = {"folder": str(folder), "sequences": 4, "padding": 3, "last": 32}
    loader = partial(packed_loader, tokenizer=None, device_batch_size=2, batch=2, phases=[phase])
    for plain, within in zip(loader().dataloader, loader(boundary=END).dataloader, strict=True):
        assert plain.keys() == {"input_ids", "labels"}
        assert torch.equal(within.pop("sequence_id"), sequence_ids(plain["input_ids"], END))
        assert all(torch.equal(plain[name], within[name]) for name in plain)


def test_recipes_without_the_option_are_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.models.pretraining.foundry import model_config, train_config

    # Composer asks for these once a training of the same process has initialized PyTorch's distributed package.
    for name, value in (("WORLD_SIZE", 1), ("LOCAL_WORLD_SIZE", 1), ("RANK", 0), ("LOCAL_RANK", 0), ("NODE_RANK", 0)):
        monkeypatch.setenv(name, str(value))
    phases = read_phases(SMALL, packed_documents(tmp_path / "packed"))
    for options in (SMALL, SHAPE):
        within = options.model_copy(update={"attention_within_documents": True})
        assert "attention_within_documents" not in options.recipe()
        assert within.recipe() == options.recipe() | {"attention_within_documents": True}
        assert type(options).model_validate(within.recipe()) == within
        plain = model_config(options, 320)
        assert "attn_uses_sequence_id" not in plain["attn_config"]
        assert model_config(within, 320) == plain | {
            "attn_config": plain["attn_config"] | {"attn_uses_sequence_id": True}
        }
    within = SMALL.model_copy(update={"attention_within_documents": True})
    assert resume_key(SMALL, phases) != resume_key(within, phases)
    loaders = [train_config(options, phases, None, tmp_path)["train_loader"] for options in (SMALL, within)]
    assert loaders[1] == loaders[0] | {"boundary": END}


@pytest.mark.parametrize(("shape", "attention"), KINDS[:4])
def test_a_model_is_trained_and_reads_one_text(shape: str, attention: str, tmp_path: Path) -> None:
    """The exported model needs no numbers of documents: it gives the losses of the training for one document."""
    import torch
    from safetensors.torch import load_file
    from transformers import LlamaForCausalLM
    from transformers.models.mpt.modeling_mpt import MptForCausalLM

    base = SMALL if shape == "mpt" else SHAPE.model_copy(update={"second_phase": None})
    update = {"attn_impl": attention, "batches": 6, "checkpoint_every": 9}
    options = base.model_copy(update=update | {"attention_within_documents": True})
    documents = [bytes(document) for document in drawn([5, 9, 0, 14, 3, 40, 8, 11] * 8)]
    packed = packed_documents(tmp_path / "packed", documents)
    tokenizer = saved_tokenizer(tmp_path / "tokenizer")
    for name, recipe in (
        ("within", options),
        ("across", options.model_copy(update={"attention_within_documents": False})),
    ):
        pretrain(packed, tokenizer, recipe, tmp_path / name, tmp_path / "checkpoints")
    weights = [load_file(tmp_path / name / "model.safetensors") for name in ("within", "across")]
    assert any(not torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    configs = [json.loads((tmp_path / name / "config.json").read_text()) for name in ("within", "across")]
    assert configs[0] == configs[1]
    settings = json.loads((tmp_path / "within" / "manifest.json").read_text())["settings"]
    assert settings["options"]["attention_within_documents"]
    kind = MptForCausalLM if isinstance(options, MptOptions) else LlamaForCausalLM
    assert isinstance(options, MptOptions | LlamaOptions)
    model = kind.from_pretrained(tmp_path / "within").eval()
    ids = torch.tensor([[END, *drawn([20])[0]]])
    with torch.inference_mode():
        plain = model(input_ids=ids).logits
        longer = model(input_ids=torch.cat([ids, ids], dim=1)[:, :30]).logits
    torch.testing.assert_close(longer[:, : ids.shape[1]], plain, rtol=1e-4, atol=1e-4)
