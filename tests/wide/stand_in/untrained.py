"""Stand-in for the training of a language model: a model's files, with numbers drawn from its name.

It has embeddings of two dimensions and a curve of ten batches, so that all that follows from a model can be made.
"""

import json
import zlib
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from tokbench.io.atomic import atomic_folder
from tokbench.io.identity import made_from
from tokbench.models.pretraining.budget import Packing
from tokbench.models.pretraining.options import ModelOptions
from tokbench.models.pretraining.pack import check_sequences

BATCHES = 10


def pretrain(packed: Path, tokenizer_folder: Path, options: ModelOptions, output: Path, checkpoints: Path) -> None:
    """Write the files of a training without training; all sequences are read."""
    del checkpoints
    packing = Packing.read(packed)
    check_sequences(packed, packing)
    made = made_from(tokenizer=packing.tokenizer)
    rng = np.random.default_rng(zlib.crc32("/".join(output.parts[-3:]).encode()))
    rows = options.vocabulary_rows(packing.vocabulary)
    losses = 4 + np.sort(rng.random(BATCHES))[::-1]
    with atomic_folder(output, "model") as partial:
        embeddings = rng.normal(size=(rows, 2)).astype(np.float32)
        save_file({"transformer.wte.weight": embeddings}, partial / "model.safetensors")
        (partial / "config.json").write_text(json.dumps({"model_type": "mpt", "stands_in": True, **made}))
        lines = [f"{batch + 1},{2048 * (batch + 1)},{loss},0.01,0.1" for batch, loss in enumerate(losses)]
        (partial / "curve.csv").write_text("\n".join(["batch,tokens,loss,learning_rate,seconds", *lines]) + "\n")
        manifest = {"settings": {"stands_in": True, "tokenizer": str(tokenizer_folder)}}
        (partial / "manifest.json").write_text(json.dumps(manifest))
