"""Opening of a language model from a folder of Hugging Face, without code from the folder."""

from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError, shortened
from tokbench.io.atomic import reject_altered
from tokbench.io.json import read_json
from tokbench.io.text_files import first_line

WINDOW = 2048
"""Tokens read at a time by a model whose configuration has no limit."""


def check_model_folder(folder: Path) -> None:
    """Check a model's folder without importing torch.

    Raises:
        TokbenchError: it has no configuration, or its weights have changed since they were written.
    """
    if not (folder / "config.json").is_file():
        raise TokbenchError(f"{folder}: no config.json of a Hugging Face model; pretrain one first")
    for weights in sorted(folder.glob("*.safetensors")):
        reject_altered(weights, "delete its folder and pretrain the model again")


def check_device(device: str) -> str:
    """Return a torch device; ``auto`` is a GPU if there is one.

    Raises:
        TokbenchError: the device does not exist.
    """
    import torch

    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if device.startswith("cuda") and not torch.cuda.is_available():
        raise TokbenchError(f"device '{device}': torch finds no CUDA device; choose 'cpu'")
    return device


def open_model(folder: Path, device: str) -> Any:
    """Return the language model of a folder on a device, ready for evaluation.

    Raises:
        TokbenchError: no class of transformers opens it.
    """
    try:
        model = _class_of(folder).from_pretrained(
            folder, torch_dtype="auto", local_files_only=True, trust_remote_code=False, use_safetensors=True
        )
    except (OSError, ValueError) as error:  # Without False, transformers would prompt on the terminal.
        raise TokbenchError(
            f"{folder}: no class of transformers opens the model, and code in its folder is not run "
            f"({shortened(first_line(error), 60)}); give safetensors of a type that transformers has"
        ) from None
    return model.to(device).eval()


def window_of(model: Any) -> int:
    """Return the number of tokens that a model reads at a time."""
    limits = (getattr(model.config, key, None) for key in ("max_seq_len", "max_position_embeddings"))
    return int(next(filter(None, limits), WINDOW))


def _class_of(folder: Path) -> Any:
    """Return the class that a model's configuration names, or the one that chooses by its type.

    The latter opens no model of type ``mpt`` in a process that imported llm-foundry, which registers a configuration of
    its own for this type.
    """
    import transformers

    named = read_json(folder / "config.json", "pretrain the model again", lenient=True).get("architectures") or [""]
    architecture = str(named[0])
    own = getattr(transformers, architecture, None) if architecture.endswith("ForCausalLM") else None
    return own or transformers.AutoModelForCausalLM
