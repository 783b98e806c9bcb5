"""What evaluating a model takes, told before the model is read."""

from collections.abc import Sequence
from pathlib import Path

from tokbench.allowance import require
from tokbench.commands.devices import on_gpu
from tokbench.inputs.json import read_json
from tokbench.model_memory import documents_memory, scoring_memory

ROWS = ("vocab_size",)
WIDTHS = ("d_model", "hidden_size", "n_embd")
WINDOWS = ("max_seq_len", "max_position_embeddings", "n_positions")
"""How Hugging Face's configurations name what counts, MPT's first."""


def check_evaluation(model: Path, shards: Sequence[str], sequences: int, device: str, megabytes: int) -> None:
    """End where a model and the documents that it is tested on need more than allowed.

    A model whose configuration does not tell its sizes is not judged.

    Args:
        model: folder of a Hugging Face model.
        shards: files of a corpus.
        sequences: scored at a time.
        device: where.
        megabytes: what is allowed.

    Raises:
        TokbenchError: more is needed; the line says how much.
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
