"""What evaluating a model takes, told before the model is read."""

from collections.abc import Sequence
from pathlib import Path

from tokbench.allowance import require
from tokbench.commands.devices import on_gpu
from tokbench.inputs.json import read_json
from tokbench.inputs.parquet import parquet
from tokbench.pretraining.needs import scoring_memory

ROWS = ("vocab_size",)
WIDTHS = ("d_model", "hidden_size", "n_embd")
WINDOWS = ("max_seq_len", "max_position_embeddings", "n_positions")
"""How Hugging Face's configurations name what counts, MPT's first."""
DOCUMENT = 2_000
"""Bytes that are held of a document beside its text: what was measured of it, once with each cut of windows."""


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
        require("this evaluation", need + _documents(shards), megabytes, "lower --batch-size")


def _documents(shards: Sequence[str]) -> int:
    """Bytes in which the documents of shards are held."""
    held = 0
    for path in shards:
        with parquet(path, "a readable corpus shard", "delete its corpus and prepare it again") as file:
            groups = (file.metadata.row_group(group) for group in range(file.num_row_groups))
            held += DOCUMENT * file.metadata.num_rows + sum(group.total_byte_size for group in groups)
    return held
