"""A trained model as others load it: transformers' own MPT or Llama, the tokenizer's files beside it."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokbench.atomic import NOT_CONTENT, atomic_folder
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json
from tokbench.manifest import write_manifest
from tokbench.pretraining.native import native
from tokbench.pretraining.options import ModelOptions

CHECKPOINTS = "checkpoints"
"""Folder within a model's, of checkpoints along its training, each a model's folder without a tokenizer."""


def publish(
    exported: Path,
    options: ModelOptions,
    tokenizer_folder: Path,
    curve: Path,
    output: Path,
    *,
    end_of_text: int,
    padding: int,
    settings: dict[str, Any],
    started: float,
    along: Mapping[str, Path],
) -> None:
    """Write the model folder, whole or not at all.

    The export is read and written again, see :func:`tokbench.pretraining.native.native`. The tokenizer's own manifest,
    if it has one, becomes the key ``tokenizer`` of the settings in the model's.

    Args:
        exported: llm-foundry's export.
        options: the recipe.
        tokenizer_folder: files to stand beside the model.
        curve: the training curve.
        output: gets config.json, model.safetensors, curve.csv, manifest.json and the tokenizer's files.
        end_of_text: id of ``<|endoftext|>``.
        padding: id of ``<|padding|>``.
        settings: what made the model, for its manifest.
        started: ``time.monotonic()`` when training began, or would have without interruptions.
        along: exports of checkpoints that are kept, by the names that they get in ``checkpoints``.

    Raises:
        TokbenchError: weights are missing or left over, or a tokenizer's file bears the name of one of the model's.
    """

    def read(folder: Path) -> Any:
        model = native(folder, options)
        for config in (model.config, model.generation_config):
            config.bos_token_id = config.eos_token_id = end_of_text
            config.pad_token_id = padding
        return model

    with atomic_folder(output, "model") as partial:
        for name, checkpoint in along.items():
            read(checkpoint).save_pretrained(partial / CHECKPOINTS / name, safe_serialization=True)
        model = read(exported)
        model.save_pretrained(partial, safe_serialization=True)
        shutil.copyfile(curve, partial / "curve.csv")
        described = dict(settings, parameters=model.num_parameters())
        for file in sorted(tokenizer_folder.iterdir()):
            if file.name in NOT_CONTENT:
                continue
            if file.name == "manifest.json":
                described["tokenizer"] = read_json(file, "build the tokenizer again", lenient=True)
            elif (partial / file.name).exists():
                raise TokbenchError(f"{file}: the model has a file of that name too; rename the tokenizer's")
            elif file.is_file():
                shutil.copyfile(file, partial / file.name)
        write_manifest(partial / "manifest.json", described, started)
