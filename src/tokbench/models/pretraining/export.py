"""Export of a trained model: the MPT or Llama of ``transformers``, with the tokenizer's files.

llm-foundry's weights become an MPT of ``transformers``, or a Llama that computes the same function.
"""

import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaForCausalLM
from transformers.models.mpt.modeling_mpt import MptForCausalLM

from tokbench.errors import TokbenchError
from tokbench.io.atomic import NOT_CONTENT, atomic_folder
from tokbench.io.identity import made_from
from tokbench.io.json import read_json
from tokbench.io.provenance import write_manifest
from tokbench.models.pretraining.options import LlamaOptions, ModelOptions
from tokbench.tokenizer.hugging_face import describe_to_others

WEIGHTS = "model.safetensors"
LAYER = {
    "norm_1.weight": "input_layernorm.weight",
    "norm_2.weight": "post_attention_layernorm.weight",
    "attn.out_proj.weight": "self_attn.o_proj.weight",
    "ffn.gate_proj.weight": "mlp.gate_proj.weight",
    "ffn.up_proj.weight": "mlp.up_proj.weight",
    "ffn.down_proj.weight": "mlp.down_proj.weight",
}
"""Names of a layer's weights in llm-foundry's MPT and in the Llama of ``transformers``. The former stacks queries, keys
and values in one matrix."""
CHECKPOINTS = "checkpoints"
"""Folder of intermediate checkpoints within a model's folder. Each is a model folder without a tokenizer."""


def native(exported: Path, options: ModelOptions) -> LlamaForCausalLM | MptForCausalLM:
    """Load llm-foundry's export, which carries its own code, with a class of ``transformers``.

    This shows that the written model loads without remote code and with every weight in its place.

    Args:
        exported: llm-foundry's export.
        options: the recipe.

    Raises:
        TokbenchError: weights are missing or left over.
    """
    return _llama(exported, options) if isinstance(options, LlamaOptions) else _mpt(exported)


def _mpt(exported: Path) -> MptForCausalLM:
    model, report = MptForCausalLM.from_pretrained(exported, local_files_only=True, output_loading_info=True)
    _reject(exported, [*report["missing_keys"], *report["unexpected_keys"], *report["mismatched_keys"]], "MPT")
    del model.config.auto_map
    # Documents are separate in training only; the exported model reads one text at a time.
    model.config.attn_config.attn_uses_sequence_id = False
    model.config.attn_config.attn_pdrop = int(model.config.attn_config.attn_pdrop)  # Version 5 rejects a float.
    return model


def _llama(exported: Path, options: LlamaOptions) -> LlamaForCausalLM:
    weights = dict(rename_weights(_read(exported), options))
    config = LlamaConfig(
        vocab_size=len(weights["model.embed_tokens.weight"]),
        hidden_size=options.d_model,
        intermediate_size=options.feed_forward,
        num_hidden_layers=options.n_layers,
        num_attention_heads=options.n_heads,
        num_key_value_heads=options.kv_heads,
        hidden_act="silu",
        max_position_embeddings=options.max_seq_len,
        rms_norm_eps=options.norm_eps,
        rope_theta=float(options.rope_theta),
        tie_word_embeddings=True,
        torch_dtype=torch.float32,
    )
    with torch.random.fork_rng(devices=[]):
        model = LlamaForCausalLM(config)
    missing, unexpected = model.load_state_dict(weights, strict=False)
    _reject(exported, [*(name for name in missing if name != "lm_head.weight"), *unexpected], "Llama")
    return model


def rename_weights(weights: dict[str, torch.Tensor], options: LlamaOptions) -> Iterator[tuple[str, torch.Tensor]]:
    """Yield the weights of a Llama built from llm-foundry's MPT parts, under their names in the Llama of
    ``transformers``."""
    shared = options.d_model // options.n_heads * options.kv_heads
    for name, weight in weights.items():
        place, _, rest = name.removeprefix("transformer.").partition(".")
        if place == "wte":
            yield "model.embed_tokens.weight", weight
        elif place == "norm_f":
            yield "model.norm.weight", weight
        elif place == "blocks":
            number, _, part = rest.partition(".")
            layer = f"model.layers.{number}."
            if part == "attn.Wqkv.weight":
                for letter, matrix in zip("qkv", weight.split([options.d_model, shared, shared]), strict=True):
                    yield f"{layer}self_attn.{letter}_proj.weight", matrix.contiguous()
            else:
                yield layer + LAYER.get(part, part), weight
        else:
            yield name, weight


def _read(exported: Path) -> dict[str, torch.Tensor]:
    """Return all weights of a folder, which may be in several files."""
    index = exported / f"{WEIGHTS}.index.json"
    files = [WEIGHTS]
    if index.is_file():
        files = sorted(set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values()))
    return {name: weight for file in files for name, weight in load_file(exported / file).items()}


def _reject(exported: Path, wrong: list[str], architecture: str) -> None:
    if wrong:
        raise TokbenchError(
            f"{exported}: {wrong[0]} has no place in transformers' {architecture}; change the model's options"
        )


def publish(
    exported: Path,
    options: ModelOptions,
    tokenizer_folder: Path,
    curve: Path,
    output: Path,
    *,
    end_of_text: int,
    padding: int,
    tokenizer: str,
    settings: dict[str, Any],
    started: float,
    checkpoint_folders: Mapping[str, Path],
) -> None:
    """Write the model folder atomically.

    The export is loaded and saved again, see :func:`tokbench.models.pretraining.export.native`. The tokenizer's
    manifest, if it has one, becomes the key ``tokenizer`` of the settings in the model's.

    Args:
        exported: llm-foundry's export.
        options: the recipe.
        tokenizer_folder: tokenizer files to copy into the folder.
        curve: the training curve.
        output: output folder of config.json, model.safetensors, curve.csv, manifest.json and the tokenizer's files.
        end_of_text: id of ``<|endoftext|>``.
        padding: id of ``<|padding|>``.
        tokenizer: digest of the tokenizer, which ``config.json`` names.
        settings: settings of the model for its manifest.
        started: ``time.monotonic()`` at the start of training, as if it had not been interrupted.
        checkpoint_folders: exports of intermediate checkpoints, by their names in ``checkpoints``.

    Raises:
        TokbenchError: weights are missing or left over, or a tokenizer file has the name of a model file.
    """

    def read(folder: Path) -> Any:
        model = native(folder, options)
        for config in (model.config, model.generation_config):
            config.bos_token_id = config.eos_token_id = end_of_text
            config.pad_token_id = padding
        model.config.update(made_from(tokenizer=tokenizer))
        return model

    # Intermediate checkpoints, then the model itself with its curve.
    with atomic_folder(output, "model") as partial:
        for name, checkpoint in checkpoint_folders.items():
            read(checkpoint).save_pretrained(partial / CHECKPOINTS / name, safe_serialization=True)
        model = read(exported)
        model.save_pretrained(partial, safe_serialization=True)
        shutil.copyfile(curve, partial / "curve.csv")
        described = dict(settings, parameters=model.num_parameters())
        # The tokenizer's files, so that both load from one folder.
        for file in sorted(tokenizer_folder.iterdir()):
            if file.name in NOT_CONTENT:
                continue
            if file.name == "manifest.json":
                described["tokenizer"] = read_json(file, "build the tokenizer again", lenient=True)
            elif (partial / file.name).exists():
                raise TokbenchError(f"{file}: the model has a file of that name too; rename the tokenizer's")
            elif file.is_file():
                shutil.copyfile(file, partial / file.name)
        describe_to_others(partial, options.max_seq_len)
        write_manifest(partial / "manifest.json", described, started)
