"""Formulas of arithmetic, against operations that PyTorch counts in models of transformers."""

from typing import Any

import pytest

from tokbench.models.pretraining.options import LlamaOptions, ModelOptions, MptOptions
from tokbench.options import validated
from tokbench.statistics.scale.target_model import TargetModel

LENGTH = 48
VOCABULARY = 300
SHAPE = {"d_model": 64, "n_heads": 8, "n_layers": 3, "max_seq_len": LENGTH}
LLAMA = {**SHAPE, "kv_heads": 2, "feed_forward": 176}
OPTIONS: list[ModelOptions] = [
    LlamaOptions(architecture="llama", batches=1, **LLAMA),
    MptOptions(batches=1, **SHAPE),
]


def built(options: ModelOptions) -> Any:
    """Return a model of transformers with the shape of a recipe, and matrix products that are counted."""
    from transformers import LlamaConfig, LlamaForCausalLM, MptConfig, MptForCausalLM

    rows = options.vocabulary_rows(VOCABULARY)
    if isinstance(options, LlamaOptions):
        return LlamaForCausalLM(
            LlamaConfig(
                vocab_size=rows, hidden_size=options.d_model, num_hidden_layers=options.n_layers,
                num_attention_heads=options.n_heads, num_key_value_heads=options.kv_heads,
                intermediate_size=options.feed_forward, attn_implementation="eager",
            )
        )  # fmt: skip
    return MptForCausalLM(
        MptConfig(vocab_size=rows, d_model=options.d_model, n_layers=options.n_layers, n_heads=options.n_heads)
    )


def counted(model: Any, *, training: bool) -> int:
    """Return the operations of a pass over one sequence, without those of the rotary positions' angles."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    ids = torch.arange(LENGTH).reshape(1, LENGTH)
    with FlopCounterMode(display=False) as counter:
        logits = model(ids, use_cache=False).logits
        if training:
            logits.sum().backward()
    modules = counter.get_flop_counts()
    angles = sum(sum(modules[name].values()) for name in modules if name.endswith("rotary_emb"))
    return int(counter.get_total_flops() - angles)


@pytest.mark.parametrize("options", OPTIONS, ids=["llama", "mpt"])
def test_formulas_are_the_operations_that_are_counted(options: ModelOptions) -> None:
    """The forward pass, and a training step with its backward pass, exactly."""
    shape = options.transformer(VOCABULARY)
    model = built(options)
    assert counted(model, training=False) == shape.forward_flops * LENGTH
    assert counted(model, training=True) == shape.training_flops * LENGTH


def test_costs_of_a_target_are_counted_in_its_model() -> None:
    target = validated({**LLAMA, "serving_tokens_per_training_token": 1.0}, TargetModel, "target")
    forward = counted(built(OPTIONS[0]), training=False)
    assert target.costs(VOCABULARY, 0.5)["serving_flops_per_byte"] == 0.5 * forward / LENGTH


def test_the_cache_is_that_of_the_model() -> None:
    """Keys and values of transformers' cache, in float32."""
    import torch

    model = built(OPTIONS[0])
    cache = model(torch.arange(LENGTH).reshape(1, LENGTH)).past_key_values
    layers = [cache[layer][:2] for layer in range(SHAPE["n_layers"])]
    numbers = sum(part.numel() * part.element_size() for layer in layers for part in layer)
    assert numbers == OPTIONS[0].transformer(VOCABULARY).cache_bytes("fp32") * LENGTH
