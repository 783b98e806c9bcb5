"""Memory that the evaluation of a language model needs, checked before it starts."""

from collections.abc import Sequence
from pathlib import Path

from tokbench.io.json import read_json
from tokbench.models.memory import documents_memory, on_gpu, scoring_memory
from tokbench.runtime.memory_limit import require

ROWS = ("vocab_size",)
WIDTHS = ("d_model", "hidden_size", "n_embd")
WINDOWS = ("max_seq_len", "max_position_embeddings", "n_positions")
"""Keys of Hugging Face configurations for vocabulary size, width and context length, MPT's first."""


def check_evaluation(model: Path, shards: Sequence[str], sequences: int, device: str, megabytes: int) -> None:
    """Raise an error if the model and its test documents need more memory than allowed.

    A model whose configuration lacks a size is not checked.

    Args:
        model: folder of a Hugging Face model.
        shards: files of a corpus.
        sequences: number of sequences that are scored at a time.
        device: device of the evaluation, as in a recipe.
        megabytes: memory limit in MB (10^6 bytes).

    Raises:
        TokbenchError: more is needed; the message says how much.
    """
    if not (model / "config.json").is_file():
        return
    config = read_json(model / "config.json", "pretrain the model again")
    sizes = [next((config[key] for key in keys if type(config.get(key)) is int), 0) for keys in (ROWS, WIDTHS, WINDOWS)]
    rows, width, window = sizes
    if all(sizes):
        weights = sum(file.stat().st_size for file in model.glob("*.safetensors"))
        need = scoring_memory(weights, rows, width, sequences * window, on_gpu=on_gpu(device))
        require("this evaluation", need + documents_memory(shards), megabytes, "lower --batch-size")
